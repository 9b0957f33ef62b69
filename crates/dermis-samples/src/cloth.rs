//! Cloth solver for coarse cloth that compresses instead of folding: extended position based dynamics on a grid.
//!
//! Each frame has small substeps with few Gauss–Seidel passes over the constraints (Macklin et al. 2019), in a fixed
//! order. Edges and diagonals keep their length, `C = |x_a − x_b| − l`, with the correction
//! `Δx = ∓ w C / (w_a + w_b + α/h²) n` for inverse masses w, compliance α and substep h. Rows and columns stay straight:
//! each point is pulled to the midpoint of its neighbours. The compliance is 0 against stretching; against compression it
//! is large and bending is stiff, so that a compressed sheet becomes shorter, as in a coarse simulation that cannot resolve
//! folds. Below [`MIN_LENGTH_FRACTION`] of their length edges are rigid again. Tethers to the nearest held point (Kim et
//! al. 2012) remove the stretch that remains after few passes. Air acts on each quad with pressure and friction.

use glam::{DVec3, UVec2, Vec2, Vec3};

use dermis_mesh::layout::Material;
use dermis_mesh::polygons::{CornerData, PolygonMesh, Polygons};
use dermis_mesh::tri_mesh::TriMesh;

/// Substeps per frame.
const STEPS: usize = 20;

/// Passes over the edges per substep; with a single pass, edges that carry the whole cloth stretch by a third.
const PASSES: usize = 4;

/// Fraction of its rest length below which an edge is rigid.
const MIN_LENGTH_FRACTION: f64 = 0.5;

/// Length of a tether relative to the distance along the flat cloth.
const TETHER_SLACK: f64 = 1.01;

const GRAVITY: DVec3 = DVec3::new(0.0, -9.81, 0.0);

/// Material of a cloth.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fabric {
    /// Mass per area, kg/m².
    pub(super) density: f64,
    /// Compliance of edges against compression, m/N; larger is softer.
    pub(super) compression_compliance: f64,
    /// Fraction of its bend that a point loses in each substep, 0 to 1.
    pub(super) straightening: f64,
    /// Pressure of air perpendicular to the cloth, N/m² per m/s.
    pub(super) air_resistance: f64,
    /// Friction of air along the cloth, N/m² per m/s.
    pub(super) air_friction: f64,
}

/// External influences on a cloth.
pub(super) struct Environment<'a> {
    /// Velocity of the air at a position and time.
    pub(super) air: &'a dyn Fn(DVec3, f64) -> DVec3,
    /// Position of a held point at a time.
    pub(super) hold: &'a dyn Fn(usize, f64) -> DVec3,
}

/// Rectangular cloth of `quads` columns and rows; points are stored row by row.
#[derive(Debug, Clone)]
pub(super) struct Cloth {
    quads: UVec2,
    fabric: Fabric,
    pub(super) points: Vec<DVec3>,
    velocities: Vec<DVec3>,
    inverse_masses: Vec<f64>,
    edges: Vec<Edge>,
    /// Each free point and its nearest held point: their distance never exceeds that along the flat cloth.
    tethers: Vec<Edge>,
    /// A point and the two neighbours whose midpoint it is at rest.
    bends: Vec<[usize; 3]>,
}

#[derive(Debug, Clone, Copy)]
struct Edge {
    ends: [usize; 2],
    length: f64,
}

impl Cloth {
    /// Creates a flat cloth; `position` maps column and row, as fractions of the whole, to a point.
    pub(super) fn new(quads: UVec2, fabric: Fabric, position: impl Fn(f64, f64) -> DVec3) -> Self {
        let fraction = |index: u32, of: u32| f64::from(index) / f64::from(of);
        let at = |point: UVec2| position(fraction(point.x, quads.x), fraction(point.y, quads.y));
        let points: Vec<DVec3> = grid(quads + 1).map(at).collect();
        let area = points[0].distance(points[1]) * points[0].distance(points[quads.x as usize + 1]);
        let mut cloth = Self {
            quads,
            fabric,
            velocities: vec![DVec3::ZERO; points.len()],
            inverse_masses: vec![1.0 / (fabric.density * area); points.len()],
            edges: Vec::new(),
            tethers: Vec::new(),
            bends: Vec::new(),
            points,
        };
        cloth.connect();
        cloth
    }

    fn index(&self, column: u32, row: u32) -> usize {
        (row * (self.quads.x + 1) + column) as usize
    }

