//! Meshes and bodies shared by the tests and the benchmark.

#![allow(dead_code, reason = "each test and benchmark uses a subset")]

use dermis_mesh::TetMesh;
use dermis_tissue::dynamics::{Force, Simulation, SimulationOptions};
use dermis_tissue::fem::Material;
use glam::Vec3;

/// Time step of the reported measurements, in seconds.
pub(crate) const DT: f32 = 0.004;
/// Standard gravity.
pub(crate) const DOWN: Force = Force::Gravity { acceleration: [0.0, -9.81, 0.0] };

/// A grid of `cells` cubes of side `h` with five tetrahedra per cube, mirrored between neighbours so that faces match.
pub(crate) fn grid(cells: [usize; 3], h: f32) -> TetMesh {
    let [nx, ny, nz] = cells;
    let index = |x: usize, y: usize, z: usize| (x + (nx + 1) * (y + (ny + 1) * z)) as u32;
    let mut nodes = Vec::new();
    for z in 0..=nz {
        for y in 0..=ny {
            nodes.extend((0..=nx).map(|x| Vec3::new(x as f32, y as f32, z as f32) * h));
        }
    }
    let mut tetrahedra = Vec::new();
    for z in 0..nz {
        for y in 0..ny {
            for x in 0..nx {
                let corner = |k: usize| index(x + (k & 1), y + (k >> 1 & 1), z + (k >> 2));
                let five = if (x + y + z).is_multiple_of(2) {
                    [[0, 1, 2, 4], [3, 2, 1, 7], [5, 4, 7, 1], [6, 7, 4, 2], [1, 2, 4, 7]]
                } else {
                    [[1, 3, 0, 5], [2, 0, 3, 6], [4, 5, 6, 0], [7, 6, 5, 3], [0, 3, 5, 6]]
                };
                tetrahedra.extend(five.map(|tetrahedron| tetrahedron.map(corner)));
            }
        }
    }
    TetMesh::new(nodes, tetrahedra).expect("indices are in range")
}

/// Beam of the reported measurements: 9,720 nodes and 38,080 elements, 2.38 m long.
pub(crate) fn long_beam() -> TetMesh {
    grid([8, 8, 119], 0.02)
}

/// Marks all nodes as free except those at z = 0.
pub(crate) fn clamped_end(mesh: &TetMesh) -> Vec<bool> {
    mesh.nodes().iter().map(|node| node.z > 1e-6).collect()
}

/// Rest positions of the given nodes.
pub(crate) fn positions_of(mesh: &TetMesh, nodes: &[u32]) -> Vec<Vec3> {
    nodes.iter().map(|&node| mesh.nodes()[node as usize]).collect()
}

/// A body of 2 kPa with the given damping rate.
pub(crate) fn damped(mesh: &TetMesh, free: &[bool], damping_rate_per_s: f32) -> Simulation {
    let material = Material::uniform(mesh.nodes().len(), 2e3, 0.3, 1e3);
    let options = SimulationOptions { damping_rate_per_s, ..SimulationOptions::default() };
    Simulation::new(mesh, free, &material, options).unwrap()
}

/// A body of 2 kPa without driven nodes or damping.
pub(crate) fn floating(mesh: &TetMesh) -> Simulation {
    damped(mesh, &vec![true; mesh.nodes().len()], 0.0)
}

/// Current positions of all nodes.
pub(crate) fn positions(mesh: &TetMesh, simulation: &Simulation) -> Vec<Vec3> {
    let mut positions = mesh.nodes().to_vec();
    simulation.write_positions(&mut positions);
    positions
}

/// Mean of positions.
pub(crate) fn center(positions: &[Vec3]) -> Vec3 {
    positions.iter().sum::<Vec3>() / positions.len() as f32
}

/// Deterministic pseudorandom numbers in −1..1.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn number(&mut self) -> f32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    pub(crate) fn vector(&mut self) -> Vec3 {
        Vec3::new(self.number(), self.number(), self.number())
    }
}
