//! Level sets of a field on a closed surface: geodesic level sets and, with `f = n·x`, plane sections.
//!
//! A triangle with corners on both sides of the level contains one segment; segments that share an edge of the surface
//! form a loop. Loops are connected along the surface, not by position, so that touching thighs give two loops. The
//! centre of a loop is the centroid of its area, which does not depend on the sampling of the loop.

use std::collections::BTreeMap;

use glam::DVec3;

use super::geodesic::Surface;

/// A closed curve.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Section {
    pub(super) points: Vec<DVec3>,
    /// Length of the curve.
    pub(super) girth: f64,
    /// Centroid of the enclosed area.
    pub(super) center: DVec3,
    pub(super) area: f64,
}

impl Section {
    fn new(points: Vec<DVec3>) -> Self {
        let next = |k: usize| points[(k + 1) % points.len()];
        let girth = points.iter().enumerate().map(|(k, p)| p.distance(next(k))).sum();
        let middle = points.iter().sum::<DVec3>() / points.len() as f64;
        let area_vector = |(k, p): (usize, &DVec3)| (*p - middle).cross(next(k) - middle) / 2.0;
        let total: DVec3 = points.iter().enumerate().map(area_vector).sum();
        let area = total.length();
        let normal = total.normalize_or_zero();
        let moment: DVec3 = points
            .iter()
            .enumerate()
            .map(|(k, p)| area_vector((k, p)).dot(normal) * (*p + next(k) - 2.0 * middle) / 3.0)
            .sum();
        let center = if area > 0.0 { middle + moment / area } else { middle };
        Self { points, girth, center, area }
    }

    /// Minimum and maximum coordinate along `direction`.
    pub(super) fn extent(&self, direction: DVec3) -> (f64, f64) {
        let along = self.points.iter().map(|point| point.dot(direction));
        along.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
    }
}

/// Loops of a closed surface at which `field`, one value per point, equals `level`.
pub(super) fn level_sections(points: &[DVec3], triangles: &[[u32; 3]], field: &[f64], level: f64) -> Vec<Section> {
    let is_above = |point: u32| field[point as usize] >= level;
    let mut next_edges: BTreeMap<[u32; 2], [u32; 2]> = BTreeMap::new();
    for &[a, b, c] in triangles {
        if is_above(a) == is_above(b) && is_above(b) == is_above(c) {
            continue;
        }
        // Each segment leads from the ascending to the descending edge, which orients the loops.
        let sides = [[a, b], [b, c], [c, a]];
        let up = sides.iter().find(|[from, to]| !is_above(*from) && is_above(*to));
        let down = sides.iter().find(|[from, to]| is_above(*from) && !is_above(*to));
        if let (Some(&[from, to]), Some(&[above, below])) = (up, down) {
            next_edges.insert([from, to], [below, above]);
        }
    }
    let crossing = |[below, above]: [u32; 2]| {
        let (low, high) = (field[below as usize], field[above as usize]);
        let fraction = if high.is_finite() { ((level - low) / (high - low)).clamp(0.0, 1.0) } else { 0.0 };
        points[below as usize].lerp(points[above as usize], fraction)
    };
    let mut sections = Vec::new();
    while let Some((start, mut edge)) = next_edges.pop_first() {
        let mut curve = vec![crossing(start)];
        while edge != start {
            curve.push(crossing(edge));
            match next_edges.remove(&edge) {
                Some(next) => edge = next,
                None => break,
            }
        }
        sections.push(Section::new(curve));
    }
    sections
}

/// Loops in which a plane cuts a closed surface.
pub(super) fn plane_sections(points: &[DVec3], triangles: &[[u32; 3]], at: DVec3, normal: DVec3) -> Vec<Section> {
    let field: Vec<f64> = points.iter().map(|point| point.dot(normal)).collect();
    level_sections(points, triangles, &field, at.dot(normal))
}

/// Section of the plane through `at` with the centre nearest to `at`.
pub(super) fn nearest_section(surface: &Surface<'_>, at: DVec3, normal: DVec3) -> Option<Section> {
    let sections = plane_sections(&surface.points, surface.triangles, at, normal);
    sections.into_iter().min_by(|a, b| a.center.distance(at).total_cmp(&b.center.distance(at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rectangular prism along z with `n` steps.
    fn prism(n: u32, at: DVec3) -> (Vec<DVec3>, Vec<[u32; 3]>) {
        let corners = [(0.0, 0.0), (2.0, 0.0), (2.0, 1.0), (0.0, 1.0)];
        let ring = |k: u32| corners.map(|(x, y)| at + DVec3::new(x, y, f64::from(k)));
        let points = (0..=n).flat_map(ring).collect();
        let mut triangles = vec![[0, 2, 1], [0, 3, 2], [4 * n, 4 * n + 1, 4 * n + 2], [4 * n, 4 * n + 2, 4 * n + 3]];
        for (k, side) in (0..n).flat_map(|k| (0..4).map(move |side| (k, side))) {
            let [a, b] = [4 * k + side, 4 * k + (side + 1) % 4];
            triangles.extend([[a, b, b + 4], [a, b + 4, a + 4]]);
        }
        (points, triangles)
    }

    #[test]
    fn plane_cuts_two_prisms_in_two_rectangles() {
        let (mut points, mut triangles) = prism(4, DVec3::ZERO);
        let (more, others) = prism(4, DVec3::new(5.0, 0.0, 0.0));
        triangles.extend(others.iter().map(|t| t.map(|p| p + points.len() as u32)));
        points.extend(more);
        let found = plane_sections(&points, &triangles, DVec3::new(0.0, 0.0, 1.5), DVec3::Z);
        assert_eq!(found.len(), 2);
        for (section, x) in found.iter().zip([1.0, 6.0]) {
            assert!((section.girth - 6.0).abs() < 1e-12 && (section.area - 2.0).abs() < 1e-12);
            assert!(section.center.distance(DVec3::new(x, 0.5, 1.5)) < 1e-12);
            assert_eq!(section.extent(DVec3::Y), (0.0, 1.0));
        }
    }

    #[test]
    fn level_at_points_of_the_surface_gives_closed_loops() {
        let (points, triangles) = prism(4, DVec3::ZERO);
        let found = plane_sections(&points, &triangles, DVec3::new(0.0, 0.0, 2.0), DVec3::Z);
        assert_eq!(found.len(), 1);
        assert!((found[0].girth - 6.0).abs() < 1e-12);
    }
}
