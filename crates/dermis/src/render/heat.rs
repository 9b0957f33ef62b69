//! Quantities on surfaces, as colours with a legend.

use dermis_mesh::glam::Vec3;
use dermis_mesh::names::find_one;
use dermis_mesh::shells::{ISOLATED, shells};
use dermis_mesh::volume::shell_volumes;
use dermis_mesh::{MeshSequence, Note, Scene};
use dermis_render::{ColorMap, Legend};

use super::options::Heat;
use super::subject::{Actor, Subject};
use crate::error::PictureError;
use crate::evaluate;
use crate::match_meshes::matched;

/// Fraction of the values that the colours cover.
const COVERED: f64 = 0.98;
/// Maximum number of values from which the percentile is computed.
const MAX_VALUES: usize = 1 << 21;

/// A quantity of a subject.
#[derive(Debug)]
pub(super) struct Quantity {
    kind: Heat,
    /// Data of each actor.
    sources: Vec<Source>,
    pub(super) notes: Vec<Note>,
}

/// Data from which the values of an object are computed.
#[derive(Debug)]
enum Source {
    /// Motion to compare with.
    Motion(MeshSequence),
    /// Values that do not change.
    Fixed(Vec<f32>),
    /// No further data: values are computed from the object alone, or all are 0.
    Own,
}

impl Quantity {
    pub(super) fn new(
        kind: &Heat,
        subject: &Subject,
        reference: Option<&Scene>,
        clip: Option<&str>,
    ) -> Result<Self, PictureError> {
        let mut notes = Vec::new();
        let sources = match kind {
            Heat::Error => {
                let reference = reference.ok_or(PictureError::NoReference)?;
                references(subject, reference, clip, &mut notes)?
            }
            Heat::Layers => {
                if subject.actors.iter().all(|actor| actor.object.deformers.is_empty()) {
                    return Err(PictureError::NoLayers);
                }
                subject.actors.iter().map(without_layers).collect::<Result<_, _>>()?
            }
            Heat::Weight(joint) => weights(subject, joint)?,
            Heat::Attribute(name) => attributes(subject, name)?,
            Heat::Volume => subject.actors.iter().map(|_| Source::Own).collect(),
        };
        Ok(Self { kind: kind.clone(), sources, notes })
    }

    /// Values of the points of each object in a frame.
    pub(super) fn values(&self, subject: &Subject, frame: Option<usize>) -> Result<Vec<Vec<f32>>, PictureError> {
        let percent = 100.0 / subject.diagonal.max(f32::MIN_POSITIVE);
        let pairs = subject.actors.iter().zip(&self.sources);
        let values = pairs.map(|(actor, source)| match source {
            Source::Fixed(values) => Ok(values.clone()),
            Source::Own if self.kind == Heat::Volume => Ok(volume_drift(actor, &actor.points(frame)?)),
            Source::Own => Ok(vec![0.0; actor.object.mesh.point_count()]),
            Source::Motion(other) => {
                let at = frame.unwrap_or(0);
                let count = other.frame_count();
                if at >= count {
                    return Err(PictureError::ShortReference { frame: at, count });
                }
                let (points, other) = (actor.points(frame)?, other.frame(at)?);
                if self.kind == Heat::Error {
                    return Ok(points.iter().zip(&*other).map(|(a, b)| a.distance(*b) * percent).collect());
                }
                let normals = actor.point_normals(&other);
                let along = |((a, b), normal): ((&Vec3, &Vec3), &Vec3)| (*a - *b).dot(*normal) * percent;
                Ok(points.iter().zip(&*other).zip(&normals).map(along).collect())
            }
        });
        values.collect()
    }

    fn is_signed(&self) -> bool {
        matches!(self.kind, Heat::Volume | Heat::Layers)
    }

    fn title(&self) -> String {
        match &self.kind {
            Heat::Error => "error, % of the diagonal".to_owned(),
            Heat::Volume => "change of volume, %".to_owned(),
            Heat::Layers => "displacement by the layers, % of the diagonal".to_owned(),
            Heat::Weight(_) => "weight".to_owned(),
            Heat::Attribute(name) => name.clone(),
        }
    }

