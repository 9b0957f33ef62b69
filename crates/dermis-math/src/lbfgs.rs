//! L-BFGS with bounds: `min f(x)` subject to `low ≤ x ≤ high`, for functions that return value and gradient together.
//!
//! Two-loop recursion (Nocedal & Wright 2006, Algorithm 7.4) on the variables that are not held at a bound, and a
//! backtracking search along the projected direction (Bertsekas 1982). A variable is held if it is at a bound and its
//! derivative points outwards; curvature pairs with `sᵀy ≤ 0` are discarded.
//!
//! The state after each iteration is plain data. A minimization that is stored and restored continues with bitwise
//! identical results.

/// Number of curvature pairs.
const MEMORY: usize = 8;
/// Required decrease relative to that of the linear model (Armijo).
const SUFFICIENT_DECREASE: f64 = 1e-4;
/// Maximum number of evaluations per line search.
const MAX_SEARCHES: usize = 12;
/// Factor by which a rejected step is shortened.
const SHRINK: f64 = 0.4;

/// Function that returns the value and the gradient at the given variables.
pub type Evaluate<'a> = dyn FnMut(&[f64]) -> (f64, Vec<f64>) + 'a;

/// State of a minimization.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Lbfgs {
    /// Current variables.
    pub x: Vec<f64>,
    /// Value at `x`.
    pub value: f64,
    /// Gradient at `x`.
    pub gradient: Vec<f64>,
    /// Number of iterations.
    pub iterations: usize,
    /// Number of evaluations.
    pub evaluations: usize,
    /// Steps s, newest last.
    pub steps: Vec<Vec<f64>>,
    /// Changes y of the gradient, newest last.
    pub changes: Vec<Vec<f64>>,
}

/// Bounds of the variables.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounds {
    /// Lower bounds.
    pub low: Vec<f64>,
    /// Upper bounds.
    pub high: Vec<f64>,
}

impl Bounds {
    /// Moves `x` into the bounds.
    pub fn project(&self, x: &mut [f64]) {
        for ((x, low), high) in x.iter_mut().zip(&self.low).zip(&self.high) {
            *x = x.clamp(*low, *high);
        }
    }
}

impl Lbfgs {
    /// Evaluates the start `x`, moved into the bounds.
    ///
    /// # Panics
    /// If the numbers of variables and bounds differ.
    pub fn start(mut x: Vec<f64>, bounds: &Bounds, evaluate: &mut Evaluate<'_>) -> Self {
        assert!(x.len() == bounds.low.len() && x.len() == bounds.high.len(), "each variable must have two bounds");
        bounds.project(&mut x);
        let (value, gradient) = evaluate(&x);
        Self { x, value, gradient, evaluations: 1, ..Self::default() }
    }

    /// Performs one iteration whose first trial step is at most `max_step` per variable. Returns false if no step
    /// decreases the value.
    pub fn iterate(&mut self, bounds: &Bounds, max_step: f64, evaluate: &mut Evaluate<'_>) -> bool {
        for _ in 0..2 {
            let held = self.held(bounds);
            let mut direction = self.direction(&held);
            let longest = direction.iter().fold(0.0f64, |longest, d| longest.max(d.abs()));
            if longest == 0.0 || !longest.is_finite() {
                return false;
            }
            let scale = if self.steps.is_empty() { max_step / longest } else { (max_step / longest).min(1.0) };
            for d in &mut direction {
                *d *= scale;
            }
            if self.search(bounds, &direction, evaluate) {
                self.iterations += 1;
                return true;
            }
            if self.steps.is_empty() {
                return false;
            }
            // The curvature pairs do not give a descent step: the second attempt is steepest descent.
            self.steps.clear();
            self.changes.clear();
        }
        false
    }

    fn held(&self, bounds: &Bounds) -> Vec<bool> {
        let at = |k: usize| {
            (self.x[k] <= bounds.low[k] && self.gradient[k] > 0.0)
                || (self.x[k] >= bounds.high[k] && self.gradient[k] < 0.0)
        };
        (0..self.x.len()).map(at).collect()
    }

