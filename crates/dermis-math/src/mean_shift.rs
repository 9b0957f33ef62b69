//! Mean shift in high dimensions: every point climbs the density of all points to its mode.
//!
//! Fixed bandwidth h, L1 distance, kernel falling linearly to 0 at h: `y ← Σ_j k(‖y − z_j‖₁) z_j / Σ_j k(…)` with
//! `k(d) = max(0, 1 − d/h)` (Comaniciu & Meer 2002; SMA, §4.2 and Eq. 4). Used for rotation sequences, where the
//! dimension is in the hundreds and neighbours are many, so that trees and hashing prune little.
//!
//! Cost is cut in three ways that keep the result to tolerance, and no point is left out:
//! - points closer than a small radius are one *representative*, with their mean and their number;
//! - a *sketch* of sums over runs of coordinates that vary alike (one matrix entry over eight frames) bounds a distance
//!   from below, `|Σ(a − b)| ≤ Σ|a − b|`, and turns most pairs away at a fraction of the cost;
//! - a climb that comes near a representative in a denser place hands over to it and ends where that one ends. Density
//!   only grows along the chain, so it has an end, which is climbed to the last step.
//!
//! Climbs do not see each other: the result does not depend on the number of threads. On the horse of the paper (16,843
//! points, dimension 432; two busy cores) this takes 1.2 s. Tried before: all pairs 95 s; representatives in balls
//! with climbs that end at modes found before 17 s; PCA with a range search gains nothing: in L2 every rotation sequence
//! lies within h of every other.

use std::ops::ControlFlow;

use multiversion::multiversion;
use rayon::prelude::*;

use crate::progress::Progress;

/// Points within this share of h of a representative are counted with it.
const REPRESENTATIVE_RADIUS: f64 = 0.02;
/// Where points are so scattered that representatives are more, the radius is doubled: climbs cost the square.
const MOST_REPRESENTATIVES: usize = 4096;
/// The radius is not doubled beyond this share of h.
const LARGEST_RADIUS: f64 = 0.16;
/// A climb hands over to a representative within this share of h, if the density there is larger.
const HANDOVER: f64 = 0.2;
/// A step shorter than this share of h ends a climb.
const STANDSTILL: f64 = 1e-3;
/// Climbs that end within this share of h of each other have found the same mode.
const SAME_MODE: f64 = 0.25;
/// A sketch sums runs of like coordinates, at least so long …
const SHORTEST_RUN: usize = 8;
/// … and at most so many of them.
const MOST_RUNS: usize = 6;
/// Sums of rounded numbers may exceed what they bound by their rounding.
const ROUNDED_UP: f32 = 1.0001;
/// Bound on the steps of one climb; the density grows with each, so it is reached only on plateaus.
const MOST_STEPS: usize = 200;

/// Where the points went.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MeanShift {
    /// The modes, most populated first, one after another.
    pub modes: Vec<f32>,
    /// How many points each mode has drawn.
    pub populations: Vec<usize>,
    /// The mode of each point.
    pub mode_of: Vec<u32>,
    /// How far from that mode, in L1, the point's own climb ended.
    pub distance_to_mode: Vec<f32>,
    /// Whether the observer stopped the work; the result is then empty.
    pub stopped: bool,
}

/// Shifts every one of `points` (`dimension` numbers each) to its mode. Coordinates that are `period` apart vary alike,
/// as successive frames do; the result does not depend on it, only the time.
///
/// # Panics
/// If `points` is not made of whole points or `bandwidth` or `period` is not positive.
pub fn mean_shift(
    points: &[f32],
    dimension: usize,
    period: usize,
    bandwidth: f64,
    progress: &dyn Progress,
) -> MeanShift {
    assert!(dimension > 0 && points.len().is_multiple_of(dimension), "points have `dimension` numbers each");
    assert!(bandwidth > 0.0 && period > 0, "the bandwidth and the period are positive");
    let h = bandwidth as f32;
    let space = Space { dimension, period, h };
    let (cells, cell_of) = representatives(&space, points);
    let Some(ends) = climb_all(&space, &cells, progress) else {
        return MeanShift { stopped: true, ..MeanShift::default() };
    };
    collect(&cell_of, &merge_modes(&space, &cells, &ends))
}

