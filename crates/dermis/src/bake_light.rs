//! Precomputed lighting of an animated asset: reduced radiance transfer, and ambient occlusion as vertex colours.

use std::path::Path;
use std::sync::Arc;

use dermis_io::npz::arrays::ArrayWriter;
use dermis_io::output::Output;
use dermis_io::{WriteOptions, Written, check_target};
use dermis_light::harmonics::light_from;
use dermis_light::{Factors, LightOptions, Reduction, Transfer, factorize, reduce, transfer};
use dermis_math::progress::{NoProgress, Progress};
use dermis_mesh::glam::{DVec3, Vec3, Vec4};
use dermis_mesh::{Layout, Note, Object, Scene, UpAxis};
use serde::Serialize;

use crate::error::Result;
use crate::evaluate;
use crate::files::ToScene;
use crate::select::find_clip;

/// Maximum number of iterations of the non-negative factorization.
const NMF_ITERATIONS: usize = 400;
/// Fraction of the light that comes from the sky, which is brightest at the zenith; the remainder comes from the sun.
const SKY: f64 = 0.4;

/// Method of the reduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LightMethod {
    /// Truncated singular value decomposition of the transfer vectors, for any light.
    #[default]
    Svd,
    /// Non-negative factorization of the colours under one light.
    Nmf,
}

/// The ground plane.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Ground {
    /// At the lowest point of all frames.
    #[default]
    Lowest,
    /// At a height along the up axis.
    At(f64),
    /// No ground.
    None,
}

/// Options of [`bake_light`].
#[derive(Debug, Clone, PartialEq)]
pub struct BakeLightOptions {
    /// Order n of the spherical harmonics, which have n² coefficients, from 1 to 5.
    pub order: usize,
    /// Rays per point and frame; more rays give less noise.
    pub rays: usize,
    /// Number of components to keep; a larger number is more accurate.
    pub rank: usize,
    /// Method of the reduction.
    pub method: LightMethod,
    /// The ground plane, which blocks light from below.
    pub ground: Ground,
    /// Direction towards the sun, for [`LightMethod::Nmf`].
    pub sun: DVec3,
    /// Clip to light: its name, a unique part of its name, or its index from 0. `None`: the first.
    pub clip: Option<String>,
}

impl Default for BakeLightOptions {
    fn default() -> Self {
        let LightOptions { order, rays, .. } = LightOptions::default();
        let sun = DVec3::new(0.3, 1.0, 0.4);
        Self { order, rays, rank: 8, method: LightMethod::Svd, ground: Ground::Lowest, sun, clip: None }
    }
}

/// An asset with precomputed lighting.
#[derive(Debug, Clone)]
pub struct LitScene {
    /// The scene; its first colour set is multiplied by the ambient light.
    pub scene: Scene,
    /// Unreduced transfer of all objects, concatenated.
    pub transfer: Transfer,
    /// Reduced transfer.
    pub reduced: ReducedLight,
    /// Measures.
    pub measures: LightMeasures,
    /// Assumptions and omissions.
    pub warnings: Vec<Note>,
}

/// Reduced transfer.
#[derive(Debug, Clone, PartialEq)]
pub enum ReducedLight {
    /// Components of the transfer vectors.
    Svd(Reduction),
    /// Non-negative components of the colours.
    Nmf(Factors),
}

/// Sizes and errors of precomputed lighting.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LightMeasures {
    /// Number of points of all objects.
    pub points: usize,
    /// Number of frames.
    pub frames: usize,
    /// Number of coefficients of a transfer vector.
    pub coefficients: usize,
    /// Method of the reduction.
    pub method: LightMethod,
    /// Number of components.
    pub rank: usize,
    /// Relative errors of the reduction by rank.
    pub errors: Vec<RankError>,
    /// Ambient light of all points, averaged over frames.
    pub mean_ambient: f64,
    /// Height of the ground; `None` without ground.
    pub ground: Option<f64>,
}

