//! Preconditioned conjugate gradients in `f32` on matrices of 3×3 blocks: `A x = b` for symmetric positive definite A.
//!
//! The preconditioner is block Jacobi: the inverses of the diagonal blocks. The recurrence is that of Chronopoulos & Gear
//! 1989: with `s = A p` updated like p, an iteration consists of two parallel loops, the product and one pass over all
//! vectors, instead of three. For small matrices, synchronizing the threads after a loop costs as much as the loop itself.
//!
//! Sums are accumulated in `f64` over runs of fixed length, so results are bitwise identical for any number of threads.
//! The caller provides an initial guess and its residual. Iteration stops when ‖r‖ ≤ `target`, after `max_iterations`,
//! or when a curvature pᵀAp is not positive, that is, when A is numerically indefinite.

use glam::{Mat3A, Vec3A};
use rayon::prelude::*;

use crate::block_sparse::{ROWS_PER_TASK, SymmetricBlocks};

/// Report of one solve.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PcgReport {
    /// Number of products with the matrix.
    pub iterations: usize,
    /// ‖r‖ after the last iteration.
    pub residual: f64,
    /// True if the residual reached the target.
    pub converged: bool,
}

/// Buffers of a solver, reused between solves.
#[derive(Debug, Clone, Default)]
pub struct PcgWorkspace {
    direction: Vec<Vec3A>,
    direction_product: Vec<Vec3A>,
    preconditioned: Vec<Vec3A>,
    product: Vec<Vec3A>,
    dots: Vec<f64>,
    sums: Vec<Sums>,
}

/// r·z and r·r of a run of rows.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    preconditioned: f64,
    residual: f64,
}

/// Inverts symmetric blocks; a block that is singular in `f32` is replaced by its largest diagonal entry times identity.
pub fn invert_blocks(blocks: &[Mat3A], inverses: &mut [Mat3A]) {
    let runs = blocks.par_chunks(ROWS_PER_TASK).zip(inverses.par_chunks_mut(ROWS_PER_TASK));
    runs.for_each(|(blocks, inverses)| {
        for (block, inverse) in blocks.iter().zip(inverses) {
            *inverse = inverse_of(block);
        }
    });
}

/// Inverse of a symmetric matrix, which is symmetric too: its columns are the cofactors divided by the determinant.
fn inverse_of(block: &Mat3A) -> Mat3A {
    let largest = block.x_axis.x.max(block.y_axis.y).max(block.z_axis.z).max(f32::MIN_POSITIVE);
    let scale = largest.recip();
    let [x, y, z] = [block.x_axis * scale, block.y_axis * scale, block.z_axis * scale];
    let first = y.cross(z);
    let determinant = x.dot(first);
    if determinant > 1e-7 {
        let factor = scale / determinant;
        Mat3A::from_cols(first * factor, z.cross(x) * factor, x.cross(y) * factor)
    } else {
        Mat3A::from_diagonal(glam::Vec3::splat(scale))
    }
}

/// Improves `x` until its residual, passed in `r`, is at most `target`.
///
/// # Panics
/// If the length of a slice differs from the number of rows of the matrix.
pub fn pcg(
    matrix: &SymmetricBlocks,
    inverses: &[Mat3A],
    x: &mut [Vec3A],
    r: &mut [Vec3A],
    target: f64,
    max_iterations: usize,
    workspace: &mut PcgWorkspace,
) -> PcgReport {
    let rows = matrix.row_count();
    assert!(inverses.len() == rows && x.len() == rows && r.len() == rows, "vectors must have one element per row");
    workspace.resize(rows);
    let PcgWorkspace { direction: p, direction_product: s, preconditioned: z, product: w, dots, sums } = workspace;
    for vector in [&mut *p, s, z, w] {
        vector.fill(Vec3A::ZERO);
    }
    let mut now = advance(Vectors { x, r, z, p, s }, w, inverses, (0.0, 0.0), sums);
    let (mut iterations, mut alpha, mut beta) = (0, 0.0, 0.0);
    while now.residual.sqrt() > target && iterations < max_iterations {
        matrix.multiply(z, w, dots);
        iterations += 1;
        // The curvature pᵀAp of the next direction p = z + βp.
        let correction = if iterations == 1 { 0.0 } else { beta * now.preconditioned / alpha };
        let curvature = dots.iter().sum::<f64>() - correction;
        let step = now.preconditioned / curvature;
        if !(curvature > 0.0 && step.is_finite()) {
            break;
        }
        let next = advance(Vectors { x, r, z, p, s }, w, inverses, (step as f32, beta as f32), sums);
        (alpha, beta) = (step, next.preconditioned / now.preconditioned);
        now = next;
    }
    let residual = now.residual.sqrt();
    PcgReport { iterations, residual, converged: residual <= target }
}

impl PcgWorkspace {
    fn resize(&mut self, rows: usize) {
        for vector in [&mut self.direction, &mut self.direction_product, &mut self.preconditioned, &mut self.product] {
            vector.resize(rows, Vec3A::ZERO);
        }
        self.dots.resize(rows.div_ceil(ROWS_PER_TASK), 0.0);
        self.sums.resize(rows.div_ceil(ROWS_PER_TASK), Sums::default());
    }
}

