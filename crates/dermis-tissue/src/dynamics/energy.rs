//! Energy of a body, in `f64`: kinetic ½ Σ m v² and elastic Σ V [μ‖S − I‖² + λ/2 (tr S − 3)²], with the stretch
//! `S = RᵀF` of an element.

use dermis_math::polar::polar;
use dermis_math::sum::sum;
use glam::{DMat3, DVec3, Vec3A};

use crate::fem::Model;
use crate::fem::elements::deformation_gradient;

/// Energy in joules.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Energy {
    /// Kinetic energy of the free nodes.
    pub kinetic_j: f64,
    /// Elastic energy of the elements.
    pub elastic_j: f64,
}

impl Energy {
    /// Sum of kinetic and elastic energy.
    pub fn total_j(&self) -> f64 {
        self.kinetic_j + self.elastic_j
    }
}

pub(super) fn energy_of(model: &Model, displacements: &[Vec3A], velocities: &[Vec3A]) -> Energy {
    let elastic = |index: usize| {
        let (_, stretch) = polar(deformation_gradient(&model.shapes[index], displacements));
        let strain = stretch - DMat3::IDENTITY;
        let squared: f64 = strain.to_cols_array().iter().map(|x| x * x).sum();
        let trace = strain.x_axis.x + strain.y_axis.y + strain.z_axis.z;
        model.elements.weight_squared(index) * (squared + 0.5 * f64::from(model.ratio) * trace * trace)
    };
    Energy { kinetic_j: kinetic_j(model, velocities), elastic_j: sum(model.shapes.len(), elastic) }
}

/// ½ Σ m v² of the free nodes.
pub(super) fn kinetic_j(model: &Model, velocities: &[Vec3A]) -> f64 {
    sum(model.free_count, |node| 0.5 * f64::from(model.masses[node] * velocities[node].length_squared()))
}

/// Σ m v of the free nodes.
pub(super) fn momentum(model: &Model, velocities: &[Vec3A]) -> DVec3 {
    sum(model.free_count, |node| velocities[node].as_dvec3() * f64::from(model.masses[node]))
}

pub(super) fn inverted_count(model: &Model, displacements: &[Vec3A]) -> usize {
    model.shapes.iter().filter(|shape| deformation_gradient(shape, displacements).determinant() <= 0.0).count()
}