/// Error of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RankError {
    /// Number of components.
    pub rank: usize,
    /// Error relative to the unreduced transfer, in percent.
    pub error_percent: f64,
}

impl ToScene for LitScene {
    fn to_scene(&self) -> Scene {
        self.scene.clone()
    }
}

/// Precomputes the lighting of a scene in all frames of a clip.
pub fn bake_light(input: &(impl ToScene + ?Sized), options: &BakeLightOptions) -> Result<LitScene> {
    bake_light_with(input, options, &NoProgress)
}

/// [`bake_light`] with an observer.
pub fn bake_light_with(
    input: &(impl ToScene + ?Sized),
    options: &BakeLightOptions,
    progress: &dyn Progress,
) -> Result<LitScene> {
    let mut scene = input.to_scene();
    let mut warnings = Vec::new();
    let up = match scene.units.up_axis.unwrap_or(UpAxis::Y) {
        UpAxis::X => DVec3::X,
        UpAxis::Y => DVec3::Y,
        UpAxis::Z => DVec3::Z,
    };
    let (frames, triangles) = surfaces(&scene, options, &mut warnings)?;
    let lowest = || frames.iter().flatten().map(|point| point.as_dvec3().dot(up)).fold(f64::INFINITY, f64::min);
    let ground = match options.ground {
        Ground::None => None,
        Ground::At(height) => Some(height),
        Ground::Lowest => Some(lowest()),
    };
    let settings = LightOptions { order: options.order, rays: options.rays, up, ground };
    let transfer = transfer(&frames, &triangles, &settings, progress)?;
    let (reduced, errors) = reduced(&transfer, options, up)?;
    let ambient = transfer.mean_ambient();
    let mean_ambient = ambient.iter().map(|&value| f64::from(value)).sum::<f64>() / ambient.len().max(1) as f64;
    let mut first = 0;
    for object in &mut scene.objects {
        let count = object.mesh.point_count();
        darken(object, &ambient[first..first + count])?;
        first += count;
    }
    let measures = LightMeasures {
        points: transfer.point_count,
        frames: transfer.frame_count,
        coefficients: transfer.coefficients,
        method: options.method,
        rank: match &reduced {
            ReducedLight::Svd(reduction) => reduction.rank,
            ReducedLight::Nmf(factors) => factors.rank,
        },
        errors,
        mean_ambient,
        ground,
    };
    Ok(LitScene { scene, transfer, reduced, measures, warnings })
}

type Surfaces = (Vec<Vec<Vec3>>, Vec<[u32; 3]>);

/// Points of all objects in every frame, concatenated, and their triangles.
fn surfaces(scene: &Scene, options: &BakeLightOptions, warnings: &mut Vec<Note>) -> Result<Surfaces> {
    let mut motions = Vec::new();
    for object in &scene.objects {
        let names: Vec<&str> = object.clips.iter().map(|clip| clip.name()).collect();
        let motion = match &options.clip {
            Some(wanted) if !names.is_empty() => Some(evaluate::motion_of_clip(object, find_clip(wanted, &names)?)?),
            _ => evaluate::motion(object)?,
        };
        if let Some(motion) = &motion {
            warnings.extend(motion.warnings.iter().cloned());
        }
        motions.push(motion);
    }
    if let Some(wanted) = options.clip.as_deref().filter(|_| scene.objects.iter().all(|o| o.clips.is_empty())) {
        // There are no clips: this returns the error for an unknown name.
        find_clip(wanted, &[])?;
    }
    let counts: Vec<usize> = motions.iter().flatten().map(|motion| motion.sequence.frame_count()).collect();
    let count = counts.iter().copied().max().unwrap_or(1);
    if counts.iter().any(|&other| other != count) {
        warnings.push(Note::new(format!("some objects have fewer than {count} frames: their last frame is held")));
    }
    let mut triangles = Vec::new();
    let mut first = 0;
    for object in &scene.objects {
        triangles.extend(object.mesh.triangles().iter().map(|triangle| triangle.map(|point| point + first)));
        first += object.mesh.point_count() as u32;
    }
    let mut frames = Vec::with_capacity(count);
    for frame in 0..count {
        let mut points = Vec::with_capacity(first as usize);
        for (object, motion) in scene.objects.iter().zip(&motions) {
            match motion {
                Some(motion) => {
                    let last = motion.sequence.frame_count() - 1;
                    points.extend_from_slice(&motion.sequence.frame(frame.min(last))?);
                }
                None => points.extend_from_slice(&object.rest_points()),
            }
        }
        frames.push(points);
    }
    Ok((frames, triangles))
}

