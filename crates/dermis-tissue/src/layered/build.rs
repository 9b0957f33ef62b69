//! Construction of a layered body from a body model: tetrahedra, volumetric model, relative depth.

use std::collections::HashMap;
use std::time::Instant;

use dermis_math::progress::Progress;
use dermis_mesh::adjacency::Edges;
use dermis_mesh::boundary::is_closed;
use dermis_mesh::volume::volume;
use dermis_mesh::{Note, TetMesh, TriMesh, UpAxis};
use glam::Vec3;

use super::binding::{Carriers, SkinBinding};
use super::volume::{Fixed, bones_of, volumetric};
use super::{Flesh, LayeredBody, LayeredError, LayeredParts};
use crate::layers::{
    DistanceField, END_EFFECTOR_NAMES, FleshOptions, THRESHOLD, end_effector_joints, end_effector_vertices,
    flesh_thickness,
};
use dermis_body::Bone;
use dermis_body::{BodyModel, BodyMotion};
use dermis_tet::bone_nodes::{BoneNodesOptions, bone_nodes};
use dermis_tet::harmonic::{BoundedWeightsOptions, Harmonic};
use dermis_tet::tetrahedra::lattice::{LatticeOptions, lattice_body};
use dermis_tet::tetrahedra::quality::{TetQuality, measure_quality};
use dermis_tet::tetrahedra::{TetError, TetOptions, tetrahedralize};

/// Young's modulus of the flesh of bodies of human size, in pascals.
pub const YOUNG_MODULUS_PA: f32 = 4e3;
/// Diagonals of the bounding boxes of bodies of human size, in metres.
const HUMAN_DIAGONALS_M: [f32; 2] = [1.2, 2.5];
/// Fraction of inner cells below which an open skin is a sheet without a volume. Bodies with holes are far above it.
const MIN_INNER_FRACTION: f64 = 0.05;
/// Relative difference of volumes above which a lattice is reported.
const NOTED_VOLUME_ERROR: f64 = 0.1;

/// Young's modulus for a body with the diagonal `diagonal_m`, in pascals.
///
/// Strain under accelerations a is of the order ρaL/E. A larger body of the same motion has accelerations in proportion
/// to its size L, so that E ∝ L² keeps its strain; a smaller one is limited by gravity, with E ∝ L.
pub fn modulus_for_size(diagonal_m: f32) -> f32 {
    let [low, high] = HUMAN_DIAGONALS_M;
    YOUNG_MODULUS_PA * (diagonal_m / high).max(1.0).powi(2) * (diagonal_m / low).min(1.0)
}

/// Source of the tetrahedra.
#[derive(Debug, Clone, PartialEq)]
pub enum Mesher {
    /// The built-in mesher, which preserves every face of the skin.
    Delaunay(TetOptions),
    /// Cells of a lattice that cover the skin, for skins that are open or self-intersecting.
    Lattice(LatticeOptions),
    /// Imported tetrahedra; every point of the skin must be one of their nodes.
    Given(TetMesh),
}

/// Thickness of the simulated layer.
#[derive(Debug, Clone, PartialEq)]
pub enum Thickness {
    /// In proportion to the thickness of the flesh between bones and skin.
    ByFlesh(FleshOptions),
    /// The same relative depth d for the whole skin.
    Uniform(f32),
    /// A painted relative depth d for each point of the skin.
    PerPoint(Vec<f32>),
}

/// Options of [`build()`].
#[derive(Debug, Clone, PartialEq)]
pub struct BuildOptions {
    /// Source of the tetrahedra.
    pub mesher: Mesher,
    /// Thickness of the simulated layer.
    pub thickness: Thickness,
    /// Excludes hands, feet and head from the simulation, regardless of the thickness.
    pub pin_end_effectors: bool,
    /// Young's modulus in pascals: one value, or one per point of the skin. Empty: by the size of the body, see
    /// [`modulus_for_size`].
    pub young_modulus_pa: Vec<f32>,
    /// Poisson's ratio. Larger preserves volume better.
    pub poisson_ratio: f32,
    /// Density in kilograms per cubic metre.
    pub density_kg_per_m3: f32,
    /// Decay rate of velocities, per second.
    pub damping_rate_per_s: f32,
    /// Thickness of bones.
    pub bones: BoneNodesOptions,
    /// Options for the extension of the weights to the inside.
    pub weights: BoundedWeightsOptions,
}

