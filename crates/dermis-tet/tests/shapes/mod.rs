//! Closed shapes that are difficult to mesh in different ways.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses a subset")]

use std::collections::BTreeMap;

use dermis_mesh::TriMesh;
use glam::Vec3;

/// A cube of side 1 with `n × n` squares per face, which has coplanar faces, collinear edges and many cospherical points.
pub fn cube(n: u32) -> TriMesh {
    plate(n, n, Vec3::ONE)
}

/// A box of the given size whose faces are divided as those of `n × n × layers` cells.
pub fn plate(n: u32, layers: u32, size: Vec3) -> TriMesh {
    let counts = [n, n, layers];
    let mut indices: BTreeMap<[u32; 3], u32> = BTreeMap::new();
    let mut points = Vec::new();
    let mut triangles = Vec::new();
    for axis in 0..3 {
        let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
        for (i, j, far) in (0..counts[u] * counts[v] * 2).map(|k| (k / 2 % counts[u], k / 2 / counts[u], k % 2 == 1)) {
            let mut corner = |du: u32, dv: u32| {
                let mut at = [0; 3];
                at[axis] = if far { counts[axis] } else { 0 };
                (at[u], at[v]) = (i + du, j + dv);
                *indices.entry(at).or_insert_with(|| {
                    let fraction = |axis: usize| at[axis] as f32 / counts[axis] as f32;
                    points.push(Vec3::new(fraction(0), fraction(1), fraction(2)) * size);
                    points.len() as u32 - 1
                })
            };
            let [a, b, c, d] = [corner(0, 0), corner(1, 0), corner(1, 1), corner(0, 1)];
            let halves = if (i + j) % 2 == 0 { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] };
            triangles.extend(halves.map(|[a, b, c]| if far { [a, b, c] } else { [a, c, b] }));
        }
    }
    TriMesh::new(points, triangles).unwrap()
}

/// A torus of `n × m` squares.
pub fn torus(n: u32, m: u32, radius: f32, tube: f32) -> TriMesh {
    let points = (0..n * m).map(|k| {
        let sin_cos = |k: u32, n: u32| (k as f32 / n as f32 * std::f32::consts::TAU).sin_cos();
        let ((s, c), (t, d)) = (sin_cos(k / m, n), sin_cos(k % m, m));
        Vec3::new((radius + tube * d) * c, (radius + tube * d) * s, tube * t)
    });
    let triangles = (0..n * m).flat_map(|k| {
        let (i, j) = (k / m, k % m);
        let at = |i: u32, j: u32| i % n * m + j % m;
        let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
        [[a, b, c], [a, c, d]]
    });
    TriMesh::new(points.collect(), triangles.collect()).unwrap()
}

/// Zero set of a distance function, by marching tetrahedra over cubes of side `h`: closed and manifold, with as many thin
/// triangles as a scan.
pub fn implicit(low: Vec3, high: Vec3, h: f32, distance: impl Fn(Vec3) -> f32) -> TriMesh {
    let counts = ((high - low) / h).ceil().as_uvec3() + 1;
    let position = |at: [u32; 3]| low + Vec3::new(at[0] as f32, at[1] as f32, at[2] as f32) * h;
    let value = |at: [u32; 3]| distance(position(at));
    let mut indices: BTreeMap<[[u32; 3]; 2], u32> = BTreeMap::new();
    let (mut points, mut triangles) = (Vec::new(), Vec::new());
    // Six tetrahedra around the diagonal of a cube, one per order of the axes.
    const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1], [2, 1, 0], [1, 0, 2]];
    for k in 0..counts.x * counts.y * counts.z {
        let cube = [k % counts.x, k / counts.x % counts.y, k / counts.x / counts.y];
        for order in ORDERS {
            let mut tet = [cube; 4];
            for (step, axis) in order.into_iter().enumerate() {
                (step + 1..4).for_each(|later| tet[later][axis] += 1);
            }
            let (inside, outside): (Vec<_>, Vec<_>) = tet.into_iter().partition(|&at| value(at) < 0.0);
            let mut cut = |a: [u32; 3], b: [u32; 3]| {
                let [a, b] = if a < b { [a, b] } else { [b, a] };
                *indices.entry([a, b]).or_insert_with(|| {
                    let (va, vb) = (value(a), value(b));
                    points.push(position(a).lerp(position(b), (va / (va - vb)).clamp(0.05, 0.95)));
                    points.len() as u32 - 1
                })
            };
            let fan: Vec<u32> = match (inside.as_slice(), outside.as_slice()) {
                (&[a], &[b, c, d]) | (&[b, c, d], &[a]) => vec![cut(a, b), cut(a, c), cut(a, d)],
                (&[a, b], &[c, d]) => vec![cut(a, c), cut(a, d), cut(b, d), cut(b, c)],
                _ => continue,
            };
            for k in 2..fan.len() {
                let triangle = [fan[0], fan[k - 1], fan[k]];
                let [a, b, c] = triangle.map(|p| points[p as usize]);
                let inwards = position(inside[0]) - a;
                let outwards = (b - a).cross(c - a).dot(inwards) < 0.0;
                triangles.push(if outwards { triangle } else { [triangle[0], triangle[2], triangle[1]] });
            }
        }
    }
    TriMesh::new(points, triangles).unwrap()
}

/// Bones of a figure of capsules: trunk, head, arms and legs.
pub fn figure_bones() -> Vec<(Vec3, Vec3)> {
    let at = Vec3::new;
    vec![
        (at(0.0, 0.9, 0.0), at(0.0, 1.4, 0.0)),
        (at(0.0, 1.4, 0.0), at(0.0, 1.65, 0.0)),
        (at(0.0, 1.35, 0.0), at(0.65, 1.2, 0.05)),
        (at(0.0, 1.35, 0.0), at(-0.65, 1.2, 0.05)),
        (at(0.1, 0.9, 0.0), at(0.18, 0.1, 0.0)),
        (at(-0.1, 0.9, 0.0), at(-0.18, 0.1, 0.0)),
    ]
}

/// A figure of smoothly blended capsules; `h` is the approximate edge length.
pub fn figure(h: f32) -> TriMesh {
    let radii = [0.14, 0.1, 0.05, 0.05, 0.075, 0.075];
    let bones = figure_bones();
    let distance = |p: Vec3| {
        let far = |(&(a, b), radius): (&(Vec3, Vec3), f32)| {
            let along = ((p - a).dot(b - a) / (b - a).length_squared()).clamp(0.0, 1.0);
            p.distance(a.lerp(b, along)) - radius
        };
        // Smooth minimum of exponentials.
        let sum: f32 = bones.iter().zip(radii).map(far).map(|d| (-60.0 * d).exp()).sum();
        -sum.max(1e-30).ln() / 60.0
    };
    implicit(Vec3::new(-0.85, -0.1, -0.3), Vec3::new(0.85, 1.85, 0.3), h, distance)
}
