//! Reading a USD stage: its meshes with their motion, skeletons and materials.
//!
//! The stage is composed and converted to plain data ([`prims`]) after the checks of [`assets`], [`crate_check`],
//! [`text_check`] and [`guard`]. Each `Mesh` prim then becomes an object, depending on its motion: joints and blend
//! shapes ([`skel`]) become a rig with clips, time-sampled points a sequence, an animated transform above it a rig of
//! one joint. All positions are in world space.

mod arcs;
mod assets;
mod crate_check;
mod guard;
mod material;
mod mesh;
mod prims;
mod primvars;
mod skel;
mod text_check;
mod text_repair;
mod timing;
mod values;
mod xform;

use std::rc::Rc;
use std::sync::Arc;

use dermis_mesh::deformer::dual_quaternions::DualQuaternionLayer;
use dermis_mesh::sequence::DEFAULT_FRAME_RATE_HZ;
use dermis_mesh::{Clip, Joint, MeshSequence, Note, Object, Rig, Scene, SkinWeights, Units, UpAxis};
use glam::{DAffine3, Vec3};

use crate::budget::Budget;
use crate::error::{Error, ErrorKind};
use crate::frame_rate::snapped;
use crate::input::Input;
use crate::options::ReadOptions;
use assets::Assets;
use material::Materials;
use prims::{Attribute, Prim, Prims};
use timing::{Grid, at, blend_lists, blend_vector3, sample_times};
use xform::{attributes_above, local_to_world};

/// Geometry types other than meshes, which are reported if they are skipped.
const OTHER_SHAPES: [&str; 9] =
    ["Sphere", "Cube", "Cylinder", "Cone", "Capsule", "Plane", "BasisCurves", "NurbsPatch", "Points"];

/// Reads a stage: one file in memory, or a file with its neighbours.
pub(super) fn read(input: &Input, options: &ReadOptions) -> Result<Scene, Error> {
    let (assets, root) = match &input.path {
        Some(path) => Assets::beside(path, options)?,
        None => Assets::in_memory(&input.bytes),
    };
    read_stage(assets, &root, input.bytes.len() as u64, options)
}

fn read_stage(assets: Assets, root: &str, size: u64, options: &ReadOptions) -> Result<Scene, Error> {
    let mut budget = Budget::for_file(size);
    let assets = Rc::new(assets);
    let mut prims = guard::contain(|| prims::fetch(&assets, root, &mut budget))?;
    let mut reader = Reader {
        clock: Clock::new(prims.time_codes_per_second, prims.frames_per_second, options),
        materials: Materials::new(&assets),
        notes: std::mem::take(&mut prims.notes),
        budget,
    };
    let (mut objects, mut failed) = (Vec::new(), None);
    for index in 0..prims.all.len() {
        let prim = &prims.all[index];
        if prim.type_name == "Mesh" {
            if let Some(reason) = hidden(&prims, index) {
                reader.notes.push(Note::at(prim.path.clone(), format!("the mesh is skipped: {reason}")));
                continue;
            }
            match reader.object(&prims, index) {
                Ok(object) => objects.push(object),
                // One invalid prim does not make the others invalid.
                Err(error) => {
                    reader.notes.push(Note::at(prim.path.clone(), format!("the mesh is skipped: {error}")));
                    failed = failed.or(Some(error.at(prim.path.clone())));
                }
            }
        } else if OTHER_SHAPES.contains(&prim.type_name.as_str()) {
            reader.notes.push(Note::at(prim.path.clone(), format!("a {} is skipped", prim.type_name)));
        }
    }
    for name in assets.take_outside() {
        let message =
            "the file is outside the project folder and is skipped; to read it, specify a root folder above both files";
        reader.notes.push(Note::at(name, message));
    }
    if let Some(error) = failed.filter(|_| objects.is_empty()) {
        return Err(error);
    }
    let moves = objects.iter().any(|object| object.sequence.is_some() || !object.clips.is_empty());
    if moves && prims.time_codes_per_second.is_none() && options.frame_rate_hz.is_none() {
        reader.notes.push(Note::new("the file states no frame rate; 24 is assumed"));
    }
    let up_axis = match prims.up_axis.as_deref() {
        Some("Y") => Some(UpAxis::Y),
        Some("Z") => Some(UpAxis::Z),
        _ => None,
    };
    let units = Units { metres_per_unit: prims.metres_per_unit, up_axis };
    Ok(Scene { objects, units, notes: reader.notes })
}