    /// Legend for values of all frames.
    pub(super) fn legend(&self, values: &Pool, max: Option<f64>) -> Legend {
        let map = if self.is_signed() { ColorMap::Diverging } else { ColorMap::Sequential };
        let range = match (&self.kind, max) {
            (_, Some(max)) if self.is_signed() => [-max, max],
            (_, Some(max)) => [0.0, max],
            (Heat::Weight(_), None) => [0.0, 1.0],
            (Heat::Attribute(_), None) => values.range(),
            (_, None) => {
                let high = values.percentile(COVERED);
                let high = if high > 0.0 { high } else { 1.0 };
                [if self.is_signed() { -high } else { 0.0 }, high]
            }
        };
        Legend { title: self.title(), map, range }
    }
}

/// Values of all frames and objects.
#[derive(Debug, Default)]
pub(super) struct Pool {
    values: Vec<f32>,
    seen: usize,
    /// Interval between values that are kept.
    step: usize,
}

impl Pool {
    pub(super) fn add(&mut self, values: &[f32]) {
        self.step = self.step.max(1);
        for &value in values.iter().filter(|value| value.is_finite()) {
            if self.seen.is_multiple_of(self.step) {
                self.values.push(value);
            }
            self.seen += 1;
            if self.values.len() >= MAX_VALUES {
                let mut at = 0..;
                self.values.retain(|_| at.next().is_some_and(|at: usize| at.is_multiple_of(2)));
                self.step *= 2;
            }
        }
    }

    /// Percentile of the absolute values, given as a fraction.
    fn percentile(&self, fraction: f64) -> f64 {
        let mut sorted: Vec<f32> = self.values.iter().map(|value| value.abs()).collect();
        if sorted.is_empty() {
            return 0.0;
        }
        let at = ((sorted.len() - 1) as f64 * fraction).round() as usize;
        let (_, value, _) = sorted.select_nth_unstable_by(at, f32::total_cmp);
        f64::from(*value)
    }

    fn range(&self) -> [f64; 2] {
        let low = self.values.iter().copied().fold(f32::INFINITY, f32::min);
        let high = self.values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        if low < high { [f64::from(low), f64::from(high)] } else { [f64::from(low.min(0.0)), f64::from(low.max(1.0))] }
    }
}

/// Colours of values with a legend.
pub(super) fn colors(values: &[Vec<f32>], legend: &Legend) -> Vec<Vec<[f32; 3]>> {
    let [low, high] = legend.range.map(|end| end as f32);
    let color = |value: &f32| legend.map.color((value - low) / (high - low));
    values.iter().map(|values| values.iter().map(color).collect()).collect()
}

/// Motion of the reference for each object.
fn references(
    subject: &Subject,
    reference: &Scene,
    clip: Option<&str>,
    notes: &mut Vec<Note>,
) -> Result<Vec<Source>, PictureError> {
    let drawn: Vec<_> = reference.objects.iter().filter(|object| object.mesh.point_count() > 0).collect();
    let joined;
    let objects = match (subject.actors.len(), drawn.len()) {
        (1, 2..) => {
            let (object, merged) = evaluate::single(reference)?;
            notes.extend(merged);
            joined = object;
            vec![&joined]
        }
        (expected, found) if expected != found => return Err(PictureError::OtherObjects { found, expected }),
        _ => drawn,
    };
    let pairs = subject.actors.iter().zip(objects);
    let sources = pairs.map(|(actor, object)| {
        let named = clip.and_then(|clip| object.clips.iter().position(|found| found.name() == clip));
        let motion = match named {
            Some(clip) if object.sequence.is_none() => Some(evaluate::motion_of_clip(object, clip)?),
            _ => evaluate::motion(object)?,
        };
        let frames = match motion {
            Some(motion) => motion.sequence,
            None => MeshSequence::new(object.mesh.clone(), object.rest_points().into_owned(), 1.0)?,
        };
        let (frames, found) = matched(&frames, &actor.object)?;
        notes.extend(found);
        Ok(Source::Motion(frames))
    });
    sources.collect()
}

