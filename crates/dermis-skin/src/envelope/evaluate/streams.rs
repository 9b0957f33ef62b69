//! Multi-weights as the kernels read them: heads of points, and the entries of all points in a row.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use dermis_mesh::deformer::multi_weights::{HomeFrame, MultiWeights, Precision, centred, others};
use glam::DVec3;

use super::kernel::{Entry, HalfRows, HomeColumns, PairIndex, PointHead, Rows, Run, pose_run};

/// A stream of points and their entries, whatever their types.
pub(super) trait Stream: fmt::Debug + Send + Sync {
    fn point_count(&self) -> usize;
    fn byte_count(&self) -> usize;
    /// Poses the points from `first` on, as many as `positions` holds.
    fn pose(&self, pairs: &[Rows], homes: &[HomeColumns], first: usize, positions: &mut [[f32; 3]]);
    /// Poses all points as processors without SIMD do.
    #[cfg(test)]
    fn pose_portably(&self, pairs: &[Rows], homes: &[HomeColumns], positions: &mut [[f32; 3]]);
}

/// A stream, and the bones that its numbers stand for.
pub(super) struct Streams {
    /// The bones that are homes.
    pub(super) homes: Vec<usize>,
    /// Each pair's home, by its place among the homes, and its bone.
    pub(super) pairs: Vec<(usize, usize)>,
    pub(super) stream: Arc<dyn Stream>,
}

/// The weights, laid out with the narrowest numbers that do.
pub(super) fn streams(
    weights: &MultiWeights,
    rest: &[DVec3],
    frames: &[HomeFrame],
    bones: usize,
    precision: Precision,
) -> Streams {
    let numbers = Numbers::new(weights, bones);
    let fits_16_bits = numbers.pairs.len() <= 1 << 16;
    let stream: Arc<dyn Stream> = match (fits_16_bits, precision) {
        (true, Precision::Single) => Arc::new(Laid::<u16, Rows>::new(weights, rest, frames, &numbers)),
        (true, Precision::Half) => Arc::new(Laid::<u16, HalfRows>::new(weights, rest, frames, &numbers)),
        (false, Precision::Single) => Arc::new(Laid::<u32, Rows>::new(weights, rest, frames, &numbers)),
        (false, Precision::Half) => Arc::new(Laid::<u32, HalfRows>::new(weights, rest, frames, &numbers)),
    };
    Streams { homes: numbers.homes, pairs: numbers.pairs.into_keys().collect(), stream }
}

/// The homes and pairs that occur, numbered in ascending order.
struct Numbers {
    homes: Vec<usize>,
    /// The place of each bone among the homes.
    places: Vec<usize>,
    /// From home and bone to number.
    pairs: BTreeMap<(usize, usize), usize>,
}

impl Numbers {
    fn new(weights: &MultiWeights, bones: usize) -> Self {
        let mut occurs = vec![false; bones];
        weights.home.iter().for_each(|&home| occurs[home as usize] = true);
        let homes: Vec<usize> = (0..bones).filter(|&bone| occurs[bone]).collect();
        let mut places = vec![0; bones];
        homes.iter().enumerate().for_each(|(place, &home)| places[home] = place);
        let of_point = |point: usize| {
            let home = places[weights.home[point] as usize];
            others(weights, point).map(move |(bone, _)| (home, bone as usize))
        };
        let mut pairs: BTreeMap<_, _> = (0..weights.part_count()).flat_map(of_point).map(|pair| (pair, 0)).collect();
        pairs.values_mut().enumerate().for_each(|(number, value)| *value = number);
        Self { homes, places, pairs }
    }
}

#[derive(Debug)]
struct Laid<I, E> {
    heads: Vec<PointHead>,
    entry_pairs: Vec<I>,
    entries: Vec<E>,
}

impl<I: PairIndex, E: Entry> Laid<I, E> {
    fn new(weights: &MultiWeights, rest: &[DVec3], frames: &[HomeFrame], numbers: &Numbers) -> Self {
        let count = weights.entry_count();
        let mut laid = Self {
            heads: Vec::with_capacity(weights.part_count()),
            entry_pairs: Vec::with_capacity(count),
            entries: Vec::with_capacity(count),
        };
        for (point, &home) in weights.home.iter().enumerate() {
            let (frame, place) = (&frames[home as usize], numbers.places[home as usize]);
            for (bone, entry) in others(weights, point) {
                laid.entry_pairs.push(I::numbered(numbers.pairs[&(place, bone as usize)]));
                laid.entries.push(E::rounded(centred(entry, frame)));
            }
            laid.heads.push(PointHead {
                rest: (rest[point] - frame.centre).as_vec3().to_array(),
                home: place as u32,
                end: laid.entries.len() as u32,
            });
        }
        laid
    }

    fn run<'a>(&'a self, pairs: &'a [Rows], homes: &'a [HomeColumns], first: usize, count: usize) -> Run<'a, I, E> {
        Run {
            pairs,
            homes,
            heads: &self.heads[first..first + count],
            first: first.checked_sub(1).map_or(0, |before| self.heads[before].end as usize),
            entry_pairs: &self.entry_pairs,
            entries: &self.entries,
        }
    }
}

impl<I: PairIndex, E: Entry> Stream for Laid<I, E> {
    fn point_count(&self) -> usize {
        self.heads.len()
    }

    fn byte_count(&self) -> usize {
        size_of_val(&*self.heads) + size_of_val(&*self.entry_pairs) + size_of_val(&*self.entries)
    }

    fn pose(&self, pairs: &[Rows], homes: &[HomeColumns], first: usize, positions: &mut [[f32; 3]]) {
        pose_run(&self.run(pairs, homes, first, positions.len()), positions);
    }

    #[cfg(test)]
    fn pose_portably(&self, pairs: &[Rows], homes: &[HomeColumns], positions: &mut [[f32; 3]]) {
        super::portable::pose(&self.run(pairs, homes, 0, positions.len()), positions);
    }
}
