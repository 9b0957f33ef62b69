//! Transforms (`AbcGeom_Xform_v3`): a list of operations, their numbers over time, and a flag that applies the parents.
//!
//! Each operation is a byte whose upper half is its type; their values are stored consecutively in `.vals`. The first
//! operation is the outermost. Alembic multiplies row vectors, so its matrices are transposed here; angles are in
//! degrees.

use glam::{DAffine3, DMat4, DQuat, DVec3};

use super::archive::Archive;
use super::ogawa::Ogawa;
use super::property::{Compound, Pod, Property};
use super::sampling::{Between, Grid, Track};
use crate::error::Error;

/// A transform over time.
#[derive(Debug, Clone)]
pub(super) struct Transform {
    operations: Vec<Operation>,
    values: Option<Tracked>,
    inherits: Option<Tracked>,
}

/// A property and the times of its samples.
#[derive(Debug, Clone)]
pub(super) struct Tracked {
    pub(super) property: Property,
    pub(super) track: Track,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Scale,
    Translate,
    Rotate,
    Matrix,
    RotateX,
    RotateY,
    RotateZ,
}

impl Tracked {
    /// `None` if there are no samples.
    pub(super) fn new(archive: &Archive, property: &Property, fallback_rate_hz: f64) -> Result<Option<Self>, Error> {
        if property.samples == 0 {
            return Ok(None);
        }
        let mut sampling = std::sync::Arc::clone(archive.sampling(property.sampling)?);
        if property.sampling == 0 && sampling.is_unstated() {
            sampling = std::sync::Arc::new(super::sampling::TimeSampling::uniform(fallback_rate_hz));
        }
        sampling.check(property.samples).map_err(|error| error.detail(format!("property '{}'", property.name)))?;
        let track = Track::new(sampling, property.samples);
        Ok(Some(Self { property: property.clone(), track }))
    }

    fn at(&self, grid: Option<&Grid>, frame: usize) -> Between {
        match grid {
            Some(grid) if !self.property.is_constant() => self.track.at(grid, frame),
            _ => Between { before: 0, after: 0, part: 0.0 },
        }
    }

    /// Values that `read` returns for the samples around `frame`, and the fraction of the second.
    pub(super) fn sample<T>(
        &self,
        grid: Option<&Grid>,
        frame: usize,
        mut read: impl FnMut(usize) -> Result<T, Error>,
    ) -> Result<(T, Option<(T, f64)>), Error> {
        let at = self.at(grid, frame);
        let before = read(at.before)?;
        let after = if at.part > 0.0 { Some((read(at.after)?, at.part)) } else { None };
        Ok((before, after))
    }
}

impl Transform {
    /// Reads the compound `.xform`.
    pub(super) fn read(archive: &Archive, compound: &Compound, fallback_rate_hz: f64) -> Result<Self, Error> {
        let tracked = |name: &str| match compound.find(name) {
            Some(property) => Tracked::new(archive, property, fallback_rate_hz),
            None => Ok(None),
        };
        let operations = match compound.find(".ops") {
            Some(property) if property.samples > 0 => {
                property.values(&archive.ogawa, 0)?.iter().map(|&byte| Operation::of_byte(byte)).collect()
            }
            _ => Ok(Vec::new()),
        }?;
        let transform = Self { operations, values: tracked(".vals")?, inherits: tracked(".inherits")? };
        transform.check(&archive.ogawa)?;
        Ok(transform)
    }

    fn check(&self, ogawa: &Ogawa) -> Result<(), Error> {
        let Some(values) = &self.values else {
            return Ok(());
        };
        if values.property.pod != Pod::F64 {
            return Err(Error::unsupported("the numbers of a transform do not have double precision"));
        }
        let needed = 8 * self.operations.iter().map(|operation| operation.channels()).sum::<usize>();
        for stored in 0..values.property.stored_samples() {
            let found = values.property.stored_values(ogawa, stored)?.len();
            if found < needed {
                return Err(Error::truncated("the numbers of a transform", needed as u64, found as u64));
            }
        }
        Ok(())
    }

