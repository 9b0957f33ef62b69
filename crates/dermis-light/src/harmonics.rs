//! Real spherical harmonics with an orthonormal basis: `∫ Y_i Y_j dω = δ_ij` over the sphere.
//!
//! The basis functions of band l are numbered `l² … l² + 2l`, from m = −l to l, as polynomials of the direction
//! (x, y, z), as in Sloan 2008. The axes are those of the scene; light is rotated by rotating its coefficients.

use glam::DVec3;

/// Largest supported order.
pub const MAX_ORDER: usize = 5;
/// Number of coefficients of the largest order.
pub const MAX_COEFFICIENTS: usize = MAX_ORDER * MAX_ORDER;

/// Values of all basis functions in a unit direction; those of order n are the first n².
pub fn basis(direction: DVec3) -> [f64; MAX_COEFFICIENTS] {
    let [x, y, z] = direction.to_array();
    let (xx, yy, zz) = (x * x, y * y, z * z);
    [
        0.282_094_791_773_878_1,
        0.488_602_511_902_919_9 * y,
        0.488_602_511_902_919_9 * z,
        0.488_602_511_902_919_9 * x,
        1.092_548_430_592_079 * x * y,
        1.092_548_430_592_079 * y * z,
        0.315_391_565_252_520_05 * (3.0 * zz - 1.0),
        1.092_548_430_592_079 * x * z,
        0.546_274_215_296_039_5 * (xx - yy),
        0.590_043_589_926_643_5 * y * (3.0 * xx - yy),
        2.890_611_442_640_554 * x * y * z,
        0.457_045_799_464_465_8 * y * (5.0 * zz - 1.0),
        0.373_176_332_590_115_4 * z * (5.0 * zz - 3.0),
        0.457_045_799_464_465_8 * x * (5.0 * zz - 1.0),
        1.445_305_721_320_277 * z * (xx - yy),
        0.590_043_589_926_643_5 * x * (xx - 3.0 * yy),
        2.503_342_941_796_704_6 * x * y * (xx - yy),
        1.770_130_769_779_930_5 * y * z * (3.0 * xx - yy),
        0.946_174_695_757_560_1 * x * y * (7.0 * zz - 1.0),
        0.669_046_543_557_289_2 * y * z * (7.0 * zz - 3.0),
        0.105_785_546_915_204_3 * (35.0 * zz * zz - 30.0 * zz + 3.0),
        0.669_046_543_557_289_2 * x * z * (7.0 * zz - 3.0),
        0.473_087_347_878_780_05 * (xx - yy) * (7.0 * zz - 1.0),
        1.770_130_769_779_930_5 * x * z * (xx - 3.0 * yy),
        0.625_835_735_449_176_1 * (xx * (xx - 3.0 * yy) - yy * (3.0 * xx - yy)),
    ]
}

/// Directions spread evenly over the sphere: a spiral whose steps are the golden angle.
pub fn directions(count: usize) -> Vec<DVec3> {
    let golden = std::f64::consts::PI * (3.0 - 5.0_f64.sqrt());
    let direction = |k: usize| {
        let height = 1.0 - (2 * k + 1) as f64 / count as f64;
        let radius = (1.0 - height * height).max(0.0).sqrt();
        let angle = golden * k as f64;
        DVec3::new(radius * angle.cos(), height, radius * angle.sin())
    };
    (0..count).map(direction).collect()
}

/// Coefficients of light around a direction; its radiance is proportional to the cosine of the angle from the direction,
/// raised to the power `sharpness`. A white surface that faces the direction reflects about 1.
pub fn light_from(direction: DVec3, sharpness: i32) -> [f64; MAX_COEFFICIENTS] {
    const SAMPLES: usize = 4096;
    let towards = direction.normalize_or(DVec3::Y);
    let (mut sum, mut total) = ([0.0; MAX_COEFFICIENTS], 0.0);
    for sample in directions(SAMPLES) {
        let radiance = sample.dot(towards).max(0.0).powi(sharpness);
        total += radiance * sample.dot(towards).max(0.0);
        for (sum, value) in sum.iter_mut().zip(basis(sample)) {
            *sum += radiance * value;
        }
    }
    sum.map(|coefficient| std::f64::consts::PI * coefficient / total.max(f64::MIN_POSITIVE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_basis_is_orthonormal() {
        let samples = directions(20_000);
        for i in 0..MAX_COEFFICIENTS {
            for j in 0..=i {
                let product: f64 = samples.iter().map(|d| basis(*d)[i] * basis(*d)[j]).sum();
                let product = product * 4.0 * std::f64::consts::PI / samples.len() as f64;
                let expected = if i == j { 1.0 } else { 0.0 };
                assert!((product - expected).abs() < 2e-3, "{i}, {j}: {product}");
            }
        }
    }
}
