//! Delaunay tetrahedra of points by incremental insertion (Bowyer 1981, Watson 1981).
//!
//! The cavity of a point is the set of tetrahedra whose circumsphere contains it *strictly*, by exact predicates. The
//! powers of the spheres increase along any ray from the point, so that the cavity is star-shaped and none of its faces
//! is coplanar with the point, even for cospherical points. Degenerate inputs therefore need no perturbation; ties are
//! resolved in favour of existing tetrahedra. Points are inserted in rounds of doubling size, each along a Hilbert
//! curve (Amenta et al. 2003), which keeps walks short and cavities small for any input order. Cost: O(n log n) in
//! practice.

use glam::DVec3;

use super::complex::{Complex, NONE};
use super::predicates::{in_sphere, orient};

/// Distance of the corners of the enclosing tetrahedron, in sizes of the bounding box.
const ENCLOSING_DISTANCE: f64 = 64.0;
/// Number of points in the first round.
const FIRST_ROUND: usize = 64;
/// Bits per coordinate of the Hilbert curve.
const HILBERT_BITS: u32 = 16;

/// Delaunay tetrahedra of `points` and the four corners of an enclosing tetrahedron, which are the last points.
///
/// Of several coincident points, only one gets tetrahedra. Points marked in `skipped` get none; the slice can be
/// shorter than `points`.
pub(super) fn delaunay(points: &[DVec3], skipped: &[bool]) -> Complex {
    let (low, high) = points.iter().fold((DVec3::MAX, DVec3::MIN), |(l, h), &p| (l.min(p), h.max(p)));
    let (center, size) =
        if points.is_empty() { (DVec3::ZERO, 1.0) } else { ((low + high) / 2.0, (high - low).max_element()) };
    let far = ENCLOSING_DISTANCE * if size > 0.0 { size } else { 1.0 };
    let n = points.len() as u32;
    let mut all = points.to_vec();
    for corner in [DVec3::ONE, DVec3::new(-1.0, -1.0, 1.0), DVec3::new(-1.0, 1.0, -1.0), DVec3::new(1.0, -1.0, -1.0)] {
        all.push(center + corner * far);
    }
    let first = [n, n + 1, n + 2, n + 3];
    let first = if orient(all[points.len()], all[points.len() + 1], all[points.len() + 2], all[points.len() + 3]) > 0.0
    {
        first
    } else {
        [n + 1, n, n + 2, n + 3]
    };
    let mut complex = Complex::new(all, &[first]);
    let mut at = 0;
    let is_kept = |point: &u32| skipped.get(*point as usize) != Some(&true);
    for point in insertion_order(points, low, size).into_iter().filter(is_kept) {
        at = insert(&mut complex, point, at);
    }
    complex
}

/// Order of insertion: random rounds of doubling size, each along a Hilbert curve.
fn insertion_order(points: &[DVec3], low: DVec3, size: f64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..points.len() as u32).collect();
    order.sort_by_key(|&point| (scramble(u64::from(point)), point));
    let cells = f64::from((1u32 << HILBERT_BITS) - 1);
    let scale = if size > 0.0 { cells / size } else { 0.0 };
    let curve_index = |point: u32| hilbert(((points[point as usize] - low) * scale).to_array().map(|x| x as u32));
    let (mut start, mut end) = (0, FIRST_ROUND);
    while start < order.len() {
        let stop = end.min(order.len());
        order[start..stop].sort_by_cached_key(|&point| (curve_index(point), point));
        (start, end) = (stop, 2 * end);
    }
    order
}