/// What distances are measured in.
struct Space {
    dimension: usize,
    period: usize,
    h: f32,
}

impl Space {
    /// Sums over runs of like coordinates.
    fn sketch(&self, at: &[f32]) -> Vec<f32> {
        let like = self.dimension.div_ceil(self.period);
        let run = self.period * like.div_ceil(MOST_RUNS).max(SHORTEST_RUN);
        at.chunks(run).flat_map(|run| sums_of_like(run, self.period)).collect()
    }
}

fn sums_of_like(numbers: &[f32], period: usize) -> Vec<f32> {
    let mut sums = vec![0.0; period];
    for like in numbers.chunks(period) {
        for (sum, x) in sums.iter_mut().zip(like) {
            *sum += x;
        }
    }
    sums
}

/// Bounds on the distances to many points: the sums of each sketch, coordinate by coordinate, so that all are compared
/// in one pass, and the sketches themselves for those that pass.
#[derive(Debug, Default)]
struct Bounds {
    sums: Vec<Vec<f32>>,
    sketches: Vec<Vec<f32>>,
    period: usize,
}

impl Bounds {
    fn push(&mut self, sketch: &[f32], period: usize) {
        self.period = period;
        self.sums.resize(period, Vec::new());
        for (coordinate, sum) in self.sums.iter_mut().zip(sums_of_like(sketch, period)) {
            coordinate.push(sum);
        }
        self.sketches.push(sketch.to_vec());
    }

    /// The points from `first` on that may be closer than `limit` to one with this sketch.
    fn candidates<'a>(&'a self, sketch: &'a [f32], first: usize, limit: f32) -> impl Iterator<Item = usize> + 'a {
        let mut bounds = vec![0.0; self.sketches.len() - first];
        let sums = if self.period > 0 { sums_of_like(sketch, self.period) } else { Vec::new() };
        for (coordinate, sum) in self.sums.iter().zip(sums) {
            add_distances(&mut bounds, &coordinate[first..], sum);
        }
        let limit = ROUNDED_UP * limit;
        let passed = bounds.into_iter().enumerate().filter(move |&(_, bound)| bound <= limit);
        passed.map(move |(k, _)| first + k).filter(move |&k| l1(&self.sketches[k], sketch) <= limit)
    }
}

/// The means of points that lie together.
#[derive(Debug, Default)]
struct Cells {
    means: Vec<Vec<f32>>,
    bounds: Bounds,
    counts: Vec<f32>,
}

/// The representatives, and which of them each point belongs to.
fn representatives(space: &Space, points: &[f32]) -> (Cells, Vec<u32>) {
    let points: Vec<&[f32]> = points.chunks_exact(space.dimension).collect();
    let sketches: Vec<Vec<f32>> = points.par_iter().map(|at| space.sketch(at)).collect();
    let mut radius = REPRESENTATIVE_RADIUS as f32 * space.h;
    loop {
        let last = 2.0 * radius > LARGEST_RADIUS as f32 * space.h;
        let most = if last { usize::MAX } else { MOST_REPRESENTATIVES };
        if let Some(cell_of) = cover(space, &points, &sketches, radius, most) {
            return (means(space, &points, &cell_of), cell_of);
        }
        radius *= 2.0;
    }
}