/// Vectors that an iteration changes: solution, residual, preconditioned residual, direction and its product.
struct Vectors<'a> {
    x: &'a mut [Vec3A],
    r: &'a mut [Vec3A],
    z: &'a mut [Vec3A],
    p: &'a mut [Vec3A],
    s: &'a mut [Vec3A],
}

/// p = z + βp, s = w + βs, x += αp, r −= αs, z = D⁻¹r.
fn advance(
    Vectors { x, r, z, p, s }: Vectors<'_>,
    w: &[Vec3A],
    inverses: &[Mat3A],
    (alpha, beta): (f32, f32),
    sums: &mut [Sums],
) -> Sums {
    let solution = x.par_chunks_mut(ROWS_PER_TASK).zip(r.par_chunks_mut(ROWS_PER_TASK));
    let directions = p.par_chunks_mut(ROWS_PER_TASK).zip(s.par_chunks_mut(ROWS_PER_TASK));
    let ins = w.par_chunks(ROWS_PER_TASK).zip(inverses.par_chunks(ROWS_PER_TASK));
    let runs = solution.zip(z.par_chunks_mut(ROWS_PER_TASK)).zip(directions).zip(ins).zip(&mut *sums);
    runs.for_each(|(((((x, r), z), (p, s)), (w, inverses)), sums)| {
        let (mut preconditioned, mut residual) = (Vec3A::ZERO, Vec3A::ZERO);
        let outs = x.iter_mut().zip(r).zip(z).zip(p.iter_mut().zip(s));
        for ((((x, r), z), (p, s)), (w, inverse)) in outs.zip(w.iter().zip(inverses)) {
            *p = *z + *p * beta;
            *s = *w + *s * beta;
            *x += *p * alpha;
            *r -= *s * alpha;
            *z = *inverse * *r;
            preconditioned += *r * *z;
            residual += *r * *r;
        }
        *sums = Sums {
            preconditioned: f64::from(preconditioned.element_sum()),
            residual: f64::from(residual.element_sum()),
        };
    });
    sums.iter().fold(Sums::default(), |sum, run| Sums {
        preconditioned: sum.preconditioned + run.preconditioned,
        residual: sum.residual + run.residual,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain of nodes, each connected to the next and, with stiffness `hold`, to its rest position.
    fn chain(rows: usize, hold: f32) -> SymmetricBlocks {
        let mut matrix = SymmetricBlocks::new(rows, rows, (0..rows as u32 - 1).map(|i| (i, i + 1)).collect());
        let stiff = Mat3A::from_cols_array(&[2.0, 0.5, 0.0, 0.5, 1.0, 0.1, 0.0, 0.1, 3.0]);
        matrix.upper.fill(stiff * -1.0);
        matrix.set_diagonal(|_| Mat3A::IDENTITY * hold);
        matrix
    }

    fn solve(matrix: &SymmetricBlocks, b: &[Vec3A], tolerance: f64) -> (Vec<Vec3A>, PcgReport) {
        let mut inverses = vec![Mat3A::ZERO; b.len()];
        invert_blocks(&matrix.diagonal, &mut inverses);
        let (mut x, mut r) = (vec![Vec3A::ZERO; b.len()], b.to_vec());
        let norm = b.iter().map(|b| f64::from(b.length_squared())).sum::<f64>().sqrt();
        let report = pcg(matrix, &inverses, &mut x, &mut r, tolerance * norm, 500, &mut PcgWorkspace::default());
        (x, report)
    }

    #[test]
    fn solves_to_the_requested_residual() {
        let matrix = chain(1500, 0.3);
        let b: Vec<Vec3A> = (0..1500).map(|k| Vec3A::new((k as f32).sin(), 1.0, (k as f32 * 0.1).cos())).collect();
        let (x, report) = solve(&matrix, &b, 1e-5);
        assert!(report.converged, "{report:?}");
        let (mut product, mut dots) = (vec![Vec3A::ZERO; 1500], vec![0.0; 1500_usize.div_ceil(ROWS_PER_TASK)]);
        matrix.multiply(&x, &mut product, &mut dots);
        let error: f32 = b.iter().zip(&product).map(|(b, p)| b.distance_squared(*p)).sum();
        let size: f32 = b.iter().map(|b| b.length_squared()).sum();
        assert!((error / size).sqrt() < 2e-5);
    }

    #[test]
    fn keeps_an_initial_guess_that_meets_the_target() {
        let (x, report) = solve(&chain(5, 1.0), &[Vec3A::ZERO; 5], 1e-5);
        assert_eq!((x, report.iterations, report.converged), (vec![Vec3A::ZERO; 5], 0, true));
    }

    #[test]
    fn stops_without_nan_if_the_matrix_is_indefinite() {
        let matrix = chain(50, -5.0);
        let (x, _) = solve(&matrix, &[Vec3A::ONE; 50], 1e-6);
        assert!(x.iter().all(|x| x.is_finite()));
    }

    #[test]
    fn solutions_are_bitwise_identical_for_any_number_of_threads() {
        let matrix = chain(2000, 0.1);
        let b: Vec<Vec3A> = (0..2000).map(|k| Vec3A::splat((k as f32 * 0.7).sin())).collect();
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| solve(&matrix, &b, 1e-6))
        };
        assert_eq!(on(1), on(2));
    }
}
