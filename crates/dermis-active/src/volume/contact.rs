//! Room between parts of the skin that face each other, from points in a hashed grid.
//!
//! Skin that is already in contact must not be inflated further: at a bent knee, or at fingers that touch the palm, the
//! volume is restored elsewhere. Distances are measured between a third or a quarter of the points, no two of them
//! neighbours, which takes a tenth of the time; the others use the smallest distance of their neighbours.

use dermis_mesh::adjacency::Lists;
use glam::{DVec3, IVec3};

use crate::intersections::hash;

/// Cosine of the angle between normals below which two points face each other completely. It fades out to 0.
const FACING_COSINE: f64 = -0.5;
/// Distance in the rest pose below which points are not in contact, in reaches: opposite sides of a thin part, or
/// neighbours.
const APART: f64 = 3.0;

/// Points between which contacts are measured.
#[derive(Debug, Clone)]
pub(super) struct Contact {
    /// Distance up to which points are in contact.
    reach: f64,
    members: Vec<u32>,
    /// Positions of the members in the rest pose.
    rest: Vec<DVec3>,
    /// Members next to each point, as indices into `members`.
    near: Vec<Vec<u32>>,
}

/// Members sorted by the hash of their cell.
#[derive(Debug, Clone, Default)]
pub(super) struct Grid {
    /// Positions and normals.
    members: Vec<(DVec3, DVec3)>,
    starts: Vec<u32>,
    sorted: Vec<u32>,
    cells: Vec<u32>,
}

impl Contact {
    /// Prepares contacts within `reach` of points whose rest pose is `rest`.
    pub(super) fn new(rest: &[DVec3], neighbours: &Lists, reach: f64) -> Self {
        let mut members: Vec<u32> = Vec::new();
        let mut index = vec![None; rest.len()];
        for point in 0..rest.len() {
            if neighbours.of(point).iter().all(|&other| index[other as usize].is_none()) {
                index[point] = Some(members.len() as u32);
                members.push(point as u32);
            }
        }
        let ring = |point: usize| neighbours.of(point).iter().filter_map(|&other| index[other as usize]).collect();
        let near = (0..rest.len()).map(|point| index[point].map_or_else(|| ring(point), |own| vec![own])).collect();
        Self { reach, rest: members.iter().map(|&point| rest[point as usize]).collect(), members, near }
    }

    /// Room of each point: 1 if no point that faces it is within reach, 0 in contact.
    pub(super) fn measure(&self, points: &[DVec3], normals: &[DVec3], grid: &mut Grid, room: &mut Vec<f64>) {
        room.clear();
        if !(self.reach > 0.0 && self.reach.is_finite()) {
            room.resize(points.len(), 1.0);
            return;
        }
        // Cells of twice the reach: the ball around a point meets at most two in each direction.
        let cell = |position: DVec3| (position / (2.0 * self.reach)).floor().as_ivec3();
        grid.fill(self.members.iter().map(|&point| (points[point as usize], normals[point as usize])), cell);
        let of_members: Vec<f64> = (0..self.members.len()).map(|member| self.room_of(member, grid, cell)).collect();
        let least = |near: &Vec<u32>| near.iter().map(|&member| of_members[member as usize]).fold(1.0, f64::min);
        room.extend(self.near.iter().map(least));
    }

    fn room_of(&self, member: usize, grid: &Grid, cell: impl Fn(DVec3) -> IVec3) -> f64 {
        let (position, normal) = grid.members[member];
        let (low, high) = (cell(position - self.reach), cell(position + self.reach));
        let (reach, apart) = (self.reach * self.reach, (APART * self.reach).powi(2));
        let mut room = 1.0f64;
        for x in low.x..=high.x {
            for y in low.y..=high.y {
                for z in low.z..=high.z {
                    for &other in grid.of(IVec3::new(x, y, z)) {
                        let (at, facing) = grid.members[other as usize];
                        let (distance, cosine) = (position.distance_squared(at), normal.dot(facing));
                        let is_apart = || self.rest[member].distance_squared(self.rest[other as usize]) > apart;
                        if cosine < 0.0 && distance < reach && is_apart() {
                            let turned_away = (1.0 - cosine / FACING_COSINE).max(0.0);
                            room = room.min(distance.sqrt() / self.reach + turned_away);
                        }
                    }
                }
            }
        }
        room
    }
}

impl Grid {
    /// Sorts `members` by their cells: a counting sort of hashes.
    fn fill(&mut self, members: impl Iterator<Item = (DVec3, DVec3)>, cell: impl Fn(DVec3) -> IVec3) {
        self.members.clear();
        self.members.extend(members);
        let size = (2 * self.members.len()).next_power_of_two();
        self.cells.clear();
        self.cells.extend(self.members.iter().map(|&(position, _)| hash(cell(position), size)));
        self.starts.clear();
        self.starts.resize(size + 1, 0);
        for &cell in &self.cells {
            self.starts[cell as usize] += 1;
        }
        let mut end = 0;
        for start in &mut self.starts {
            end += *start;
            *start = end;
        }
        self.sorted.clear();
        self.sorted.resize(self.members.len(), 0);
        for (member, &cell) in self.cells.iter().enumerate().rev() {
            // The ends of the cells become their starts.
            self.starts[cell as usize] -= 1;
            self.sorted[self.starts[cell as usize] as usize] = member as u32;
        }
    }

    fn of(&self, cell: IVec3) -> &[u32] {
        let at = hash(cell, self.starts.len() - 1) as usize;
        &self.sorted[self.starts[at] as usize..self.starts[at + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use dermis_mesh::adjacency::Edges;

    use super::*;

    #[test]
    fn sheets_that_face_each_other_have_no_room() {
        let sheet = |z: f64| (0..100).map(move |k| DVec3::new(f64::from(k % 10), f64::from(k / 10), z));
        let normals: Vec<DVec3> = (0..200).map(|k| if k < 100 { DVec3::Z } else { DVec3::NEG_Z }).collect();
        let at = |gap: f64| sheet(0.0).chain(sheet(gap)).collect::<Vec<_>>();
        let grid_of = |first: u32| {
            (0..81).map(move |k| first + 10 * (k / 9) + k % 9).flat_map(|k| [[k, k + 1, k + 11], [k, k + 11, k + 10]])
        };
        let triangles: Vec<[u32; 3]> = grid_of(0).chain(grid_of(100)).collect();
        let neighbours = Edges::new(200, &triangles).point_neighbours();
        let contact = Contact::new(&at(5.0), &neighbours, 1.5);
        let (mut grid, mut room) = (Grid::default(), Vec::new());
        for (gap, expected) in [(5.0, 1.0), (0.75, 0.5), (0.0, 0.0)] {
            contact.measure(&at(gap), &normals, &mut grid, &mut room);
            assert!(room.iter().all(|room| (room - expected).abs() < 1e-9), "{gap}: {room:?}");
        }
        // A thin plate is not in contact with itself.
        let plate = Contact::new(&at(0.1), &neighbours, 1.5);
        plate.measure(&at(0.1), &normals, &mut grid, &mut room);
        assert!(room.iter().all(|room| *room == 1.0));
    }
}