/// Which leader each point follows: the first within `radius`, or itself. `None` if there are more than `most` leaders.
fn cover(space: &Space, points: &[&[f32]], sketches: &[Vec<f32>], radius: f32, most: usize) -> Option<Vec<u32>> {
    const WAVE: usize = 1024;
    let mut leaders: Vec<usize> = Vec::new();
    let mut of_leaders = Bounds::default();
    let mut cell_of = Vec::with_capacity(points.len());
    let near = |point: usize, of_leaders: &Bounds, leaders: &[usize], first: usize| {
        let mut candidates = of_leaders.candidates(&sketches[point], first, radius);
        candidates.find(|&leader| distance_within(points[leaders[leader]], points[point], radius).is_some())
    };
    for wave in (0..points.len()).step_by(WAVE) {
        let wave = wave..(wave + WAVE).min(points.len());
        // Against the leaders that exist, in parallel; then the others among themselves, in order.
        let found: Vec<Option<usize>> =
            wave.clone().into_par_iter().map(|point| near(point, &of_leaders, &leaders, 0)).collect();
        let known = leaders.len();
        for (point, found) in wave.zip(found) {
            let cell = found.or_else(|| near(point, &of_leaders, &leaders, known));
            cell_of.push(cell.unwrap_or_else(|| {
                leaders.push(point);
                of_leaders.push(&sketches[point], space.period);
                leaders.len() - 1
            }) as u32);
        }
        if leaders.len() > most {
            return None;
        }
    }
    Some(cell_of)
}

fn means(space: &Space, points: &[&[f32]], cell_of: &[u32]) -> Cells {
    let count = cell_of.iter().max().map_or(0, |&most| most as usize + 1);
    let mut means = vec![vec![0.0; space.dimension]; count];
    let mut counts = vec![0.0; count];
    for (point, &cell) in points.iter().zip(cell_of) {
        add_scaled(&mut means[cell as usize], point, 1.0);
        counts[cell as usize] += 1.0;
    }
    let mut bounds = Bounds::default();
    for (mean, count) in means.iter_mut().zip(&counts) {
        for x in mean.iter_mut() {
            *x /= count;
        }
        bounds.push(&space.sketch(mean), space.period);
    }
    Cells { means, bounds, counts }
}

/// Where a climb ended.
#[derive(Debug, Clone)]
enum End {
    /// At a mode.
    Mode(Vec<f32>),
    /// Where the climb of this representative ends.
    With(usize),
}

/// Where the climb of each representative ends.
fn climb_all(space: &Space, cells: &Cells, progress: &dyn Progress) -> Option<Vec<End>> {
    const BATCH: usize = 512;
    let count = cells.means.len();
    let every: Vec<usize> = (0..count).collect();
    let mut first_steps: Vec<Step> = Vec::with_capacity(count);
    for batch in every.chunks(BATCH) {
        first_steps.par_extend(batch.par_iter().map(|&start| step(space, cells, &cells.means[start])));
        if progress.report("measuring density", first_steps.len(), count) == ControlFlow::Break(()) {
            return None;
        }
    }
    let mut ends = Vec::with_capacity(count);
    for batch in every.chunks(BATCH) {
        ends.par_extend(batch.par_iter().map(|&start| climb(space, cells, &first_steps, start)));
        if progress.report("finding bones", ends.len(), count) == ControlFlow::Break(()) {
            return None;
        }
    }
    Some(ends)
}

fn climb(space: &Space, cells: &Cells, first_steps: &[Step], start: usize) -> End {
    // Equal densities: the lower number counts as denser, so that no two hand over to each other.
    let rank = |cell: usize| (first_steps[cell].density, std::cmp::Reverse(cell));
    let denser = |near: &[(f32, usize)]| near.iter().map(|&(_, other)| other).find(|&other| rank(other) > rank(start));
    let first = &first_steps[start];
    if let Some(other) = denser(&first.near) {
        return End::With(other);
    }
    let mut at = first.next.clone();
    for _ in 0..MOST_STEPS {
        let Step { next, near, .. } = step(space, cells, &at);
        if let Some(other) = denser(&near) {
            return End::With(other);
        }
        let length = l1(&next, &at);
        at = next;
        if length < STANDSTILL as f32 * space.h {
            break;
        }
    }
    End::Mode(at)
}

/// One step of mean shift.
struct Step {
    /// The sum of k over all points.
    density: f32,
    next: Vec<f32>,
    /// The representatives within reach of a handover, nearest first.
    near: Vec<(f32, usize)>,
}