    fn connect(&mut self) {
        let size = self.quads + 1;
        for UVec2 { x, y } in grid(size) {
            let here = self.index(x, y);
            let others = [(x + 1, y), (x, y + 1), (x + 1, y + 1), (x.wrapping_sub(1), y + 1)];
            for (column, row) in others.into_iter().filter(|&(column, row)| column < size.x && row < size.y) {
                let ends = [here, self.index(column, row)];
                self.edges.push(Edge { ends, length: self.points[ends[0]].distance(self.points[ends[1]]) });
            }
            if x > 0 && x + 1 < size.x {
                self.bends.push([here, self.index(x - 1, y), self.index(x + 1, y)]);
            }
            if y > 0 && y + 1 < size.y {
                self.bends.push([here, self.index(x, y - 1), self.index(x, y + 1)]);
            }
        }
    }

    /// Holds points: from then on, their positions are given by the environment.
    pub(super) fn hold(&mut self, held: &[usize]) {
        for &point in held {
            self.inverse_masses[point] = 0.0;
        }
        let length = |point: usize, held: usize| self.points[point].distance(self.points[held]);
        let tether = |point: usize| {
            let nearest = held.iter().copied().min_by(|&a, &b| length(point, a).total_cmp(&length(point, b)))?;
            Some(Edge { ends: [nearest, point], length: TETHER_SLACK * length(point, nearest) })
        };
        self.tethers = (0..self.points.len()).filter(|point| !held.contains(point)).filter_map(tether).collect();
    }

    /// Advances by a frame of `seconds` that starts at `time`.
    pub(super) fn advance(&mut self, time: f64, seconds: f64, environment: &Environment<'_>) {
        let step = seconds / STEPS as f64;
        // The air changes slowly; one sample per frame is enough.
        let air: Vec<DVec3> = grid(self.quads)
            .map(|quad| (environment.air)(self.mean(quad, &self.points), time + 0.5 * seconds))
            .collect();
        for index in 0..STEPS {
            self.step(time + step * (index + 1) as f64, step, &air, environment);
        }
    }

    fn corners(&self, UVec2 { x, y }: UVec2) -> [usize; 4] {
        [self.index(x, y), self.index(x + 1, y), self.index(x + 1, y + 1), self.index(x, y + 1)]
    }

    fn mean(&self, quad: UVec2, values: &[DVec3]) -> DVec3 {
        self.corners(quad).iter().fold(DVec3::ZERO, |sum, &point| sum + 0.25 * values[point])
    }

    fn step(&mut self, time: f64, step: f64, air: &[DVec3], environment: &Environment<'_>) {
        let forces = self.air_forces(air);
        let before = self.points.clone();
        for (point, force) in forces.into_iter().enumerate() {
            let inverse_mass = self.inverse_masses[point];
            if inverse_mass > 0.0 {
                let acceleration = GRAVITY + force * inverse_mass;
                self.points[point] += step * (self.velocities[point] + step * acceleration);
            } else {
                self.points[point] = (environment.hold)(point, time);
            }
        }
        self.straighten();
        self.keep_lengths(Some(self.fabric.compression_compliance / (step * step)));
        for _ in 1..PASSES {
            self.keep_lengths(None);
        }
        self.keep_tethers();
        for (velocity, (point, before)) in self.velocities.iter_mut().zip(self.points.iter().zip(before)) {
            *velocity = (*point - before) / step;
        }
    }

    fn air_forces(&self, air: &[DVec3]) -> Vec<DVec3> {
        let mut forces = vec![DVec3::ZERO; self.points.len()];
        for (quad, air) in grid(self.quads).zip(air) {
            let corners = self.corners(quad);
            let [a, b, c, d] = corners.map(|point| self.points[point]);
            let area = 0.5 * (c - a).cross(d - b);
            let wind = *air - self.mean(quad, &self.velocities);
            let normal = area.normalize_or_zero();
            let against = normal * wind.dot(normal);
            let Fabric { air_resistance, air_friction, .. } = self.fabric;
            let force = area.length() * (air_resistance * against + air_friction * (wind - against));
            for point in corners {
                forces[point] += 0.25 * force;
            }
        }
        forces
    }

    fn straighten(&mut self) {
        for &[middle, left, right] in &self.bends {
            let [w, wl, wr] = [middle, left, right].map(|point| self.inverse_masses[point]);
            let total = w + 0.25 * (wl + wr);
            if total > 0.0 {
                let bend = 0.5 * (self.points[left] + self.points[right]) - self.points[middle];
                let move_by = bend * (self.fabric.straightening / total);
                self.points[middle] += w * move_by;
                self.points[left] -= 0.5 * wl * move_by;
                self.points[right] -= 0.5 * wr * move_by;
            }
        }
    }

