//! Shapes used by the tests of several operators.

use glam::Vec3;

/// Points and triangles.
pub(crate) type Surface = (Vec<Vec3>, Vec<[u32; 3]>);

/// Unit cube around the origin, facing outwards.
pub(crate) fn cube() -> Surface {
    let corner = |k: u32| Vec3::new((k & 1) as f32, (k >> 1 & 1) as f32, (k >> 2 & 1) as f32) - 0.5;
    let quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    let triangles = quads.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
    ((0..8).map(corner).collect(), triangles)
}

/// Flat square of `n × n` unit cells with alternating diagonals, normal +Z.
pub(crate) fn grid(n: u32) -> Surface {
    let points = (0..=n).flat_map(|y| (0..=n).map(move |x| Vec3::new(x as f32, y as f32, 0.0))).collect();
    let triangles = (0..n * n).flat_map(|cell| {
        let (x, y) = (cell % n, cell / n);
        let [a, b, c, d] = [(x, y), (x + 1, y), (x + 1, y + 1), (x, y + 1)].map(|(x, y)| y * (n + 1) + x);
        if (x + y) % 2 == 0 { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] }
    });
    (points, triangles.collect())
}

/// Unit sphere, facing outwards: an octahedron whose triangles are split into four `levels` times.
pub(crate) fn sphere(levels: u32) -> Surface {
    let mut points = vec![Vec3::X, Vec3::NEG_X, Vec3::Y, Vec3::NEG_Y, Vec3::Z, Vec3::NEG_Z];
    let mut triangles: Vec<[u32; 3]> =
        vec![[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]];
    for _ in 0..levels {
        let mut middles = std::collections::BTreeMap::new();
        let mut middle = |a: u32, b: u32, points: &mut Vec<Vec3>| {
            *middles.entry((a.min(b), a.max(b))).or_insert_with(|| {
                points.push((points[a as usize] + points[b as usize]).normalize());
                points.len() as u32 - 1
            })
        };
        let cut = triangles.iter().flat_map(|&[a, b, c]| {
            let (ab, bc, ca) = (middle(a, b, &mut points), middle(b, c, &mut points), middle(c, a, &mut points));
            [[a, ab, ca], [b, bc, ab], [c, ca, bc], [ab, bc, ca]]
        });
        triangles = cut.collect();
    }
    (points, triangles)
}

/// Both shapes in one mesh.
pub(crate) fn beside((mut points, mut triangles): Surface, (others, more): Surface) -> Surface {
    let first = points.len() as u32;
    points.extend(others);
    triangles.extend(more.iter().map(|triangle| triangle.map(|point| point + first)));
    (points, triangles)
}