fn step(space: &Space, cells: &Cells, at: &[f32]) -> Step {
    let sketch = space.sketch(at);
    let reach = HANDOVER as f32 * space.h;
    let mut next = vec![0.0; space.dimension];
    let mut density = 0.0;
    let mut near = Vec::new();
    for cell in cells.bounds.candidates(&sketch, 0, space.h) {
        let (mean, count) = (&cells.means[cell], cells.counts[cell]);
        if let Some(distance) = distance_within(mean, at, space.h) {
            let weight = count * (1.0 - distance / space.h);
            add_scaled(&mut next, mean, weight);
            density += weight;
            if distance < reach {
                near.push((distance, cell));
            }
        }
    }
    near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    if density <= 0.0 {
        return Step { density, next: at.to_vec(), near };
    }
    for x in &mut next {
        *x /= density;
    }
    Step { density, next, near }
}

/// Modes, how many points each has drawn, and for each representative its mode and how far from it its climb ended.
struct Modes {
    places: Vec<Vec<f32>>,
    of_cell: Vec<(usize, f32)>,
}

/// Ends that lie together are one mode, at the end that most points reached.
fn merge_modes(space: &Space, cells: &Cells, ends: &[End]) -> Modes {
    let final_of: Vec<usize> = (0..ends.len()).map(|cell| follow(ends, cell)).collect();
    let mut drawn = vec![0.0f32; ends.len()];
    for (&end, count) in final_of.iter().zip(&cells.counts) {
        drawn[end] += count;
    }
    let mut order: Vec<(usize, &Vec<f32>)> = Vec::new();
    order.extend(ends.iter().enumerate().filter_map(|(cell, end)| match end {
        End::Mode(place) => Some((cell, place)),
        End::With(_) => None,
    }));
    order.sort_by(|a, b| drawn[b.0].total_cmp(&drawn[a.0]).then(a.0.cmp(&b.0)));
    let mut modes: Vec<&Vec<f32>> = Vec::new();
    let mut mode_of_end = vec![(0usize, 0.0f32); ends.len()];
    for (cell, place) in order {
        let near = modes.iter().enumerate().find_map(|(k, mode)| {
            distance_within(mode, place, SAME_MODE as f32 * space.h).map(|distance| (k, distance))
        });
        mode_of_end[cell] = near.unwrap_or_else(|| {
            modes.push(place);
            (modes.len() - 1, 0.0)
        });
    }
    Modes {
        places: modes.into_iter().cloned().collect(),
        of_cell: final_of.into_iter().map(|end| mode_of_end[end]).collect(),
    }
}

/// The representative whose climb reached the mode that this one's chain leads to.
fn follow(ends: &[End], mut cell: usize) -> usize {
    while let End::With(other) = ends[cell] {
        cell = other;
    }
    cell
}

/// Modes by falling population, and what became of each point.
fn collect(cell_of: &[u32], modes: &Modes) -> MeanShift {
    let end_of = |&cell: &u32| modes.of_cell[cell as usize];
    let mut populations = vec![0usize; modes.places.len()];
    for cell in cell_of {
        populations[end_of(cell).0] += 1;
    }
    let mut order: Vec<usize> = (0..modes.places.len()).collect();
    order.sort_by(|&a, &b| populations[b].cmp(&populations[a]).then(a.cmp(&b)));
    let mut rank = vec![0u32; order.len()];
    for (place, &mode) in order.iter().enumerate() {
        rank[mode] = place as u32;
    }
    MeanShift {
        modes: order.iter().flat_map(|&mode| modes.places[mode].iter().copied()).collect(),
        populations: order.iter().map(|&mode| populations[mode]).collect(),
        mode_of: cell_of.iter().map(|cell| rank[end_of(cell).0]).collect(),
        distance_to_mode: cell_of.iter().map(|cell| end_of(cell).1).collect(),
        stopped: false,
    }
}