/// Motion of an object without its layers.
fn without_layers(actor: &Actor) -> Result<Source, PictureError> {
    let mut plain = actor.object.clone();
    plain.deformers.clear();
    let motion = match actor.motion.as_ref().and_then(|motion| motion.clip.as_ref()) {
        Some(clip) => Some(evaluate::clip_motion(&plain, clip)?),
        None => evaluate::motion(&plain)?,
    };
    Ok(motion.map_or(Source::Own, |motion| Source::Motion(motion.sequence)))
}

fn weights(subject: &Subject, wanted: &str) -> Result<Vec<Source>, PictureError> {
    let mut all: Vec<String> = Vec::new();
    for joint in subject.actors.iter().flat_map(|actor| actor.object.rig.iter().flat_map(|rig| rig.joints().iter())) {
        if !all.contains(&joint.name) {
            all.push(joint.name.clone());
        }
    }
    let name = found("joint", wanted, all)?;
    let source = |actor: &Actor| {
        let Some(rig) = &actor.object.rig else { return Source::Own };
        let is_wanted: Vec<bool> = rig.joints().iter().map(|joint| joint.name == name).collect();
        let weight = |point: usize| {
            let row = rig.weights().row(point).filter(|(joint, _)| is_wanted[*joint as usize]);
            row.map(|(_, weight)| weight).sum()
        };
        if rig.joints().is_empty() {
            Source::Own
        } else {
            Source::Fixed((0..actor.object.mesh.point_count()).map(weight).collect())
        }
    };
    Ok(subject.actors.iter().map(source).collect())
}

fn attributes(subject: &Subject, wanted: &str) -> Result<Vec<Source>, PictureError> {
    let mut all: Vec<String> =
        subject.actors.iter().flat_map(|actor| actor.object.attributes.keys().cloned()).collect();
    all.sort();
    all.dedup();
    let name = found("attribute", wanted, all)?;
    let source = |actor: &Actor| match actor.object.attributes.get(&name) {
        Some(values) if values.len() == actor.object.mesh.point_count() => Source::Fixed(values.clone()),
        _ => Source::Own,
    };
    Ok(subject.actors.iter().map(source).collect())
}

fn found(kind: &'static str, wanted: &str, names: Vec<String>) -> Result<String, PictureError> {
    let list: Vec<&str> = names.iter().map(String::as_str).collect();
    match find_one(wanted, &list) {
        Ok(at) => Ok(names[at].clone()),
        Err(_) => Err(PictureError::NoSuchName { kind, wanted: wanted.to_owned(), names }),
    }
}

/// Relative change of the volume of the shell of each point since the rest pose, in percent.
fn volume_drift(actor: &Actor, points: &[Vec3]) -> Vec<f32> {
    let mesh = &actor.object.mesh;
    let shells = shells(mesh.point_count(), mesh.triangles());
    let rest = shell_volumes(mesh.points(), mesh.triangles(), &shells);
    let now = shell_volumes(points, mesh.triangles(), &shells);
    let drift: Vec<f32> = rest.iter().zip(&now).map(|(rest, now)| (100.0 * (now / rest - 1.0)) as f32).collect();
    shells.of_points.iter().map(|&shell| if shell == ISOLATED { 0.0 } else { drift[shell as usize] }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_covers_almost_all_values_of_any_number() {
        let mut pool = Pool::default();
        for _ in 0..60 {
            pool.add(&(0..100_000).map(|at| at as f32 / 1000.0).collect::<Vec<_>>());
        }
        assert!(pool.values.len() <= MAX_VALUES);
        assert!((pool.percentile(COVERED) - 98.0).abs() < 0.1, "{}", pool.percentile(COVERED));
        assert_eq!(Pool::default().percentile(COVERED), 0.0);
    }
}
