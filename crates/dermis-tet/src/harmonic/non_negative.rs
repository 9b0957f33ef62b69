//! Edge weights that satisfy the maximum principle: the non-negative weights nearest to the cotangent weights.
//!
//! At an inner node i with neighbours at `d_j = x_j − x_i` and cotangent weights `c_j`, the projection
//!
//! ```text
//! min Σ_j (w_j − c_j)²   subject to   w ≥ 0,   Σ_j w_j d_j = 0
//! ```
//!
//! keeps linear functions harmonic, unlike clamping. Every value is an average of its neighbours and stays within the
//! range of the fixed values, and translations and rotations of the skin are extended exactly. Such weights exist
//! because an inner node lies inside the convex hull of its neighbours. The result is not symmetric; Wardetzky et al.
//! 2007 show that no discrete Laplacian has all of these properties. Weights that are already non-negative do not
//! change.
//!
//! The dual `min_λ ½ Σ_j max(0, c_j + d_j·λ)²` has three unknowns and is piecewise quadratic. Newton's method with step
//! halving converges in a few steps, and `w_j = max(0, c_j + d_j·λ)`.
//! On the surface, linear functions are not harmonic (natural boundary condition), and negative weights are clamped.

use glam::{DMat3, DVec3};

/// Moment of the weights, relative to their absolute moment, up to which they count as exact for linear functions.
const LINEAR_TOLERANCE: f64 = 1e-6;
/// Relative moment at which Newton's method stops.
const TOLERANCE: f64 = 1e-14;
/// Relative moment up to which a result is accepted. Large weights that nearly cancel do not allow more digits.
const ACCEPTED_TOLERANCE: f64 = 1e-9;
/// Relative growth of the dual that is attributed to rounding.
const ROUNDING_SLACK: f64 = 1e-14;
/// Maximum number of Newton steps; a few suffice unless there is no solution.
const MAX_STEPS: usize = 60;
/// Maximum number of halvings of a Newton step.
const MAX_HALVINGS: usize = 50;

/// Makes the cotangent weights of the edges of a node non-negative; `offsets` are the vectors to its neighbours.
///
/// Returns true if any weight was changed.
pub(crate) fn make_non_negative(weights: &mut [f64], offsets: &[DVec3]) -> bool {
    if weights.iter().all(|&weight| weight >= 0.0) {
        return false;
    }
    let scale = offsets.iter().map(|offset| offset.length()).sum::<f64>() / offsets.len() as f64;
    let directions: Vec<DVec3> = offsets.iter().map(|&offset| offset / scale).collect();
    let is_inside = moment(weights, &directions).length() <= LINEAR_TOLERANCE * absolute_moment(weights, &directions);
    let projected = if is_inside { project(weights, &directions) } else { None };
    match projected {
        Some(projected) => weights.copy_from_slice(&projected),
        None => weights.iter_mut().for_each(|weight| *weight = weight.max(0.0)),
    }
    true
}

/// Projection of the weights, or of inverse edge lengths if the weights project to zero.
fn project(weights: &[f64], directions: &[DVec3]) -> Option<Vec<f64>> {
    let size: f64 = weights.iter().map(|weight| weight.abs()).sum();
    // Positive weights cannot project to zero because their inner product with feasible weights is positive.
    let positive = || newton(&directions.iter().map(|d| d.length().recip()).collect::<Vec<_>>(), directions);
    newton(weights, directions)
        .filter(|nearest| nearest.iter().sum::<f64>() > LINEAR_TOLERANCE * size)
        .or_else(positive)
}

fn newton(weights: &[f64], directions: &[DVec3]) -> Option<Vec<f64>> {
    let clipped = |multiplier: DVec3| -> Vec<f64> {
        weights
            .iter()
            .zip(directions)
            .map(|(weight, direction)| (weight + direction.dot(multiplier)).max(0.0))
            .collect()
    };
    let value = |clipped: &[f64]| 0.5 * clipped.iter().map(|weight| weight * weight).sum::<f64>();
    let mut multiplier = DVec3::ZERO;
    let mut current = clipped(multiplier);
    for _ in 0..MAX_STEPS {
        let gradient = moment(&current, directions);
        if gradient.length() <= TOLERANCE * absolute_moment(&current, directions) {
            break;
        }
        let step = newton_step(&current, directions, gradient)?;
        let before = value(&current);
        // Near convergence the value changes by less than its rounding error; the slack accepts the last steps.
        let falls = |length: f64| value(&clipped(multiplier + length * step)) <= before * (1.0 + ROUNDING_SLACK);
        let length =
            std::iter::successors(Some(1.0), |length| Some(0.5 * length)).take(MAX_HALVINGS).find(|&t| falls(t))?;
        multiplier += length * step;
        current = clipped(multiplier);
    }
    let is_exact = moment(&current, directions).length() <= ACCEPTED_TOLERANCE * absolute_moment(&current, directions);
    is_exact.then_some(current)
}

