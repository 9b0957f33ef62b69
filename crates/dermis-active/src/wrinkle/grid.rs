//! Hash grid over the rest shape for queries of nearby positions.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use glam::{IVec3, Vec3};

/// Values by cell.
pub(super) type CellMap<T> = HashMap<IVec3, T, BuildHasherDefault<CellHasher>>;

/// Fast hash of three small integers. Cells are not adversarial, and the standard hash takes a third of the run time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CellHasher(u64);

impl Hasher for CellHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_i32(i32::from(byte));
        }
    }

    fn write_i32(&mut self, number: i32) {
        // The multiplication by a large odd number mixes low bits upwards; the shift mixes them back down.
        self.0 = (self.0 ^ u64::from(number.cast_unsigned())).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 ^= self.0 >> 29;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Items by the cell of their position.
#[derive(Debug, Clone)]
pub(super) struct Grid<T> {
    cell: f32,
    cells: CellMap<Vec<(Vec3, T)>>,
}

impl<T: Copy> Grid<T> {
    /// Creates an empty grid of cells of size `cell`, which is also the maximum distance of [`Grid::near`].
    pub(super) fn new(cell: f32) -> Self {
        Self { cell, cells: CellMap::default() }
    }

    pub(super) fn insert(&mut self, position: Vec3, item: T) {
        self.cells.entry(cell_of(position, self.cell)).or_default().push((position, item));
    }

    /// Items within `distance` of `position`. The distance is at most the size of a cell.
    pub(super) fn near(&self, position: Vec3, distance: f32) -> impl Iterator<Item = (f32, T)> + '_ {
        let (low, high) = (cell_of(position - distance, self.cell), cell_of(position + distance, self.cell));
        let cells = cells_between(low, high).filter_map(|cell| self.cells.get(&cell));
        cells.flatten().filter_map(move |&(other, item)| {
            let apart = other.distance(position);
            (apart <= distance).then_some((apart, item))
        })
    }
}

/// Cell of `position`.
pub(super) fn cell_of(position: Vec3, size: f32) -> IVec3 {
    (position / size).floor().as_ivec3()
}

/// All cells of the box between two cells.
pub(super) fn cells_between(low: IVec3, high: IVec3) -> impl Iterator<Item = IVec3> {
    (low.x..=high.x)
        .flat_map(move |x| (low.y..=high.y).flat_map(move |y| (low.z..=high.z).map(move |z| IVec3::new(x, y, z))))
}
