//! State of a skin during the fit.

use faer::Mat;
use glam::DVec3;

use super::influences::Influences;

/// Bones, rest pose and weights in the normalized units of the [`super::trajectories::Trajectories`].
#[derive(Debug, Clone)]
pub(crate) struct State {
    /// Transforms of the bones, 3S × 4B.
    pub(crate) transforms: Mat<f64>,
    pub(crate) rest: Vec<DVec3>,
    pub(crate) influences: Vec<Influences>,
    /// Squared error of each point with these influences, before the last update of the bones.
    pub(crate) squared_errors: Vec<f64>,
}

impl State {
    pub(crate) fn bone_count(&self) -> usize {
        self.transforms.ncols() / 4
    }

    /// Removes a bone that influences no point; the last bone gets its index.
    pub(crate) fn forget_bone(&mut self, bone: usize) {
        let last = self.bone_count() - 1;
        let former = &self.transforms;
        let source = |column: usize| if column / 4 == bone { 4 * last + column % 4 } else { column };
        self.transforms = Mat::from_fn(former.nrows(), 4 * last, |row, column| former[(row, source(column))]);
        for influences in &mut self.influences {
            let renumbered =
                influences.iter().map(|(other, weight)| (if other == last { bone } else { other }, weight));
            *influences = Influences::from_pairs(renumbered);
        }
    }

    pub(crate) fn squared_error(&self) -> f64 {
        self.squared_errors.iter().sum()
    }
}
