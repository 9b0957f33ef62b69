//! Parameters of the fit, their gradient, and the quantities of a model that depend on them.

use glam::{DMat3, DVec3};

use super::model::FitModel;
use super::step::outer;

/// Parameters that a fit can change, in the numbering of a [`FitModel`].
#[derive(Debug, Clone, PartialEq)]
pub struct Parameters {
    /// Young's modulus of each node in pascals; an element uses the mean of its corners.
    pub young_modulus_pa: Vec<f64>,
    /// Poisson's ratio.
    pub poisson_ratio: f64,
    /// Density in kilograms per cubic metre; not fitted.
    pub density_kg_per_m3: f64,
    /// Decay rate of velocities relative to the driven nodes, per second.
    pub damping_rate_per_s: f64,
    /// Stiffness of the tie of each free node to its posed position, in N/m. The ties depend on the layer field.
    pub ties_n_per_m: Vec<f64>,
    /// Rest positions of all nodes in metres.
    pub rest: Vec<DVec3>,
    /// Additional masses of nodes in kilograms; not fitted.
    pub added_masses_kg: Vec<(u32, f64)>,
}

/// Derivatives of a loss with respect to [`Parameters`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Gradient {
    /// With respect to Young's modulus of each node, per pascal.
    pub young_modulus_pa: Vec<f64>,
    /// With respect to Poisson's ratio.
    pub poisson_ratio: f64,
    /// With respect to the damping rate, in seconds.
    pub damping_rate_per_s: f64,
    /// With respect to the tie of each free node.
    pub ties: Vec<f64>,
    /// With respect to the rest position of each node.
    pub rest: Vec<DVec3>,
    /// With respect to Young's modulus of each element.
    pub(super) elements: Vec<f64>,
}

/// An integration point with its material.
#[derive(Debug, Clone, Copy)]
pub(super) struct PreparedPoint {
    /// `D_m⁻¹`.
    pub(super) inverse: DMat3,
    pub(super) volume: f64,
    pub(super) young_modulus: f64,
    pub(super) mu: f64,
    pub(super) lambda: f64,
    index_in_element: usize,
}

/// Points and masses of a model with given parameters.
#[derive(Debug, Clone)]
pub(super) struct Prepared {
    pub(super) points: Vec<PreparedPoint>,
    pub(super) points_per_element: usize,
    pub(super) masses: Vec<f64>,
    pub(super) ties: Vec<f64>,
}

impl Parameters {
    /// Uniform material in the rest shape of `model`, without ties.
    pub fn uniform(model: &FitModel, young_modulus_pa: f64, poisson_ratio: f64, density_kg_per_m3: f64) -> Self {
        Self {
            young_modulus_pa: vec![young_modulus_pa; model.nodes.len()],
            poisson_ratio,
            density_kg_per_m3,
            damping_rate_per_s: 0.0,
            ties_n_per_m: vec![0.0; model.free_count],
            rest: model.rest.clone(),
            added_masses_kg: Vec::new(),
        }
    }

    /// Lamé parameters μ and λ.
    fn lame(&self, young_modulus: f64) -> (f64, f64) {
        let nu = self.poisson_ratio;
        (young_modulus / (2.0 * (1.0 + nu)), young_modulus * nu / ((1.0 + nu) * (1.0 - 2.0 * nu)))
    }

    /// Derivatives of μ and λ with respect to Poisson's ratio.
    pub(super) fn lame_derivatives(&self, young_modulus: f64) -> (f64, f64) {
        let nu = self.poisson_ratio;
        let denominator = (1.0 + nu) * (1.0 - 2.0 * nu);
        let lambda = young_modulus * (1.0 + 2.0 * nu * nu) / (denominator * denominator);
        (-young_modulus / (2.0 * (1.0 + nu) * (1.0 + nu)), lambda)
    }

    pub(super) fn prepare(&self, model: &FitModel) -> Prepared {
        let per_element = model.derivatives.len();
        let mut points = Vec::with_capacity(model.element_count() * per_element);
        let mut masses = vec![0.0; model.nodes.len()];
        for (element, corners) in model.corners.iter().enumerate() {
            let young_modulus =
                corners.iter().map(|&corner| self.young_modulus_pa[corner as usize]).sum::<f64>() * 0.25;
            let (mu, lambda) = self.lame(young_modulus);
            let nodes = model.nodes_of(element);
            for (index_in_element, derivatives) in model.derivatives.iter().enumerate() {
                let mut shape = DMat3::ZERO;
                for (&node, derivative) in nodes.iter().zip(derivatives) {
                    shape += outer(self.rest[node as usize], *derivative);
                }
                let volume = shape.determinant() / (6.0 * per_element as f64);
                for (&node, fraction) in nodes.iter().zip(&model.mass_fractions) {
                    masses[node as usize] += self.density_kg_per_m3 * volume * fraction;
                }
                let inverse = shape.inverse();
                points.push(PreparedPoint { inverse, volume, young_modulus, mu, lambda, index_in_element });
            }
        }
        for &(node, mass) in &self.added_masses_kg {
            masses[node as usize] += mass;
        }
        Prepared { points, points_per_element: per_element, masses, ties: self.ties_n_per_m.clone() }
    }
}

impl PreparedPoint {
    /// Derivatives of the shape functions at this point.
    pub(super) fn derivatives<'a>(&self, model: &'a FitModel) -> &'a [DVec3] {
        &model.derivatives[self.index_in_element]
    }
}

impl Gradient {
    pub(super) fn zero(model: &FitModel) -> Self {
        Self {
            young_modulus_pa: vec![0.0; model.nodes.len()],
            ties: vec![0.0; model.free_count],
            rest: vec![DVec3::ZERO; model.nodes.len()],
            elements: vec![0.0; model.element_count()],
            ..Self::default()
        }
    }

    /// Distributes the derivatives of elements to their corners.
    pub(super) fn finish(&mut self, model: &FitModel) {
        for (corners, of_element) in model.corners.iter().zip(&self.elements) {
            for &corner in corners {
                self.young_modulus_pa[corner as usize] += 0.25 * of_element;
            }
        }
    }
}