impl Default for BuildOptions {
    fn default() -> Self {
        Self {
            mesher: Mesher::Delaunay(TetOptions::default()),
            thickness: Thickness::ByFlesh(FleshOptions::default()),
            pin_end_effectors: true,
            young_modulus_pa: Vec::new(),
            poisson_ratio: 0.4,
            density_kg_per_m3: 1e3,
            damping_rate_per_s: 3.0,
            bones: BoneNodesOptions::default(),
            weights: BoundedWeightsOptions::default(),
        }
    }
}

/// Tetrahedra of a body and their quality.
#[derive(Debug, Clone, PartialEq)]
pub struct Mesh {
    /// Number of the skin's triangles that are faces of the boundary; `None` if the skin is embedded.
    pub recovered_faces: Option<usize>,
    /// Number of triangles of the skin.
    pub skin_faces: usize,
    /// Difference between the volume inside the boundary and that of the skin, relative to the latter.
    pub volume_error: f64,
    /// Dihedral angles and conditioning.
    pub quality: TetQuality,
}

/// Report of a build.
#[derive(Debug, Clone, PartialEq)]
pub struct BuildReport {
    /// The tetrahedra.
    pub mesh: Mesh,
    /// Number of iterations of the weights.
    pub weight_steps: usize,
    /// Largest change of a weight in the last iteration.
    pub weight_residual: f64,
    /// Time for the tetrahedra, in seconds.
    pub tetrahedra_s: f64,
    /// Time for the volumetric model, mostly for the weights, in seconds.
    pub volume_s: f64,
    /// Time for the layers, in seconds.
    pub layers_s: f64,
    /// Assumptions and omissions.
    pub notes: Vec<Note>,
}

/// Segments between the joints of `body` at rest: head and tail.
pub fn rest_bones(body: &BodyModel) -> Vec<(Vec3, Vec3)> {
    segments(&bones_of(body, &[]))
}

/// Bones with a length above 0.
pub(super) fn segments(bones: &[Bone]) -> Vec<(Vec3, Vec3)> {
    bones.iter().filter(|bone| bone.start != bone.end).map(|bone| (bone.start, bone.end)).collect()
}

/// Builds the layered body of `body` with its `motions`.
pub fn build(
    body: BodyModel,
    motions: Vec<BodyMotion>,
    up: UpAxis,
    options: &BuildOptions,
    progress: &dyn Progress,
) -> Result<(LayeredBody, BuildReport), LayeredError> {
    let mut clock = Clock(Instant::now());
    let bones = bones_of(&body, &[]);
    let mut notes: Vec<Note> = motions.iter().flat_map(|motion| motion.notes.iter().cloned()).collect();
    let filled = fill(body.mesh(), &rest_bones(&body), &options.mesher, progress, &mut notes)?;
    let tetrahedra_s = clock.lap();
    let carriers = filled.binding.carriers(body.point_count(), &filled.tets);
    let of_bones = bone_nodes(&filled.tets, &carriers.nodes, &bones, &options.bones);
    let inner = Fixed::new(&carriers, &bones, &of_bones);
    report(progress, "extending the body model to the inside")?;
    let (volume, weights) = volumetric(&body, &filled.tets, &inner, &options.weights, progress)?;
    if !weights.converged {
        let residual = weights.residual;
        notes.push(Note::new(format!("the weights inside have not converged: last change {residual:.1e}")));
    }
    let volume_s = clock.lap();
    report(progress, "dividing the body into layers")?;
    let field = DistanceField::new(&filled.tets, &carriers.nodes, &of_bones.nodes)?;
    let from_skin = Harmonic::new(&filled.tets, &carriers.nodes)?;
    let thickness = thickness(&body, &filled, &carriers, &field, &bones, options)?;
    let young_modulus_pa = match &options.young_modulus_pa[..] {
        &[] => vec![modulus_for_size(body.mesh().diagonal()); body.point_count()],
        &[one] => vec![one; body.point_count()],
        all => all.to_vec(),
    };
    let flesh = Flesh {
        thickness,
        young_modulus_pa,
        poisson_ratio: options.poisson_ratio,
        density_kg_per_m3: options.density_kg_per_m3,
        damping_rate_per_s: options.damping_rate_per_s,
    };
    let Filled { tets, binding, mesh, .. } = filled;
    let parts = LayeredParts { body, motions, up, tets, binding, volume, bone_nodes: of_bones.nodes, flesh };
    let layered = LayeredBody::with_fields(parts, carriers, field, from_skin)?;
    notes.extend(layered.layers().notes());
    let report = BuildReport {
        mesh,
        weight_steps: weights.steps,
        weight_residual: weights.residual,
        tetrahedra_s,
        volume_s,
        layers_s: clock.lap(),
        notes,
    };
    Ok((layered, report))
}