    /// Shortens edges that are too long, lengthens those below the minimum length, and, if a compliance is given, lengthens
    /// other compressed edges accordingly.
    fn keep_lengths(&mut self, compression: Option<f64>) {
        for &Edge { ends: [a, b], length } in &self.edges {
            let (wa, wb) = (self.inverse_masses[a], self.inverse_masses[b]);
            let apart = self.points[b] - self.points[a];
            let distance = apart.length();
            let (goal, compliance) = match compression {
                _ if distance >= length => (length, 0.0),
                _ if distance <= MIN_LENGTH_FRACTION * length => (MIN_LENGTH_FRACTION * length, 0.0),
                Some(compliance) => (length, compliance),
                None => continue,
            };
            let resistance = wa + wb + compliance;
            if resistance > 0.0 && distance > 0.0 {
                let correction = apart * ((distance - goal) / (distance * resistance)); // C n / (w_a + w_b + α/h²)
                self.points[a] += wa * correction;
                self.points[b] -= wb * correction;
            }
        }
    }

    fn keep_tethers(&mut self) {
        for &Edge { ends: [held, point], length } in &self.tethers {
            let apart = self.points[point] - self.points[held];
            let distance = apart.length();
            if distance > length {
                self.points[point] = self.points[held] + apart * (length / distance);
            }
        }
    }

    /// Current shape of the cloth, as quads with UVs from 0 to 1.
    pub(super) fn mesh(&self, material: Material) -> TriMesh {
        let (columns, rows) = (self.quads.x, self.quads.y);
        // Row 0 is the top of the cloth and of the image.
        let uv = |at: UVec2| Vec2::new(at.x as f32 / columns as f32, at.y as f32 / rows as f32);
        let upwards = |quad: UVec2| {
            let [a, b, c, d] = self.corners(quad);
            [d, c, b, a]
        };
        let corners: Vec<u32> = grid(self.quads).flat_map(upwards).map(|point| point as u32).collect();
        let count = (columns * rows) as usize;
        let mesh = PolygonMesh {
            points: self.points.iter().map(|point| point.as_vec3()).collect::<Vec<Vec3>>(),
            polygons: Polygons { sizes: vec![4; count], corners: corners.clone() },
            uvs: vec![CornerData { values: grid(self.quads + 1).map(uv).collect(), indices: corners }],
            materials: vec![Material { double_sided: true, ..material }],
            polygon_materials: vec![0; count],
            ..PolygonMesh::default()
        };
        mesh.into_tri_mesh().expect("a grid of quads is a valid mesh")
    }
}

/// All integer positions below `size`, row by row.
fn grid(size: UVec2) -> impl Iterator<Item = UVec2> {
    (0..size.y).flat_map(move |y| (0..size.x).map(move |x| UVec2::new(x, y)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FABRIC: Fabric = Fabric {
        density: 0.2,
        compression_compliance: 0.05,
        straightening: 0.2,
        air_resistance: 0.4,
        air_friction: 0.0,
    };

    fn strip() -> Cloth {
        let mut cloth = Cloth::new(UVec2::new(10, 4), FABRIC, |u, v| DVec3::new(u, -0.4 * v, 0.0));
        let both_sides: Vec<usize> = (0..=4).flat_map(|row| [row * 11, row * 11 + 10]).collect();
        cloth.hold(&both_sides);
        cloth
    }

    #[test]
    fn a_compressed_sheet_shortens_instead_of_folding() {
        let mut cloth = strip();
        let rest = cloth.points.clone();
        let push = |point: usize, time: f64| rest[point] * DVec3::new(1.0 - 0.3 * time.min(1.0), 1.0, 1.0);
        for frame in 0..60 {
            let environment = Environment { air: &|_, _| DVec3::ZERO, hold: &push };
            cloth.advance(f64::from(frame) / 30.0, 1.0 / 30.0, &environment);
        }
        let ratio = |edge: &Edge| cloth.points[edge.ends[0]].distance(cloth.points[edge.ends[1]]) / edge.length;
        let across: Vec<f64> = cloth.edges.iter().filter(|edge| edge.ends[1] == edge.ends[0] + 1).map(ratio).collect();
        let mean = across.iter().sum::<f64>() / across.len() as f64;
        assert!(mean < 0.85, "horizontal edges keep {mean} of their length");
        assert!(cloth.points.iter().all(|point| point.z.abs() < 1e-9 && point.is_finite()));
    }

    #[test]
    fn a_hanging_sheet_hardly_stretches() {
        let mut cloth = strip();
        let rest = cloth.points.clone();
        let environment = Environment { air: &|_, _| DVec3::ZERO, hold: &|point, _| rest[point] };
        for frame in 0..60 {
            cloth.advance(f64::from(frame) / 30.0, 1.0 / 30.0, &environment);
        }
        for edge in &cloth.edges {
            let ratio = cloth.points[edge.ends[0]].distance(cloth.points[edge.ends[1]]) / edge.length;
            assert!(ratio < 1.05, "an edge is {ratio} of its length");
        }
    }
}