/// Reason why a viewer does not show a prim: it or a prim above it is invisible, or its purpose is not to be rendered.
fn hidden(prims: &Prims, prim: usize) -> Option<&'static str> {
    let token = |prim: usize, name: &str| prims.all[prim].value(name).and_then(values::text);
    if prims.upwards(prim).any(|prim| token(prim, "visibility").as_deref() == Some("invisible")) {
        return Some("it is invisible");
    }
    match prims.upwards(prim).find_map(|prim| token(prim, "purpose")).as_deref() {
        Some("proxy") => Some("its purpose is 'proxy'"),
        Some("guide") => Some("its purpose is 'guide'"),
        _ => None,
    }
}

/// Meaning of a time code.
struct Clock {
    time_codes_per_second: f64,
    /// The rate at which the stage is played.
    frames_per_second: f64,
    asked_rate_hz: Option<f64>,
}

impl Clock {
    fn new(stated: Option<f64>, frames_per_second: Option<f64>, options: &ReadOptions) -> Self {
        let asked_rate_hz = options.frame_rate_hz.filter(|rate| rate.is_finite() && *rate > 0.0);
        let stated = stated.filter(|rate| rate.is_finite());
        let time_codes_per_second = stated.or(asked_rate_hz).unwrap_or(DEFAULT_FRAME_RATE_HZ);
        let frames_per_second = frames_per_second.filter(|rate| rate.is_finite()).unwrap_or(time_codes_per_second);
        Self { time_codes_per_second, frames_per_second, asked_rate_hz }
    }

    /// The frame rate of frames that are `spacing` time codes apart.
    fn rate(&self, spacing: f64) -> f64 {
        snapped(self.time_codes_per_second / spacing)
    }

    /// The time of a time code; time codes that are whole up to rounding are rounded.
    fn seconds(&self, time: f64) -> f64 {
        const ROUNDED: f64 = 1e-4;
        let whole = time.round();
        (if (time - whole).abs() <= ROUNDED { whole } else { time }) / self.time_codes_per_second
    }

    /// The distance of frames at the rate of the stage.
    fn stage_spacing(&self) -> f64 {
        self.time_codes_per_second / self.frames_per_second
    }

    /// The distance of frames at the requested rate.
    fn asked_spacing(&self) -> Option<f64> {
        self.asked_rate_hz.map(|rate| self.time_codes_per_second / rate)
    }
}

struct Reader<'a> {
    clock: Clock,
    materials: Materials<'a>,
    notes: Vec<Note>,
    budget: Budget,
}