struct Clock(Instant);

impl Clock {
    fn lap(&mut self) -> f64 {
        let before = std::mem::replace(&mut self.0, Instant::now());
        before.elapsed().as_secs_f64()
    }
}

fn report(progress: &dyn Progress, stage: &str) -> Result<(), LayeredError> {
    if progress.report(stage, 0, 1).is_break() { Err(LayeredError::Stopped) } else { Ok(()) }
}

/// A skin and the tetrahedra inside it.
pub(super) struct Filled {
    pub(super) tets: TetMesh,
    pub(super) binding: SkinBinding,
    mesh: Mesh,
}

/// Note about a lattice whose volume, and therefore mass, is far from that of the skin in it.
fn lattice_note(skin: &TriMesh, volume_error: f64) -> Option<Note> {
    if volume_error.abs() <= NOTED_VOLUME_ERROR {
        return None;
    }
    let open = if is_closed(&Edges::new(skin.point_count(), skin.triangles())) {
        ""
    } else {
        "; the skin is open, so that its own volume is an estimate"
    };
    let (percent, more) = (100.0 * volume_error.abs(), if volume_error > 0.0 { "more" } else { "less" });
    Some(Note::new(format!(
        "the lattice has {percent:.0} % {more} volume and mass than the skin encloses, since its cells reach beyond the skin: a \
         smaller spacing reduces it{open}"
    )))
}

pub(super) fn fill(
    skin: &TriMesh,
    bones: &[(Vec3, Vec3)],
    mesher: &Mesher,
    progress: &dyn Progress,
    notes: &mut Vec<Note>,
) -> Result<Filled, LayeredError> {
    let stopped = |error: TetError| if error == TetError::Stopped { LayeredError::Stopped } else { error.into() };
    let skin_volume = volume(skin.points(), skin.triangles()).abs();
    let volume_error = |tets: &TetMesh| tets.volumes().iter().sum::<f64>() / skin_volume - 1.0;
    let skin_faces = skin.triangle_count();
    match mesher {
        Mesher::Delaunay(options) => {
            let made = tetrahedralize(skin, bones, options, progress).map_err(stopped)?;
            notes.extend(made.notes);
            let mesh = Mesh {
                recovered_faces: Some(made.recovered_faces),
                skin_faces,
                volume_error: made.volume_error,
                quality: made.quality,
            };
            Ok(Filled { tets: made.mesh, binding: SkinBinding::Nodes, mesh })
        }
        Mesher::Lattice(options) => {
            let made = lattice_body(skin, bones, options, progress).map_err(stopped)?;
            let is_open = !is_closed(&Edges::new(skin.point_count(), skin.triangles()));
            if is_open && made.inner_fraction < MIN_INNER_FRACTION {
                return Err(TetError::Sheet { inner_fraction: made.inner_fraction }.into());
            }
            notes.extend(made.notes);
            let volume_error = volume_error(&made.mesh);
            notes.extend(lattice_note(skin, volume_error));
            let mesh = Mesh { recovered_faces: None, skin_faces, volume_error, quality: made.quality };
            Ok(Filled { tets: made.mesh, binding: SkinBinding::Embedded(made.skin), mesh })
        }
        Mesher::Given(tets) => {
            let tets = skin_first(tets, skin)?;
            let mut boundary: Vec<[u32; 3]> = tets.boundary().into_iter().map(sorted).collect();
            boundary.sort_unstable();
            let is_face = |face: &&[u32; 3]| boundary.binary_search(&sorted(**face)).is_ok();
            let mesh = Mesh {
                recovered_faces: Some(skin.triangles().iter().filter(is_face).count()),
                skin_faces,
                volume_error: volume_error(&tets),
                quality: measure_quality(tets.nodes(), tets.tetrahedra()),
            };
            Ok(Filled { tets, binding: SkinBinding::Nodes, mesh })
        }
    }
}

