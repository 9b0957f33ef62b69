//! Memory layout of multi-weights for the kernels: heads of points, and the concatenated entries of all points.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use dermis_mesh::deformer::multi_weights::{HomeFrame, MultiWeights, Precision, centred, others};
use glam::DVec3;

use super::kernel::{HalfRows, HomeColumns, PairIndex, PointHead, Rows, Run, WeightEntry, pose_run};

/// Stream of points and their entries, independent of their types.
pub(super) trait Stream: fmt::Debug + Send + Sync {
    fn point_count(&self) -> usize;
    fn byte_count(&self) -> usize;
    /// Poses `positions.len()` points, starting at `first`.
    fn pose(&self, pairs: &[Rows], homes: &[HomeColumns], first: usize, positions: &mut [[f32; 3]]);
    /// Poses all points with the portable kernel.
    #[cfg(test)]
    fn pose_portably(&self, pairs: &[Rows], homes: &[HomeColumns], positions: &mut [[f32; 3]]);
}

/// Stream with the bones that its indices refer to.
pub(super) struct Streams {
    /// Home bones.
    pub(super) homes: Vec<usize>,
    /// For each pair, the index of its home bone among the homes, and its bone.
    pub(super) pairs: Vec<(usize, usize)>,
    pub(super) stream: Arc<dyn Stream>,
}

/// Lays out the weights with the smallest sufficient index type.
pub(super) fn streams(
    weights: &MultiWeights,
    rest: &[DVec3],
    frames: &[HomeFrame],
    bones: usize,
    precision: Precision,
) -> Streams {
    let numbering = Numbering::new(weights, bones);
    let fits_16_bits = numbering.pairs.len() <= 1 << 16;
    let stream: Arc<dyn Stream> = match (fits_16_bits, precision) {
        (true, Precision::Single) => Arc::new(Layout::<u16, Rows>::new(weights, rest, frames, &numbering)),
        (true, Precision::Half) => Arc::new(Layout::<u16, HalfRows>::new(weights, rest, frames, &numbering)),
        (false, Precision::Single) => Arc::new(Layout::<u32, Rows>::new(weights, rest, frames, &numbering)),
        (false, Precision::Half) => Arc::new(Layout::<u32, HalfRows>::new(weights, rest, frames, &numbering)),
    };
    Streams { homes: numbering.homes, pairs: numbering.pairs.into_keys().collect(), stream }
}

/// Numbering of the home bones and pairs in use, in ascending order.
struct Numbering {
    homes: Vec<usize>,
    /// Index of each bone among the homes.
    home_indices: Vec<usize>,
    /// Map from home bone and bone to the index of the pair.
    pairs: BTreeMap<(usize, usize), usize>,
}

impl Numbering {
    fn new(weights: &MultiWeights, bones: usize) -> Self {
        let mut occurs = vec![false; bones];
        weights.home.iter().for_each(|&home| occurs[home as usize] = true);
        let homes: Vec<usize> = (0..bones).filter(|&bone| occurs[bone]).collect();
        let mut home_indices = vec![0; bones];
        homes.iter().enumerate().for_each(|(index, &home)| home_indices[home] = index);
        let of_point = |point: usize| {
            let home = home_indices[weights.home[point] as usize];
            others(weights, point).map(move |(bone, _)| (home, bone as usize))
        };
        let mut pairs: BTreeMap<_, _> = (0..weights.part_count()).flat_map(of_point).map(|pair| (pair, 0)).collect();
        pairs.values_mut().enumerate().for_each(|(number, value)| *value = number);
        Self { homes, home_indices, pairs }
    }
}

#[derive(Debug)]
struct Layout<I, E> {
    heads: Vec<PointHead>,
    entry_pairs: Vec<I>,
    entries: Vec<E>,
}

impl<I: PairIndex, E: WeightEntry> Layout<I, E> {
    fn new(weights: &MultiWeights, rest: &[DVec3], frames: &[HomeFrame], numbering: &Numbering) -> Self {
        let count = weights.entry_count();
        let mut layout = Self {
            heads: Vec::with_capacity(weights.part_count()),
            entry_pairs: Vec::with_capacity(count),
            entries: Vec::with_capacity(count),
        };
        for (point, &home) in weights.home.iter().enumerate() {
            let (frame, index) = (&frames[home as usize], numbering.home_indices[home as usize]);
            for (bone, entry) in others(weights, point) {
                layout.entry_pairs.push(I::numbered(numbering.pairs[&(index, bone as usize)]));
                layout.entries.push(E::rounded(centred(entry, frame)));
            }
            layout.heads.push(PointHead {
                rest: (rest[point] - frame.centre).as_vec3().to_array(),
                home: index as u32,
                end: layout.entries.len() as u32,
            });
        }
        layout
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

impl<I: PairIndex, E: WeightEntry> Stream for Layout<I, E> {
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
