//! The multi-weights of all points of one home, by local ridge regression of what the underlying skin misses.
//!
//! A point uses the columns of its own bones, scaled by its influence map μ, which is folded into the result (MWE, §4.2).
//! With n bones and m poses a point costs O((4n)³), or O(m³) where there are fewer poses than unknowns: the products of
//! A with itself and with the shapes are shared by all points of the home.

use std::ops::Range;

use dermis_mesh::SkinWeights;
use glam::DVec3;

use super::influences::Influences;
use super::linear::{Part, skinned};
use super::local_ridge::{Ridge, Symmetric};
use super::seen::{Seen, correlated};

/// The bone of an entry and its three rows of four.
pub(super) type Entry = (u32, [[f32; 4]; 3]);

/// The columns of A that a point uses.
#[derive(Debug, Default)]
pub(super) struct Columns {
    /// The first of each bone's four columns.
    pub(super) firsts: Vec<usize>,
    /// μ of each bone.
    pub(super) influences: Vec<f64>,
}

impl Columns {
    pub(super) fn of(seen: &Seen, influences: &Influences, point: u32) -> Self {
        let mut columns = Self::default();
        for (bone, influence) in influences.maps.row(point as usize) {
            if let Some(place) = seen.place(bone) {
                columns.firsts.push(4 * place);
                columns.influences.push(f64::from(influence));
            }
        }
        columns
    }

    /// The number of unknowns, 4n.
    pub(super) fn len(&self) -> usize {
        4 * self.firsts.len()
    }

    /// Each column of A and its scale.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, f64)> {
        self.firsts.iter().zip(&self.influences).flat_map(|(&first, &mu)| (first..first + 4).map(move |c| (c, mu)))
    }

    /// Whether there are at least as many poses as unknowns.
    pub(super) fn is_overdetermined(&self, seen: &Seen) -> bool {
        self.len() <= seen.row_count()
    }

    /// t of the regularization: the total variance, the mean of the three coordinates.
    pub(super) fn total_variance(&self, seen: &Seen) -> f64 {
        let of = |j: usize| self.iter().map(|(column, mu)| mu * mu * seen.variances[j][column]).sum::<f64>();
        (of(0) + of(1) + of(2)) / 3.0
    }

    /// `AᵀA` of the scaled columns, or `AAᵀ` where there are fewer poses than unknowns.
    pub(super) fn product(&self, seen: &Seen, j: usize, out: &mut Symmetric) {
        if let Some(covariances) = seen.covariances.as_ref().filter(|_| self.is_overdetermined(seen)) {
            out.reset(self.len());
            for (i, (row, mu)) in self.iter().enumerate() {
                // The covariance is symmetric: its column is the row, and lies in one piece.
                let all = covariances[j].col_as_slice(row);
                for (entry, (column, other)) in out.row_mut(i).iter_mut().zip(self.iter()) {
                    *entry = mu * other * all[column];
                }
            }
            return;
        }
        out.reset(seen.row_count());
        if let Some(products) = &seen.bone_products {
            let size = out.re.len();
            for (&first, &mu) in self.firsts.iter().zip(&self.influences) {
                let product = &products[j][first / 4 * size..][..size];
                out.re.iter_mut().zip(product).for_each(|(entry, product)| *entry += mu * mu * product);
            }
            return;
        }
        for (column, mu) in self.iter() {
            let values = seen.a[j].col_as_slice(column);
            for (i, value) in values.iter().enumerate() {
                let scaled = mu * mu * value;
                out.row_mut(i).iter_mut().zip(values).for_each(|(entry, other)| *entry += scaled * other);
            }
        }
    }
}

