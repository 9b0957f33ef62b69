//! Generated tetrahedral meshes, and real meshes if they are available.

#![allow(dead_code, unreachable_pub, reason = "each test and benchmark uses a subset")]

use std::collections::BTreeMap;

use dermis_mesh::TetMesh;
use glam::{IVec3, Vec3, Vec3Swizzles};

/// Tetrahedra of a cell; the bits of a corner index are its x, y and z.
const FIVE_TETRAHEDRA: [[usize; 4]; 5] = [[0, 1, 2, 4], [3, 2, 1, 7], [5, 4, 7, 1], [6, 7, 4, 2], [1, 2, 4, 7]];

/// Five tetrahedra in each cell of a grid around the origin whose centre is inside.
pub fn lattice(half_size: Vec3, spacing: f32, inside: impl Fn(Vec3) -> bool) -> TetMesh {
    let cells = (half_size / spacing).ceil().as_ivec3();
    let mut indices: BTreeMap<[i32; 3], u32> = BTreeMap::new();
    let mut nodes = Vec::new();
    let mut tetrahedra = Vec::new();
    for k in -cells.z..cells.z {
        for j in -cells.y..cells.y {
            for i in -cells.x..cells.x {
                let cell = IVec3::new(i, j, k);
                if !inside((cell.as_vec3() + 0.5) * spacing) {
                    continue;
                }
                // Every other cell is mirrored, so that the face diagonals of neighbours match.
                let flip = (i + j + k).rem_euclid(2);
                let corners: [u32; 8] = std::array::from_fn(|bits| {
                    let bits = bits as i32 ^ flip;
                    let at = cell + IVec3::new(bits & 1, bits >> 1 & 1, bits >> 2 & 1);
                    *indices.entry(at.to_array()).or_insert_with(|| {
                        nodes.push(at.as_vec3() * spacing);
                        nodes.len() as u32 - 1
                    })
                });
                tetrahedra.extend(FIVE_TETRAHEDRA.map(|tetrahedron| tetrahedron.map(|corner| corners[corner])));
            }
        }
    }
    TetMesh::new(nodes, tetrahedra).unwrap()
}

/// A ball of radius 1.
pub fn ball(spacing: f32) -> TetMesh {
    lattice(Vec3::ONE, spacing, |at| at.length() < 1.0)
}

/// A round rod of radius 1 along x, from −`half_length` to `half_length`.
pub fn rod(half_length: f32, spacing: f32) -> TetMesh {
    lattice(Vec3::new(half_length, 1.0, 1.0), spacing, |at| at.yz().length() < 1.0)
}

/// Mesh with transformed nodes.
pub fn moved(mesh: &TetMesh, to: impl Fn(Vec3) -> Vec3) -> TetMesh {
    TetMesh::new(mesh.nodes().iter().copied().map(to).collect(), mesh.tetrahedra().to_vec()).unwrap()
}

/// Mesh flattened and sheared by a linear map until most tetrahedra are obtuse, with random displacements of `shake`.
pub fn made_bad(mesh: &TetMesh, shake: f32) -> TetMesh {
    moved(mesh, |at| {
        let noise = Vec3::new(hash(at, 1.0), hash(at, 2.0), hash(at, 3.0));
        let at = at + shake * noise;
        Vec3::new(at.x + 0.8 * at.y, at.y, 0.15 * at.z + 0.1 * at.x)
    })
}

/// Pseudorandom number in −1…1 that depends only on the position.
fn hash(at: Vec3, seed: f32) -> f32 {
    let wave = (at.dot(Vec3::new(12.9898, 78.233, 37.719)) + 4.1 * seed).sin() * 43_758.547;
    2.0 * wave.fract().abs() - 1.0
}