    /// Parts that move over time.
    pub(super) fn moving(&mut self) -> impl Iterator<Item = &mut Tracked> {
        let both = [self.values.as_mut(), self.inherits.as_mut()];
        both.into_iter().flatten().filter(|tracked| !tracked.property.is_constant())
    }

    /// Returns whether the transforms above this one also apply.
    pub(super) fn inherits(&self, ogawa: &Ogawa, grid: Option<&Grid>, frame: usize) -> Result<bool, Error> {
        let Some(inherits) = &self.inherits else {
            return Ok(true);
        };
        let (before, _) = inherits.sample(grid, frame, |sample| inherits.property.values(ogawa, sample))?;
        Ok(before.first() != Some(&0))
    }

    /// The transform of a frame, without those above it.
    pub(super) fn local(&self, ogawa: &Ogawa, grid: Option<&Grid>, frame: usize) -> Result<DAffine3, Error> {
        let Some(values) = &self.values else {
            return Ok(DAffine3::IDENTITY);
        };
        let read = |sample| Ok(self.compose(values.property.values(ogawa, sample)?));
        let (before, after) = values.sample(grid, frame, read)?;
        Ok(match after {
            Some((after, part)) => DAffine3 {
                matrix3: before.matrix3 * (1.0 - part) + after.matrix3 * part,
                translation: before.translation.lerp(after.translation, part),
            },
            None => before,
        })
    }

    fn compose(&self, values: &[u8]) -> DAffine3 {
        let mut numbers = values.as_chunks().0.iter().map(|number| f64::from_le_bytes(*number));
        let mut next = || numbers.next().unwrap_or_default();
        self.operations.iter().fold(DAffine3::IDENTITY, |outer, operation| outer * operation.transform(&mut next))
    }
}

impl Operation {
    fn of_byte(byte: u8) -> Result<Self, Error> {
        use Operation::{Matrix, Rotate, RotateX, RotateY, RotateZ, Scale, Translate};
        const BY_NUMBER: [Operation; 7] = [Scale, Translate, Rotate, Matrix, RotateX, RotateY, RotateZ];
        let number = (byte >> 4) as usize;
        let unknown = || Error::unsupported(format!("unknown transform operation {number}"));
        BY_NUMBER.get(number).copied().ok_or_else(unknown)
    }

    fn channels(self) -> usize {
        match self {
            Self::Scale | Self::Translate => 3,
            Self::Rotate => 4,
            Self::Matrix => 16,
            Self::RotateX | Self::RotateY | Self::RotateZ => 1,
        }
    }

    fn transform(self, next: &mut impl FnMut() -> f64) -> DAffine3 {
        let mut vector = || DVec3::from_array(std::array::from_fn(|_| next()));
        match self {
            Self::Scale => DAffine3::from_scale(vector()),
            Self::Translate => DAffine3::from_translation(vector()),
            Self::Rotate => {
                let axis = vector().normalize_or_zero();
                let angle = next().to_radians();
                let rotation = if axis == DVec3::ZERO { DQuat::IDENTITY } else { DQuat::from_axis_angle(axis, angle) };
                DAffine3::from_quat(rotation)
            }
            Self::Matrix => DAffine3::from_mat4(DMat4::from_cols_array(&std::array::from_fn(|_| next()))),
            Self::RotateX => DAffine3::from_rotation_x(next().to_radians()),
            Self::RotateY => DAffine3::from_rotation_y(next().to_radians()),
            Self::RotateZ => DAffine3::from_rotation_z(next().to_radians()),
        }
    }
}

/// Product of all transforms above an object in one frame; `above` starts with the nearest.
pub(super) fn world(above: &[Transform], ogawa: &Ogawa, grid: Option<&Grid>, frame: usize) -> Result<DAffine3, Error> {
    let mut world = DAffine3::IDENTITY;
    for transform in above {
        world = transform.local(ogawa, grid, frame)? * world;
        if !transform.inherits(ogawa, grid, frame)? {
            break;
        }
    }
    Ok(world)
}
