//! Textbook implementation of one step of Eq. 13: 6×12 strain matrices, rotated 12×12 element stiffness, `f64`, direct
//! solve.

use dermis_math::polar::polar_rotation;
use dermis_mesh::TetMesh;
use faer::Mat;
use faer::linalg::solvers::Solve;
use faer::sparse::{SparseColMat, Triplet};
use glam::{DMat3, DVec3, Vec3};

pub(crate) struct Tissue {
    pub(crate) young_modulus: f64,
    pub(crate) poisson_ratio: f64,
    pub(crate) density: f64,
}

type Stiffness = [[f64; 12]; 12];

/// Stiffness `K_e = V Bᵀ C B` of the rest shape, the inverse of its edge matrix and its volume.
fn element(mesh: &TetMesh, nodes: [u32; 4], tissue: &Tissue) -> (Stiffness, DMat3, f64) {
    let [a, b, c, d] = nodes.map(|node| mesh.nodes()[node as usize].as_dvec3());
    let edges = DMat3::from_cols(b - a, c - a, d - a);
    let inverse = edges.inverse();
    let gradients =
        [-(inverse.row(0) + inverse.row(1) + inverse.row(2)), inverse.row(0), inverse.row(1), inverse.row(2)];
    let mut strain = [[0.0; 12]; 6];
    for (k, g) in gradients.iter().enumerate() {
        let rows =
            [[g.x, 0.0, 0.0], [0.0, g.y, 0.0], [0.0, 0.0, g.z], [g.y, g.x, 0.0], [0.0, g.z, g.y], [g.z, 0.0, g.x]];
        for (row, values) in rows.iter().enumerate() {
            strain[row][3 * k..3 * k + 3].copy_from_slice(values);
        }
    }
    let (e, nu) = (tissue.young_modulus, tissue.poisson_ratio);
    let factor = e / ((1.0 + nu) * (1.0 - 2.0 * nu));
    let elasticity = |i: usize, j: usize| match (i, j) {
        (0..3, 0..3) if i == j => factor * (1.0 - nu),
        (0..3, 0..3) => factor * nu,
        _ if i == j => factor * (0.5 - nu),
        _ => 0.0,
    };
    let volume = edges.determinant().abs() / 6.0;
    let mut stiffness = [[0.0; 12]; 12];
    for (row, values) in stiffness.iter_mut().enumerate() {
        for (column, value) in values.iter_mut().enumerate() {
            for i in 0..6 {
                for j in 0..6 {
                    *value += volume * strain[i][row] * elasticity(i, j) * strain[j][column];
                }
            }
        }
    }
    (stiffness, inverse, volume)
}

/// Assembled matrix, forces and masses.
struct Assembled {
    triplets: Vec<(usize, usize, f64)>,
    forces: Vec<f64>,
    masses: Vec<f64>,
}

fn assemble(mesh: &TetMesh, positions: &[DVec3], tissue: &Tissue) -> Assembled {
    let count = positions.len();
    let mut result = Assembled { triplets: Vec::new(), forces: vec![0.0; 3 * count], masses: vec![0.0; count] };
    for &nodes in mesh.tetrahedra() {
        let (stiffness, inverse, volume) = element(mesh, nodes, tissue);
        let x = nodes.map(|node| positions[node as usize]);
        let rest = nodes.map(|node| mesh.nodes()[node as usize].as_dvec3());
        let rotation = polar_rotation(DMat3::from_cols(x[1] - x[0], x[2] - x[0], x[3] - x[0]) * inverse);
        let block = |i: usize, j: usize| {
            DMat3::from_cols_array_2d(&std::array::from_fn(|c| {
                std::array::from_fn(|r| stiffness[3 * i + r][3 * j + c])
            }))
        };
        for i in 0..4 {
            result.masses[nodes[i] as usize] += 0.25 * tissue.density * volume;
            for j in 0..4 {
                let force = -(rotation * (block(i, j) * (rotation.transpose() * x[j] - rest[j])));
                let rotated = rotation * block(i, j) * rotation.transpose();
                for r in 0..3 {
                    let row = 3 * nodes[i] as usize + r;
                    result.forces[row] += force[r];
                    for c in 0..3 {
                        result.triplets.push((row, 3 * nodes[j] as usize + c, rotated.col(c)[r]));
                    }
                }
            }
        }
    }
    result
}