/// Nodes of the boundary, ascending.
pub fn skin(mesh: &TetMesh) -> Vec<u32> {
    let mut nodes: Vec<u32> = mesh.boundary().into_iter().flatten().collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// Bones of a standing figure, 24 segments with their radii, about 1.7 m high.
pub fn figure_bones() -> Vec<([Vec3; 2], f32)> {
    let mut bones = vec![
        (Vec3::new(0.0, 0.0, 0.0), Vec3::new(0.0, 0.12, 0.0), 0.150),
        (Vec3::new(0.0, 0.12, 0.0), Vec3::new(0.0, 0.25, 0.0), 0.140),
        (Vec3::new(0.0, 0.25, 0.0), Vec3::new(0.0, 0.38, 0.0), 0.145),
        (Vec3::new(0.0, 0.38, 0.0), Vec3::new(0.0, 0.50, 0.0), 0.140),
        (Vec3::new(0.0, 0.50, 0.0), Vec3::new(0.0, 0.60, 0.0), 0.060),
        (Vec3::new(0.0, 0.62, 0.0), Vec3::new(0.0, 0.72, 0.0), 0.095),
    ];
    for side in [-1.0, 1.0] {
        let mut add = |from: [f32; 3], to: [f32; 3], radius: f32| {
            let mirror = Vec3::new(side, 1.0, 1.0);
            bones.push((Vec3::from(from) * mirror, Vec3::from(to) * mirror, radius));
        };
        add([0.02, 0.0, 0.0], [0.10, -0.05, 0.0], 0.11);
        add([0.10, -0.05, 0.0], [0.11, -0.47, 0.0], 0.080);
        add([0.11, -0.47, 0.0], [0.12, -0.90, 0.0], 0.055);
        add([0.12, -0.90, 0.0], [0.12, -0.94, 0.12], 0.042);
        add([0.12, -0.94, 0.12], [0.12, -0.94, 0.17], 0.040);
        add([0.05, 0.46, 0.0], [0.17, 0.46, 0.0], 0.075);
        add([0.17, 0.46, 0.0], [0.42, 0.46, 0.0], 0.052);
        add([0.42, 0.46, 0.0], [0.66, 0.46, 0.0], 0.042);
        add([0.66, 0.46, 0.0], [0.78, 0.46, 0.0], 0.040);
    }
    bones.into_iter().map(|(from, to, radius)| ([from, to], radius)).collect()
}

/// The figure of [`figure_bones`] as a lattice.
pub fn figure(spacing: f32) -> TetMesh {
    let bones = figure_bones();
    lattice(Vec3::splat(1.05), spacing, |at| bones.iter().any(|(bone, radius)| distance(at, *bone) < *radius))
}

/// Skin weights of the figure by relative distance to the bones, at most four per node, summing to 1.
pub fn figure_weights(mesh: &TetMesh, nodes: &[u32]) -> Vec<f64> {
    let bones = figure_bones();
    let row = |&node: &u32| {
        let at = mesh.nodes()[node as usize];
        let mut row: Vec<f64> =
            bones.iter().map(|(bone, radius)| f64::from((distance(at, *bone) / radius).powi(-8))).collect();
        let mut sorted = row.clone();
        sorted.sort_by(|a, b| b.total_cmp(a));
        for weight in &mut row {
            *weight = (*weight - sorted[4]).max(0.0);
        }
        let sum: f64 = row.iter().sum();
        row.into_iter().map(move |weight| weight / sum)
    };
    nodes.iter().flat_map(row).collect()
}

/// Distance from a point to a segment.
pub fn distance(at: Vec3, [from, to]: [Vec3; 2]) -> f32 {
    let along = ((at - from).dot(to - from) / (to - from).length_squared()).clamp(0.0, 1.0);
    at.distance(from + along * (to - from))
}

/// Reads a Medit mesh from the folder in `DERMIS_DATA`. If it does not exist, prints that the test is skipped and returns
/// `None`.
pub fn real_mesh(name: &str) -> Option<TetMesh> {
    let beside = || std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let path = std::env::var_os("DERMIS_DATA").map_or_else(beside, Into::into).join("tets").join(name);
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: {name} not found");
        return None;
    };
    let mut words = text.split_whitespace();
    let mut section = |title: &str, width: usize| -> Vec<f64> {
        words.by_ref().find(|word| *word == title).unwrap();
        let count: usize = words.next().unwrap().parse().unwrap();
        words.by_ref().take(count * width).map(|word| word.parse().unwrap()).collect()
    };
    let nodes = section("Vertices", 4);
    let nodes = nodes.chunks(4).map(|row| Vec3::from([0, 1, 2].map(|axis| row[axis] as f32))).collect();
    let tetrahedra = section("Tetrahedra", 5);
    let tetrahedra = tetrahedra.chunks(5).map(|row| [0, 1, 2, 3].map(|corner| row[corner] as u32 - 1)).collect();
    Some(TetMesh::new(nodes, tetrahedra).unwrap())
}