impl Reader<'_> {
    fn object(&mut self, prims: &Prims, index: usize) -> Result<Object, Error> {
        let prim = &prims.all[index];
        mesh::check_topology(prim)?;
        let points = mesh::rest_points(prim)?;
        let name = prim.original_name.clone().unwrap_or_else(|| prim.path.clone());
        if let Some(binding) = skel::binding(prims, index, points.len(), &mut self.notes)? {
            return self.bound(prims, index, name, &points, binding);
        }
        let is_sampled = prim.attribute("points").is_some_and(Attribute::is_animated);
        let above = attributes_above(prims, index);
        let mut times = sample_times(above.into_iter().chain(prim.attribute("points")));
        if let (true, true, Some(points)) = (times.is_empty(), is_sampled, prim.attribute("points")) {
            times.extend(points.samples.iter().map(|(time, _)| *time));
        }
        let Some(&start) = times.first() else {
            let world = local_to_world(prims, index, 0.0)?;
            let shaped = mesh::shape(prims, index, &points, world, &mut self.materials, &mut self.notes)?;
            let object = Object::of_mesh(name, Arc::new(shaped.mesh));
            return Ok(Object { attributes: shaped.attributes, ..object });
        };
        let world = local_to_world(prims, index, start)?;
        let shaped = mesh::shape(prims, index, &points, world, &mut self.materials, &mut self.notes)?;
        let mesh = Arc::new(shaped.mesh);
        let object = if is_sampled {
            Object::of_sequence(name, self.sequence(prims, index, &mesh, &times)?)
        } else {
            let (rig, clip) = self.carried(prims, index, &mesh, world, &times)?;
            Object::of_rig(name, mesh, rig, vec![clip])
        };
        Ok(Object { attributes: shaped.attributes, ..object })
    }

    fn bound(
        &mut self,
        prims: &Prims,
        index: usize,
        name: String,
        points: &[Vec3],
        binding: skel::Binding,
    ) -> Result<Object, Error> {
        if prims.all[index].attribute("points").is_some_and(|points| points.samples.len() > 1) {
            let path = prims.all[index].path.clone();
            self.notes.push(Note::at(path, "the rigged mesh also has animated points; only the rig is used"));
        }
        let layer = binding.dual_quaternions.then(|| DualQuaternionLayer::default().into());
        let rest = binding.rest_transform(prims, &self.clock, &mut self.budget)?;
        let shaped = mesh::shape(prims, index, points, rest, &mut self.materials, &mut self.notes)?;
        let (rig, clips) = binding.rig(prims, &shaped.mesh, rest, &self.clock, &mut self.budget, &mut self.notes)?;
        let object = Object::of_rig(name, Arc::new(shaped.mesh), rig, clips);
        Ok(Object { attributes: shaped.attributes, deformers: layer.into_iter().collect(), ..object })
    }

    /// Points over time, each frame placed by the transforms of its time.
    fn sequence(
        &mut self,
        prims: &Prims,
        index: usize,
        mesh: &Arc<dermis_mesh::TriMesh>,
        times: &[f64],
    ) -> Result<MeshSequence, Error> {
        let prim = &prims.all[index];
        check_counts(prim, mesh.point_count())?;
        // Recorded points are kept unchanged; a rate is chosen only if they are not on a grid.
        let mut grid = Grid::of(times, None, &mut self.budget)?;
        if grid.count != times.len()
            && let Some(spacing) = self.clock.asked_spacing()
        {
            grid = Grid::of(times, Some(spacing), &mut self.budget)?;
        }
        self.notes.extend(grid.note(&prim.path));
        self.budget.take("frames", grid.count.saturating_mul(mesh.point_count()), size_of::<Vec3>())?;
        let mut positions = Vec::with_capacity(grid.count * mesh.point_count());
        for time in grid.times() {
            let world = local_to_world(prims, index, time)?;
            let points = prim.attribute("points");
            let points = points.and_then(|points| at(points, time, values::vectors3, blend_lists(blend_vector3)));
            let points =
                points.ok_or_else(|| Error::malformed(format!("'points' has no value at time code {time}")))?;
            if world == DAffine3::IDENTITY {
                positions.extend_from_slice(&points);
            } else {
                positions.extend(points.iter().map(|point| world.transform_point3(point.as_dvec3()).as_vec3()));
            }
        }
        let sequence = MeshSequence::new(Arc::clone(mesh), positions, self.clock.rate(grid.spacing))?;
        Ok(sequence.starting_at(self.clock.seconds(grid.start)))
    }

    /// A mesh that keeps its shape but moves: a rig of one joint.
    fn carried(
        &mut self,
        prims: &Prims,
        index: usize,
        mesh: &dermis_mesh::TriMesh,
        rest: DAffine3,
        times: &[f64],
    ) -> Result<(Rig, Clip), Error> {
        let inverse_bind = rest.inverse();
        if !inverse_bind.is_finite() {
            return Err(Error::malformed("the world transform of the mesh is singular"));
        }
        let name = prims.all[index].path.rsplit('/').next().unwrap_or_default().to_owned();
        let joint = Joint { name: name.clone(), parent: None, inverse_bind };
        let weights = SkinWeights::from_rows((0..mesh.point_count()).map(|_| [(0, 1.0)]));
        let rig = Rig::new(mesh, vec![joint], weights, Vec::new())?;
        let grid = Grid::of_curves(times, &self.clock, &mut self.budget)?;
        self.notes.extend(grid.note(&prims.all[index].path));
        let transforms = grid.times().map(|time| local_to_world(prims, index, time)).collect::<Result<_, _>>()?;
        let clip = Clip::new(&rig, name, self.clock.rate(grid.spacing), transforms, Vec::new())?;
        Ok((rig, clip.starting_at(self.clock.seconds(grid.start))))
    }
}

/// Checks that every sample has as many points as the mesh.
fn check_counts(prim: &Prim, expected: usize) -> Result<(), Error> {
    let samples = prim.attribute("points").map_or(&[][..], |points| &points.samples);
    for (frame, (time, value)) in samples.iter().enumerate() {
        let found = values::vector3_count(value);
        if found != expected {
            return Err(Error::from(ErrorKind::PointCountChanges { frame, expected, found })
                .detail(format!("the mesh has {expected} points, but {found} at time code {time}"))
                .with_hint("export again with constant topology"));
        }
    }
    Ok(())
}