/// The entries of `points`, which all have the home that `seen` is of.
pub(super) fn solve_block(
    part: &Part<'_>,
    seen: &Seen,
    influences: &Influences,
    linear: &SkinWeights,
    ridge: &Ridge,
    points: Range<usize>,
) -> Vec<Vec<Entry>> {
    let points = &part.points[points];
    let all: Vec<Columns> = points.iter().map(|&point| Columns::of(seen, influences, point)).collect();
    let (b, means) = seen.right_hand_sides(points.len(), |pose, place| {
        let (point, transforms) = (points[place] as usize, part.examples.transforms(pose));
        let target = part.examples.target(pose)[point].as_dvec3();
        target - skinned(linear.row(point), transforms, part.rest[point].as_dvec3())
    });
    let smooth_to_nothing = ridge.smoothness.is_infinite();
    let any_overdetermined = !smooth_to_nothing && all.iter().any(|columns| columns.is_overdetermined(seen));
    let g = any_overdetermined.then(|| [0, 1, 2].map(|j| correlated(seen.a[j].as_ref(), b[j].as_ref())));
    let mut scratch = (Symmetric::default(), Vec::new());
    let entries = points.iter().zip(&all).enumerate().map(|(place, (&point, columns))| {
        let base = Base { linear, point, rest: part.rest[point as usize].as_dvec3() };
        if smooth_to_nothing {
            return base.entries(seen, &Columns::default(), &[const { Vec::new() }; 3], DVec3::ZERO);
        }
        let total = columns.total_variance(seen);
        let weights = [0, 1, 2].map(|j| {
            columns.product(seen, j, &mut scratch.0);
            let g = g.as_ref().map(|g| g[j].col_as_slice(place));
            solve_one(seen, columns, j, (b[j].col_as_slice(place), g), (ridge, total), &mut scratch)
        });
        base.entries(seen, columns, &weights, means[place])
    });
    entries.collect()
}

/// The weights of one point and coordinate on its columns, μ folded in.
fn solve_one(
    seen: &Seen,
    columns: &Columns,
    j: usize,
    (b, g): (&[f64], Option<&[f64]>),
    (ridge, total): (&Ridge, f64),
    (product, x): &mut (Symmetric, Vec<f64>),
) -> Vec<f64> {
    x.clear();
    match g {
        Some(g) if columns.is_overdetermined(seen) => {
            x.extend(columns.iter().map(|(column, mu)| mu * g[column]));
            ridge.apply(product, total, x);
            columns.iter().zip(x).map(|((_, mu), x)| mu * *x).collect()
        }
        _ => {
            x.extend_from_slice(b);
            ridge.apply(product, total, x);
            let along = |column: usize| seen.a[j].col_as_slice(column).iter().zip(&*x).map(|(a, x)| a * x).sum::<f64>();
            columns.iter().map(|(column, mu)| mu * mu * along(column)).collect()
        }
    }
}

/// A point and the linear skin below it.
struct Base<'a> {
    linear: &'a SkinWeights,
    point: u32,
    rest: DVec3,
}

impl Base<'_> {
    /// The folded entries: weights on centred and scaled columns become weights on the entries of `M_k`, constants go to
    /// the home bone, whose matrix is the identity, and the linear skin is added.
    fn entries(&self, seen: &Seen, columns: &Columns, weights: &[Vec<f64>; 3], mean: DVec3) -> Vec<Entry> {
        let mut folded: Vec<(u32, [[f64; 4]; 3])> = Vec::with_capacity(columns.firsts.len() + 4);
        let mut constant = mean;
        for (k, &first) in columns.firsts.iter().enumerate() {
            let mut rows = [[0.0; 4]; 3];
            for (j, row) in rows.iter_mut().enumerate() {
                let own = &weights[j][4 * k..4 * k + 4];
                let means = &seen.means[j][first..first + 4];
                let along = own[3] / seen.size;
                constant[j] -= own.iter().zip(means).map(|(w, mean)| w * mean).sum::<f64>() + along * seen.centre[j];
                let turned = DVec3::from_slice(own) + along * seen.centre;
                *row = turned.extend(along).to_array();
            }
            folded.push((seen.bones[first / 4], rows));
        }
        for (bone, weight) in self.linear.row(self.point as usize) {
            let row = (self.rest.extend(1.0) * f64::from(weight)).to_array();
            add(&mut folded, bone, [row; 3]);
        }
        let diagonal = |j: usize| std::array::from_fn(|i| if i == j { constant[j] } else { 0.0 });
        add(&mut folded, seen.home, [0, 1, 2].map(diagonal));
        folded.into_iter().map(|(bone, rows)| (bone, rows.map(|row| row.map(|weight| weight as f32)))).collect()
    }
}

/// Adds to the entry of `bone`, which is made where there is none; entries stay in the order of their bones.
fn add(entries: &mut Vec<(u32, [[f64; 4]; 3])>, bone: u32, rows: [[f64; 4]; 3]) {
    match entries.binary_search_by_key(&bone, |(bone, _)| *bone) {
        Ok(at) => {
            for (sum, row) in entries[at].1.iter_mut().flatten().zip(rows.into_iter().flatten()) {
                *sum += row;
            }
        }
        Err(at) => entries.insert(at, (bone, rows)),
    }
}
