//! Frames of a mesh, read from the file on demand.

use glam::{DAffine3, Vec3};

use super::ogawa::Ogawa;
use super::poly_mesh::{POINT_BYTES, transform_points};
use super::sampling::Grid;
use super::transform::{Tracked, Transform, world};
use crate::error::Error;

/// Samples of `P` and the transforms above, combined frame by frame.
#[derive(Debug)]
pub(super) struct Frames {
    pub(super) ogawa: Ogawa,
    /// Transforms above the mesh, the nearest first.
    pub(super) above: Vec<Transform>,
    /// Rotation from Y up to the up axis of the scene, after all transforms.
    pub(super) restored: DAffine3,
    pub(super) positions: Tracked,
    pub(super) points: usize,
    /// `None` without motion.
    pub(super) grid: Option<Grid>,
}

impl Frames {
    /// Writes the positions of `frame` to `out`.
    pub(super) fn read(&self, frame: usize, out: &mut [Vec3]) -> Result<(), Error> {
        self.ogawa.revalidate()?;
        let grid = self.grid.as_ref();
        let values = |sample| self.positions.property.values(&self.ogawa, sample);
        let (before, after) = self.positions.sample(grid, frame, values)?;
        for (point, bytes) in out.iter_mut().zip(before.as_chunks().0) {
            *point = position(bytes);
        }
        if let Some((after, part)) = after {
            for (point, bytes) in out.iter_mut().zip(after.as_chunks().0) {
                *point = point.lerp(position(bytes), part as f32);
            }
        }
        transform_points(out, &self.world(frame)?);
        Ok(())
    }

    /// The transform of `frame` from the points of the file to the scene.
    pub(super) fn world(&self, frame: usize) -> Result<DAffine3, Error> {
        Ok(self.restored * world(&self.above, &self.ogawa, self.grid.as_ref(), frame)?)
    }
}

fn position(bytes: &[u8; POINT_BYTES]) -> Vec3 {
    let [x, y, z] = [0, 4, 8].map(|at| f32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]));
    Vec3::new(x, y, z)
}