/// ‖a − b‖₁ if it is below `limit`; gives up early where it is not.
fn distance_within(a: &[f32], b: &[f32], limit: f32) -> Option<f32> {
    const STRIDE: usize = 128;
    let mut sum = 0.0;
    for (a, b) in a.chunks(STRIDE).zip(b.chunks(STRIDE)) {
        sum += l1(a, b);
        if sum >= limit {
            return None;
        }
    }
    Some(sum)
}

#[multiversion(targets = "simd")]
fn l1(a: &[f32], b: &[f32]) -> f32 {
    const LANES: usize = 16;
    let mut sums = [0.0f32; LANES];
    let (blocks_a, rest_a) = a.as_chunks::<LANES>();
    let (blocks_b, rest_b) = b.as_chunks::<LANES>();
    for (a, b) in blocks_a.iter().zip(blocks_b) {
        for lane in 0..LANES {
            sums[lane] += (a[lane] - b[lane]).abs();
        }
    }
    sums.iter().sum::<f32>() + rest_a.iter().zip(rest_b).map(|(a, b)| (a - b).abs()).sum::<f32>()
}

#[multiversion(targets = "simd")]
fn add_distances(sums: &mut [f32], numbers: &[f32], from: f32) {
    for (sum, number) in sums.iter_mut().zip(numbers) {
        *sum += (number - from).abs();
    }
}

#[multiversion(targets = "simd")]
fn add_scaled(sum: &mut [f32], x: &[f32], factor: f32) {
    for (sum, x) in sum.iter_mut().zip(x) {
        *sum += factor * x;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;

    /// Points around two corners of a cube in 30 dimensions, and one far away from both.
    fn two_clouds() -> (Vec<f32>, usize) {
        const DIMENSION: usize = 30;
        let mut state = 1u32;
        let mut noise = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32 - 0.5
        };
        let mut points = Vec::new();
        for index in 0..300 {
            let corner = if index % 3 == 0 { 0.0 } else { 1.0 };
            points.extend((0..DIMENSION).map(|_| corner + 0.1 * noise()));
        }
        points.extend([9.0; DIMENSION]);
        (points, DIMENSION)
    }

    #[test]
    fn finds_the_modes_of_two_clouds_and_leaves_the_outlier_alone() {
        let (points, dimension) = two_clouds();
        let result = mean_shift(&points, dimension, 3, 6.0, &Silent);
        assert_eq!(result.populations, [200, 100, 1]);
        assert!(result.modes[..dimension].iter().all(|x| (x - 1.0).abs() < 0.02));
        assert!((0..300).all(|index| result.mode_of[index] == u32::from(index % 3 == 0)));
        assert_eq!(result.mode_of[300], 2);
    }

    #[test]
    fn does_not_depend_on_the_number_of_threads() {
        let (points, dimension) = two_clouds();
        let in_pool = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| mean_shift(&points, dimension, 3, 6.0, &Silent))
        };
        assert_eq!(in_pool(1), in_pool(3));
    }

    #[test]
    fn matches_plain_mean_shift_over_all_points() {
        let (points, dimension) = two_clouds();
        let h = 6.0;
        let result = mean_shift(&points, dimension, 3, h, &Silent);
        let mut at = points[..dimension].to_vec();
        for _ in 0..100 {
            let mut sum = vec![0.0f64; dimension];
            let mut total = 0.0;
            for z in points.chunks_exact(dimension) {
                let distance: f64 = z.iter().zip(&at).map(|(a, b)| f64::from((a - b).abs())).sum();
                let weight = (1.0 - distance / h).max(0.0);
                total += weight;
                sum.iter_mut().zip(z).for_each(|(s, z)| *s += weight * f64::from(*z));
            }
            at = sum.iter().map(|s| (s / total) as f32).collect();
        }
        let mode = &result.modes[result.mode_of[0] as usize * dimension..][..dimension];
        let distance: f32 = mode.iter().zip(&at).map(|(a, b)| (a - b).abs()).sum();
        // The radius of a representative bounds how far a mode may move.
        assert!(f64::from(distance) < REPRESENTATIVE_RADIUS * h, "{distance}");
    }
}