fn newton_step(current: &[f64], directions: &[DVec3], gradient: DVec3) -> Option<DVec3> {
    let mut hessian = DMat3::ZERO;
    for (_, &direction) in current.iter().zip(directions).filter(|(weight, _)| **weight > 0.0) {
        hessian += DMat3::from_cols(direction * direction.x, direction * direction.y, direction * direction.z);
    }
    let trace = hessian.x_axis.x + hessian.y_axis.y + hessian.z_axis.z;
    // Fewer than three independent directions make the Hessian singular; the step is then a long descent step.
    let step = -((hessian + DMat3::from_diagonal(DVec3::splat(1e-9 * trace))).inverse() * gradient);
    step.is_finite().then_some(step)
}

fn moment(weights: &[f64], directions: &[DVec3]) -> DVec3 {
    weights.iter().zip(directions).map(|(&weight, &direction)| weight * direction).sum()
}

fn absolute_moment(weights: &[f64], directions: &[DVec3]) -> f64 {
    weights.iter().zip(directions).map(|(weight, direction)| weight.abs() * direction.length()).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Weights nearest to `target` with `Σ w d = 0`; some of them can be negative.
    fn exact_weights(directions: &[DVec3], target: &[f64]) -> Vec<f64> {
        let mut normal = DMat3::ZERO;
        for &d in directions {
            normal += DMat3::from_cols(d * d.x, d * d.y, d * d.z);
        }
        let multiplier = normal.inverse() * moment(target, directions);
        target.iter().zip(directions).map(|(weight, direction)| weight - direction.dot(multiplier)).collect()
    }

    #[test]
    fn keeps_non_negative_weights_bitwise() {
        let directions = [DVec3::X, DVec3::NEG_X, DVec3::Y, DVec3::NEG_Y, DVec3::Z, DVec3::NEG_Z];
        let mut weights = [1.0, 1.0, 0.0, 0.0, 2.0, 2.0];
        assert!(!make_non_negative(&mut weights, &directions));
        assert_eq!(weights, [1.0, 1.0, 0.0, 0.0, 2.0, 2.0]);
    }

    #[test]
    fn clamps_the_weights_of_a_surface_node() {
        let directions = [DVec3::X, DVec3::NEG_X, DVec3::Y, DVec3::Z];
        let mut weights = [1.0, -0.25, 2.0, 0.5];
        assert!(make_non_negative(&mut weights, &directions));
        assert_eq!(weights, [1.0, 0.0, 2.0, 0.5]);
    }

    proptest! {
        #[test]
        fn projected_weights_are_non_negative_and_linearly_exact(
            random in prop::collection::vec(prop::array::uniform3(-1.0..1.0_f64).prop_map(DVec3::from), 4..16),
            target in prop::collection::vec(-1.0..1.0_f64, 22),
        ) {
            // The six axes ensure that the node is inside the convex hull of its neighbours.
            let mut directions = vec![DVec3::X, DVec3::NEG_X, DVec3::Y, DVec3::NEG_Y, DVec3::Z, DVec3::NEG_Z];
            directions.extend(random.into_iter().filter(|direction| direction.length() > 0.1));
            let mut weights = exact_weights(&directions, &target[..directions.len()]);
            make_non_negative(&mut weights, &directions);
            prop_assert!(weights.iter().all(|&weight| weight >= 0.0));
            prop_assert!(weights.iter().sum::<f64>() > 0.0);
            prop_assert!(moment(&weights, &directions).length() <= 1e-9 * absolute_moment(&weights, &directions));
        }
    }
}