    /// −H g on the variables that are not held.
    fn direction(&self, held: &[bool]) -> Vec<f64> {
        let masked =
            |v: &[f64]| -> Vec<f64> { v.iter().zip(held).map(|(v, held)| if *held { 0.0 } else { *v }).collect() };
        let mut q = masked(&self.gradient);
        let pairs: Vec<(Vec<f64>, Vec<f64>)> =
            self.steps.iter().zip(&self.changes).map(|(s, y)| (masked(s), masked(y))).collect();
        let usable: Vec<_> =
            pairs.iter().filter(|(s, y)| dot(s, y) > 1e-14 * dot(y, y).max(f64::MIN_POSITIVE)).collect();
        let mut factors = Vec::with_capacity(usable.len());
        for (s, y) in usable.iter().rev() {
            let alpha = dot(s, &q) / dot(s, y);
            q.iter_mut().zip(y).for_each(|(q, y)| *q -= alpha * y);
            factors.push(alpha);
        }
        if let Some((s, y)) = usable.last() {
            let scale = dot(s, y) / dot(y, y);
            for q in &mut q {
                *q *= scale;
            }
        }
        for ((s, y), alpha) in usable.iter().zip(factors.iter().rev()) {
            let beta = dot(y, &q) / dot(s, y);
            q.iter_mut().zip(s).for_each(|(q, s)| *q += (alpha - beta) * s);
        }
        q.iter().map(|q| -q).collect()
    }

    fn search(&mut self, bounds: &Bounds, direction: &[f64], evaluate: &mut Evaluate<'_>) -> bool {
        let mut length = 1.0;
        for _ in 0..MAX_SEARCHES {
            let mut x: Vec<f64> = self.x.iter().zip(direction).map(|(x, d)| x + length * d).collect();
            bounds.project(&mut x);
            let step: Vec<f64> = x.iter().zip(&self.x).map(|(new, old)| new - old).collect();
            let slope = dot(&step, &self.gradient);
            if slope >= 0.0 {
                return false;
            }
            let (value, gradient) = evaluate(&x);
            self.evaluations += 1;
            if value.is_finite() && value <= self.value + SUFFICIENT_DECREASE * slope {
                let change = gradient.iter().zip(&self.gradient).map(|(new, old)| new - old).collect();
                self.steps.push(step);
                self.changes.push(change);
                if self.steps.len() > MEMORY {
                    self.steps.remove(0);
                    self.changes.remove(0);
                }
                (self.x, self.value, self.gradient) = (x, value, gradient);
                return true;
            }
            length *= SHRINK;
        }
        false
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rosenbrock's function in pairs of variables.
    fn rosenbrock(x: &[f64]) -> (f64, Vec<f64>) {
        let (mut value, mut gradient) = (0.0, vec![0.0; x.len()]);
        for k in (0..x.len()).step_by(2) {
            let (a, b) = (x[k + 1] - x[k] * x[k], 1.0 - x[k]);
            value += 100.0 * a * a + b * b;
            gradient[k] = -400.0 * x[k] * a - 2.0 * b;
            gradient[k + 1] = 200.0 * a;
        }
        (value, gradient)
    }

    fn minimized(bounds: &Bounds, start: Vec<f64>) -> Lbfgs {
        let mut state = Lbfgs::start(start, bounds, &mut rosenbrock);
        while state.iterations < 200 && state.iterate(bounds, 1.0, &mut rosenbrock) {}
        state
    }

    fn wide(count: usize) -> Bounds {
        Bounds { low: vec![-10.0; count], high: vec![10.0; count] }
    }

    #[test]
    fn finds_the_minimum_of_a_curved_valley() {
        let found = minimized(&wide(6), vec![-1.2, 1.0, 0.0, 3.0, 2.0, -1.0]);
        assert!(found.x.iter().all(|x| (x - 1.0).abs() < 1e-5), "{found:?}");
    }

    #[test]
    fn stays_within_bounds_and_finds_the_constrained_minimum() {
        let bounds = Bounds { low: vec![-2.0, -2.0], high: vec![0.5, 2.0] };
        let found = minimized(&bounds, vec![-1.0, 2.0]);
        assert!((found.x[0] - 0.5).abs() < 1e-9 && (found.x[1] - 0.25).abs() < 1e-5, "{found:?}");
    }

    #[test]
    fn continues_from_a_stored_state_with_the_same_bits() {
        let bounds = wide(2);
        let whole = minimized(&bounds, vec![-1.2, 1.0]);
        let mut state = Lbfgs::start(vec![-1.2, 1.0], &bounds, &mut rosenbrock);
        for _ in 0..5 {
            state.iterate(&bounds, 1.0, &mut rosenbrock);
        }
        let mut restored = state.clone();
        while restored.iterations < 200 && restored.iterate(&bounds, 1.0, &mut rosenbrock) {}
        assert_eq!(restored, whole);
    }

    #[test]
    fn stops_at_a_value_that_is_not_finite() {
        let bounds = wide(1);
        let mut evaluate = |x: &[f64]| if x[0] > 0.0 { (f64::NAN, vec![-1.0]) } else { (-x[0], vec![-1.0]) };
        let mut state = Lbfgs::start(vec![0.0], &bounds, &mut evaluate);
        assert!(!state.iterate(&bounds, 1.0, &mut evaluate));
        assert_eq!(state.x, [0.0]);
    }
}
