//! Edge removal: the ring of tetrahedra around an edge is replaced by two fans over a triangulation of the ring's points
//! (Freitag & Ollivier-Gooch 1997; the optimal triangulation by dynamic programming is that of Klincsek 1980).
//!
//! For the edge `p`, `q` with the points `r₀ … rₙ₋₁` around it, each triangle `i < j < k` of the polygon gives the
//! tetrahedra `[rᵢ, rⱼ, rₖ, q]` and `[rₖ, rⱼ, rᵢ, p]`. For n = 3 this is the 3-2 flip, for n = 4 the 4-4 flip.

/// Maximum size of a ring. The cost is cubic in the size, and the removal of edges with larger rings rarely succeeds.
pub(super) const MAX_RING: usize = 10;

/// Finds the triangles of the best triangulation of a polygon with `count` points, and its score.
///
/// `score` rates one triangle `i < j < k` and returns `None` to exclude it; `combine` combines scores, starting from
/// `nothing`. Larger is better.
pub(super) fn best_triangulation(
    count: usize,
    mut score: impl FnMut([usize; 3]) -> Option<f64>,
    combine: impl Fn(f64, f64) -> f64,
    nothing: f64,
) -> Option<(Vec<[usize; 3]>, f64)> {
    // best[i][k]: score of the best triangulation between the points i and k, and its middle point.
    let mut best = [[None; MAX_RING]; MAX_RING];
    for i in 0..count - 1 {
        best[i][i + 1] = Some((nothing, 0));
    }
    for span in 2..count {
        for i in 0..count - span {
            let k = i + span;
            for j in i + 1..k {
                let (Some((left, _)), Some((right, _))) = (best[i][j], best[j][k]) else { continue };
                let Some(own) = score([i, j, k]) else { continue };
                let all = combine(own, combine(left, right));
                if best[i][k].is_none_or(|(so_far, _)| all > so_far) {
                    best[i][k] = Some((all, j));
                }
            }
        }
    }
    let (total, _) = best[0][count - 1]?;
    let mut triangles = Vec::with_capacity(count - 2);
    let mut open = vec![(0, count - 1)];
    while let Some((i, k)) = open.pop() {
        if k - i > 1 {
            let (_, j) = best[i][k]?;
            triangles.push([i, j, k]);
            open.extend([(i, j), (j, k)]);
        }
    }
    Some((triangles, total))
}

/// Tetrahedra for the triangles of the polygon of a ring.
pub(super) fn fans(p: u32, q: u32, ring: &[u32], triangles: &[[usize; 3]]) -> Vec<[u32; 4]> {
    triangles.iter().flat_map(|&triangle| fan_pair(p, q, triangle.map(|k| ring[k]))).collect()
}

/// The two tetrahedra of one triangle.
pub(super) fn fan_pair(p: u32, q: u32, [a, b, c]: [u32; 3]) -> [[u32; 4]; 2] {
    [[a, b, c, q], [c, b, a, p]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_best_of_all_triangulations() {
        // Only in the fan at point 2 do all triangles contain that point.
        let score = |t: [usize; 3]| Some(if t.contains(&2) { 0.0 } else { -1.0 });
        let (mut triangles, total) = best_triangulation(6, score, |a, b| a + b, 0.0).unwrap();
        triangles.sort_unstable();
        assert_eq!((triangles, total), (vec![[0, 1, 2], [0, 2, 5], [2, 3, 4], [2, 4, 5]], 0.0));
    }

    #[test]
    fn returns_none_without_a_valid_triangulation() {
        assert!(best_triangulation(5, |t| (!t.contains(&0)).then_some(1.0), f64::min, f64::MAX).is_none());
    }
}