fn sorted(mut face: [u32; 3]) -> [u32; 3] {
    face.sort_unstable();
    face
}

/// Returns the same tetrahedra, reordered so that the points of the skin are the first nodes.
fn skin_first(tets: &TetMesh, skin: &TriMesh) -> Result<TetMesh, LayeredError> {
    let points = skin.points();
    if tets.nodes().len() >= points.len() && tets.nodes()[..points.len()] == *points {
        return Ok(tets.clone());
    }
    let key = |at: &Vec3| at.to_array().map(|value| (value + 0.0).to_bits());
    let found: HashMap<[u32; 3], u32> = tets.nodes().iter().map(key).zip(0..).collect();
    let node_of = |(point, at): (usize, &Vec3)| {
        found.get(&key(at)).copied().ok_or(TetError::MissingPoint { point, position: *at })
    };
    let first: Vec<u32> = points.iter().enumerate().map(node_of).collect::<Result<_, _>>()?;
    let mut numbers = vec![u32::MAX; tets.nodes().len()];
    for (number, &node) in (0..).zip(&first) {
        numbers[node as usize] = number;
    }
    let mut nodes = points.to_vec();
    for (number, at) in numbers.iter_mut().zip(tets.nodes()).filter(|(number, _)| **number == u32::MAX) {
        *number = nodes.len() as u32;
        nodes.push(*at);
    }
    let tetrahedra = tets.tetrahedra().iter().map(|tet| tet.map(|node| numbers[node as usize])).collect();
    Ok(TetMesh::new(nodes, tetrahedra)?)
}

/// Relative depth of each point of the skin.
fn thickness(
    body: &BodyModel,
    filled: &Filled,
    carriers: &Carriers,
    field: &DistanceField,
    bones: &[Bone],
    options: &BuildOptions,
) -> Result<Vec<f32>, LayeredError> {
    let pinned = if options.pin_end_effectors { end_effectors(body) } else { vec![false; body.point_count()] };
    let mut values = match &options.thickness {
        Thickness::Uniform(value) => vec![*value; body.point_count()],
        Thickness::PerPoint(values) => values.clone(),
        Thickness::ByFlesh(flesh) => {
            let triangles = carriers.triangles(body, &filled.binding, &filled.tets);
            let held = carriers.chosen(&pinned);
            let found = flesh_thickness(&filled.tets, &triangles, field, bones, &held, flesh)?;
            filled.binding.to_skin(&filled.tets, carriers, &found.relative_depths)
        }
    };
    for (value, _) in values.iter_mut().zip(&pinned).filter(|(_, pinned)| **pinned) {
        *value = value.min(THRESHOLD as f32);
    }
    Ok(values)
}

impl LayeredBody {
    /// Thickness in proportion to that of the flesh between bones and skin, as by [`Thickness::ByFlesh`]; hands, feet and
    /// head are excluded.
    pub fn thickness_by_flesh(&self, options: &FleshOptions) -> Result<Vec<f32>, LayeredError> {
        let LayeredParts { body, binding, tets, .. } = &self.parts;
        let (pinned, bones) = (end_effectors(body), bones_of(body, &[]));
        let triangles = self.carriers.triangles(body, binding, tets);
        let held = self.carriers.chosen(&pinned);
        let found = flesh_thickness(tets, &triangles, &self.field, &bones, &held, options)?;
        let mut values = binding.to_skin(tets, &self.carriers, &found.relative_depths);
        for (value, _) in values.iter_mut().zip(&pinned).filter(|(_, pinned)| **pinned) {
            *value = value.min(THRESHOLD as f32);
        }
        Ok(values)
    }

    /// Marks the points of hands, feet and head.
    pub fn end_effectors(&self) -> Vec<bool> {
        end_effectors(&self.parts.body)
    }
}

/// Points of hands, feet and head.
fn end_effectors(body: &BodyModel) -> Vec<bool> {
    let names: Vec<&str> = body.joints().iter().map(|joint| joint.name.as_str()).collect();
    let parents: Vec<Option<usize>> = body.joints().iter().map(|joint| joint.parent).collect();
    end_effector_vertices(body.weights(), &end_effector_joints(&names, &parents, &END_EFFECTOR_NAMES))
}