/// Pseudorandom hash of a number (the finalizer of `SplitMix64`).
pub(super) fn scramble(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Index of a cell along the Hilbert curve (Skilling 2004: transposed axes by Gray code).
fn hilbert(mut x: [u32; 3]) -> u64 {
    let top = 1u32 << (HILBERT_BITS - 1);
    let mut q = top;
    while q > 1 {
        let p = q - 1;
        for i in 0..3 {
            if x[i] & q != 0 {
                x[0] ^= p;
            } else {
                let t = (x[0] ^ x[i]) & p;
                x[0] ^= t;
                x[i] ^= t;
            }
        }
        q >>= 1;
    }
    x[1] ^= x[0];
    x[2] ^= x[1];
    let mut t = 0;
    q = top;
    while q > 1 {
        if x[2] & q != 0 {
            t ^= q - 1;
        }
        q >>= 1;
    }
    let mut index = 0;
    for bit in (0..HILBERT_BITS).rev() {
        for axis in x {
            index = (index << 1) | u64::from(((axis ^ t) >> bit) & 1);
        }
    }
    index
}

/// Inserts a point of the complex, located by a walk from the tetrahedron `from`, and returns one of its tetrahedra.
fn insert(complex: &mut Complex, point: u32, from: u32) -> u32 {
    let position = complex.point(point);
    let Some(containing) = locate(complex, position, from) else {
        return from;
    };
    if complex.tet(containing).iter().any(|&corner| complex.point(corner) == position) {
        return containing;
    }
    let (cavity, new) = cavity(complex, containing, point);
    complex.replace(&cavity, &new)[0]
}

/// Tetrahedra whose circumsphere strictly contains `point`, and the tetrahedra around `point` that replace them.
fn cavity(complex: &mut Complex, containing: u32, point: u32) -> (Vec<u32>, Vec<[u32; 4]>) {
    let position = complex.point(point);
    complex.clear_marks();
    complex.set_mark(containing);
    let (mut cavity, mut new) = (vec![containing], Vec::new());
    let mut next = 0;
    while let Some(&tet) = cavity.get(next) {
        next += 1;
        for slot in 0..4 {
            let neighbour = complex.neighbour(tet, slot);
            if neighbour != NONE && complex.is_marked(neighbour) {
                continue;
            }
            if neighbour != NONE && conflicts(complex, neighbour, position) {
                complex.set_mark(neighbour);
                cavity.push(neighbour);
            } else {
                let [a, b, c] = complex.face(tet, slot);
                new.push([a, b, c, point]);
            }
        }
    }
    (cavity, new)
}

pub(super) fn conflicts(complex: &Complex, tet: u32, position: DVec3) -> bool {
    let [a, b, c, d] = complex.tet(tet).map(|corner| complex.point(corner));
    in_sphere(a, b, c, d, position) > 0.0
}

/// Tetrahedron that contains `position`, including its faces, found by a walk from `from`; `None` if there is none.
///
/// The walk crosses any face that separates it from `position`. In a Delaunay complex it cannot cycle if the order of
/// faces is randomized; for other complexes an exhaustive search is the fallback.
pub(super) fn locate(complex: &Complex, position: DVec3, from: u32) -> Option<u32> {
    let mut tet = from;
    let mut came_from = NONE;
    if !complex.is_alive(tet) {
        tet = complex.alive().next()?;
    }
    for step in 0..complex.tets.len() + 8 {
        let first = scramble(step as u64) as usize;
        let exit = (0..4).map(|k| (k + first) % 4).find(|&slot| {
            let neighbour = complex.neighbour(tet, slot);
            (neighbour == NONE || neighbour != came_from) && !sees(complex, tet, slot, position)
        });
        match exit {
            None => return Some(tet),
            Some(slot) if complex.neighbour(tet, slot) == NONE => break,
            Some(slot) => (came_from, tet) = (tet, complex.neighbour(tet, slot)),
        }
    }
    complex.alive().find(|&tet| (0..4).all(|slot| sees(complex, tet, slot, position)))
}

/// Returns true if `position` is on the same side of a face as its tetrahedron, or in the plane of the face.
pub(super) fn sees(complex: &Complex, tet: u32, slot: usize, position: DVec3) -> bool {
    let [a, b, c] = complex.face(tet, slot).map(|corner| complex.point(corner));
    orient(a, b, c, position) >= 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random_points(count: u64) -> Vec<DVec3> {
        let number = |k: u64| (scramble(k) >> 11) as f64 / (1u64 << 53) as f64;
        (0..count).map(|k| DVec3::new(number(3 * k), number(3 * k + 1), number(3 * k + 2))).collect()
    }

    fn grid_points(side: usize) -> Vec<DVec3> {
        (0..side * side * side)
            .map(|k| DVec3::new((k % side) as f64, (k / side % side) as f64, (k / side / side) as f64))
            .collect()
    }

    fn check(complex: &Complex, points: usize) {
        let mut volume = 0.0;
        for tet in complex.alive() {
            assert!(complex.orient(complex.tet(tet)) > 0.0, "tetrahedron {tet} is flat or inverted");
            volume += complex.orient(complex.tet(tet));
            for slot in 0..4 {
                let neighbour = complex.neighbour(tet, slot);
                if neighbour != NONE {
                    let back = complex.slot_of(neighbour, tet);
                    let apex = complex.point(complex.tet(neighbour)[back]);
                    assert!(!conflicts(complex, tet, apex), "{tet} is not Delaunay");
                }
            }
        }
        let corners = [0, 1, 2, 3].map(|k| (points + k) as u32);
        let whole = complex.orient(corners).abs();
        assert!((volume / whole - 1.0).abs() < 1e-12);
    }

    #[test]
    fn tetrahedra_of_random_points_are_delaunay() {
        let points = random_points(800);
        let complex = delaunay(&points, &[]);
        check(&complex, points.len());
        assert!(complex.tet_of.iter().all(|&tet| tet != NONE));
    }

    #[test]
    fn tetrahedra_of_cospherical_grid_points_are_delaunay() {
        let points = grid_points(8);
        let complex = delaunay(&points, &[]);
        check(&complex, points.len());
        assert!(complex.tet_of.iter().all(|&tet| tet != NONE));
    }

    #[test]
    fn handles_coplanar_collinear_and_coincident_points() {
        let mut points: Vec<DVec3> = random_points(60).into_iter().map(|p| DVec3::new(p.x, p.y, 0.0)).collect();
        points.extend((0..20).map(|k| DVec3::X * f64::from(k)));
        points.extend_from_within(..30);
        let complex = delaunay(&points, &[]);
        check(&complex, points.len());
        assert_eq!(complex.tet_of.iter().filter(|&&tet| tet == NONE).count(), 30);
    }

    #[test]
    fn consecutive_cells_of_the_hilbert_curve_are_adjacent() {
        let mut cells: Vec<[u32; 3]> = (0..512).map(|k| [k % 8, k / 8 % 8, k / 64]).collect();
        cells.sort_by_key(|&cell| hilbert(cell));
        for pair in cells.windows(2) {
            let steps: u32 = (0..3).map(|axis| pair[0][axis].abs_diff(pair[1][axis])).sum();
            assert_eq!(steps, 1);
        }
    }
}
