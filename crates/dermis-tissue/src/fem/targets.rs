//! Strain of the elements in the posed body, which is the rest shape of the flesh.
//!
//! Skinning stretches and compresses flesh around the joints. With the rest shape of the template, that strain is a load
//! on the layer, and a held pose moves the skin by millimetres. With the target strain `E = S − I`, `F = R S` of the posed
//! body, the elastic force of an element is that of `S − I − E`: a posed body is at rest, and the simulation adds only
//! motion. An element that the pose folds or flattens has no meaningful strain; its target fades to the rest shape of the
//! template as its volume ratio falls from [`SOUND_VOLUME_RATIO`] to [`FOLDED_VOLUME_RATIO`].

#![allow(clippy::inline_always, reason = "parts of one kernel")]
#![allow(clippy::large_types_passed_by_value, reason = "all of it is inlined and lives in registers")]

use glam::Vec4;

use super::lanes::{LANES, M3, determinant, difference, plus_identity, times_transpose, transpose};
use super::rotation;

/// Volume ratio to rest from which the strain of the pose is the target.
const SOUND_VOLUME_RATIO: f32 = 0.4;
/// Volume ratio to rest below which an element is folded by the pose.
pub(crate) const FOLDED_VOLUME_RATIO: f32 = 0.1;

/// Symmetric strain of four elements: xx, yy, zz, xy, xz, yz.
pub(super) type Strain = [Vec4; 6];

/// Target strain of four elements at the beginning and at the end of a frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target {
    from: Strain,
    to: Strain,
    rotation: [Vec4; LANES],
}

impl Default for Target {
    fn default() -> Self {
        let zero = [Vec4::ZERO; 6];
        Self { from: zero, to: zero, rotation: [Vec4::ZERO, Vec4::ZERO, Vec4::ZERO, Vec4::ONE] }
    }
}

impl Target {
    /// Begins a frame that ends with the displacement gradient F − I of the posed body.
    #[inline(always)]
    pub(super) fn begin(&mut self, displacement_gradient: M3) {
        let gradient = plus_identity(displacement_gradient);
        rotation::update_rotation(gradient, &mut self.rotation);
        let less_identity = rotation::matrix_less_identity(self.rotation);
        // S − I = Rᵀ(F − R).
        let strain = times_transpose(
            transpose(plus_identity(less_identity)),
            transpose(difference(displacement_gradient, less_identity)),
        );
        let ratio = determinant(gradient);
        let sound = (ratio - Vec4::splat(FOLDED_VOLUME_RATIO)) / (SOUND_VOLUME_RATIO - FOLDED_VOLUME_RATIO);
        let sound = sound.max(Vec4::ZERO).min(Vec4::ONE);
        let mean = |a: Vec4, b: Vec4| (a + b) * 0.5;
        let symmetric = [
            strain[0][0],
            strain[1][1],
            strain[2][2],
            mean(strain[0][1], strain[1][0]),
            mean(strain[0][2], strain[2][0]),
            mean(strain[1][2], strain[2][1]),
        ];
        self.from = self.to;
        self.to = symmetric.map(|entry| {
            let entry = entry * sound;
            Vec4::select(entry.is_finite_mask(), entry, Vec4::ZERO)
        });
    }

    /// Makes the end of the frame its beginning too.
    pub(super) fn hold(&mut self) {
        self.from = self.to;
    }

    /// R E Rᵀ at `fraction` of the frame.
    #[inline(always)]
    pub(super) fn rotated(&self, fraction: f32, rotation: M3) -> M3 {
        let mut at = self.from;
        for (at, to) in at.iter_mut().zip(self.to) {
            *at += (to - *at) * fraction;
        }
        let [xx, yy, zz, xy, xz, yz] = at;
        let strain = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]];
        // E is symmetric: R E = R Eᵀ.
        times_transpose(times_transpose(rotation, strain), rotation)
    }
}