fn solve(size: usize, triplets: &[(usize, usize, f64)], right: &[f64]) -> Vec<f64> {
    let triplets: Vec<_> = triplets.iter().map(|&(row, column, value)| Triplet::new(row, column, value)).collect();
    let matrix = SparseColMat::<usize, f64>::try_new_from_triplets(size, size, &triplets).expect("entries are inside");
    let factor = matrix.sp_cholesky(faer::Side::Lower).expect("the matrix is definite");
    let right = Mat::from_fn(size, 1, |row, _| right[row]);
    let solution = factor.solve(&right);
    (0..size).map(|row| solution[(row, 0)]).collect()
}

/// Velocities after one step; those of driven nodes are given in `velocities`.
pub(crate) fn step(
    mesh: &TetMesh,
    free: &[bool],
    tissue: &Tissue,
    (positions, velocities): (&[Vec3], &[Vec3]),
    gravity: DVec3,
    dt: f64,
) -> Vec<DVec3> {
    let positions: Vec<DVec3> = positions.iter().map(|x| x.as_dvec3()).collect();
    let velocities: Vec<DVec3> = velocities.iter().map(|v| v.as_dvec3()).collect();
    let assembled = assemble(mesh, &positions, tissue);
    let (offsets, size) = unknowns(free);
    let mut right = vec![0.0; size];
    let mut triplets = Vec::new();
    for (node, &offset) in offsets.iter().enumerate() {
        let Some(offset) = offset else { continue };
        for axis in 0..3 {
            let mass = assembled.masses[node];
            triplets.push((offset + axis, offset + axis, mass));
            right[offset + axis] =
                mass * velocities[node][axis] + dt * (assembled.forces[3 * node + axis] + mass * gravity[axis]);
        }
    }
    for &(row, column, value) in &assembled.triplets {
        let Some(offset) = offsets[row / 3] else { continue };
        match offsets[column / 3] {
            Some(other) => triplets.push((offset + row % 3, other + column % 3, dt * dt * value)),
            None => right[offset + row % 3] -= dt * dt * value * velocities[column / 3][column % 3],
        }
    }
    let solution = solve(size, &triplets, &right);
    let at = |(node, offset): (usize, &Option<usize>)| match offset {
        Some(offset) => DVec3::from_slice(&solution[*offset..*offset + 3]),
        None => velocities[node],
    };
    offsets.iter().enumerate().map(at).collect()
}

/// Displacements of linear elasticity under gravity.
pub(crate) fn static_displacements(mesh: &TetMesh, free: &[bool], tissue: &Tissue, gravity: DVec3) -> Vec<DVec3> {
    let rest: Vec<DVec3> = mesh.nodes().iter().map(|x| x.as_dvec3()).collect();
    let assembled = assemble(mesh, &rest, tissue);
    let (offsets, size) = unknowns(free);
    let mut right = vec![0.0; size];
    for (node, offset) in offsets.iter().enumerate() {
        if let Some(offset) = offset {
            (0..3).for_each(|axis| right[offset + axis] = assembled.masses[node] * gravity[axis]);
        }
    }
    let both = |&(row, column, value): &(usize, usize, f64)| {
        Some((offsets[row / 3]? + row % 3, offsets[column / 3]? + column % 3, value))
    };
    let triplets: Vec<_> = assembled.triplets.iter().filter_map(both).collect();
    let solution = solve(size, &triplets, &right);
    offsets.iter().map(|offset| offset.map_or(DVec3::ZERO, |n| DVec3::from_slice(&solution[n..n + 3]))).collect()
}

fn unknowns(free: &[bool]) -> (Vec<Option<usize>>, usize) {
    let mut next = 0;
    let offsets = free
        .iter()
        .map(|&free| {
            free.then(|| {
                next += 3;
                next - 3
            })
        })
        .collect();
    (offsets, next)
}