fn reduced(transfer: &Transfer, options: &BakeLightOptions, up: DVec3) -> Result<(ReducedLight, Vec<RankError>)> {
    let percent = |(rank, error): (usize, f64)| RankError { rank, error_percent: 100.0 * error };
    if options.method == LightMethod::Svd {
        let reduction = reduce(transfer, options.rank)?;
        let errors = reduction.errors.iter().enumerate().map(|(k, &error)| percent((k + 1, error))).collect();
        return Ok((ReducedLight::Svd(reduction), errors));
    }
    let (sky, sun) = (light_from(up, 1), light_from(options.sun, 16));
    let light: Vec<f64> = sky.iter().zip(sun).map(|(sky, sun)| SKY * sky + (1.0 - SKY) * sun).collect();
    let colors = transfer.lit(&light);
    let (mut errors, mut rank) = (Vec::new(), 1);
    loop {
        let factors = factorize(&colors, transfer.frame_count, rank, NMF_ITERATIONS)?;
        errors.push(percent((factors.rank, factors.errors[factors.errors.len() - 1])));
        if rank >= options.rank || factors.rank < rank {
            return Ok((ReducedLight::Nmf(factors), errors));
        }
        rank = (2 * rank).min(options.rank);
    }
}

/// Multiplies the first colour set by a factor per point; a white set is added if there is none.
fn darken(object: &mut Object, ambient: &[f32]) -> Result<()> {
    let mesh = &object.mesh;
    let mut layout = mesh.layout().cloned().unwrap_or_else(|| Layout::plain(mesh));
    if layout.colors.is_empty() {
        layout.colors.push(vec![Vec4::ONE; layout.vertex_count()]);
    }
    for (color, &point) in layout.colors[0].iter_mut().zip(&layout.vertex_points) {
        *color = (color.truncate() * ambient[point as usize]).extend(color.w);
    }
    object.mesh = Arc::new(mesh.without_layout().with_layout(layout)?);
    Ok(())
}

impl LitScene {
    /// Writes the reduced transfer as a `NumPy` archive.
    pub fn write_transfer(&self, target: &Path, options: &WriteOptions) -> Result<Written> {
        check_target(target, options)?;
        let mut output = Output::new(options.force);
        let mut writer = ArrayWriter::new(output.create(target)?);
        let LightMeasures { points, frames, coefficients, rank, .. } = self.measures;
        match &self.reduced {
            ReducedLight::Svd(Reduction { weights, values, .. }) => {
                writer.floats("light_weights", &[points, rank], weights)?;
                writer.floats("light_values", &[frames, coefficients, rank], values)?;
            }
            ReducedLight::Nmf(Factors { weights, values, .. }) => {
                let single = |numbers: &[f64]| -> Vec<f32> { numbers.iter().map(|&number| number as f32).collect() };
                writer.floats("light_weights", &[points, rank], &single(weights))?;
                writer.floats("light_values", &[frames, rank], &single(values))?;
            }
        }
        let counts: Vec<u32> = self.scene.objects.iter().map(|object| object.mesh.point_count() as u32).collect();
        let names: Vec<&str> = self.scene.objects.iter().map(|object| object.name.as_str()).collect();
        writer.indices("object_points", &[counts.len()], &counts)?;
        writer.texts("object_names", &names)?;
        writer.finish()?;
        Ok(output.commit()?)
    }
}
