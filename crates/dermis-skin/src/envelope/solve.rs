//! Multi-weights of all points of one home bone, by local ridge regression of the residual of the underlying skin.
//!
//! A point uses the columns of its own bones, scaled by its influence map μ, which is folded into the result (MWE,
//! §4.2). With n bones and m poses a point costs O((4n)³), or O(m³) if there are fewer poses than unknowns. The
//! products of A with itself and with the shapes are shared by all points of the home.

use std::ops::Range;

use dermis_mesh::SkinWeights;
use glam::DVec3;

use super::design_matrix::{DesignMatrix, correlated};
use super::influences::InfluenceMaps;
use super::linear::{Subset, skinned};
use super::local_ridge::{Ridge, Symmetric};

/// Bone of an entry and its three rows of four weights.
pub(super) type Entry = (u32, [[f32; 4]; 3]);

/// Columns of A used by a point.
#[derive(Debug, Default)]
pub(super) struct Columns {
    /// First of the four columns of each bone.
    pub(super) firsts: Vec<usize>,
    /// μ of each bone.
    pub(super) influences: Vec<f64>,
}

impl Columns {
    pub(super) fn of(design: &DesignMatrix, influences: &InfluenceMaps, point: u32) -> Self {
        let mut columns = Self::default();
        for (bone, influence) in influences.maps.row(point as usize) {
            if let Some(index) = design.index_of(bone) {
                columns.firsts.push(4 * index);
                columns.influences.push(f64::from(influence));
            }
        }
        columns
    }

    /// Number of unknowns, 4n.
    pub(super) fn len(&self) -> usize {
        4 * self.firsts.len()
    }

    /// Columns of A with their scales.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, f64)> {
        self.firsts.iter().zip(&self.influences).flat_map(|(&first, &mu)| (first..first + 4).map(move |c| (c, mu)))
    }

    /// Returns true if there are at least as many poses as unknowns.
    pub(super) fn is_overdetermined(&self, design: &DesignMatrix) -> bool {
        self.len() <= design.row_count()
    }

    /// t of the regularization: the total variance, as the mean of the three coordinates.
    pub(super) fn total_variance(&self, design: &DesignMatrix) -> f64 {
        let of = |j: usize| self.iter().map(|(column, mu)| mu * mu * design.variances[j][column]).sum::<f64>();
        (of(0) + of(1) + of(2)) / 3.0
    }

    /// `AᵀA` of the scaled columns, or `AAᵀ` if there are fewer poses than unknowns.
    pub(super) fn product(&self, design: &DesignMatrix, j: usize, out: &mut Symmetric) {
        if let Some(covariances) = design.covariances.as_ref().filter(|_| self.is_overdetermined(design)) {
            out.reset(self.len());
            for (i, (row, mu)) in self.iter().enumerate() {
                // The covariance is symmetric: its column equals the row and is contiguous.
                let all = covariances[j].col_as_slice(row);
                for (entry, (column, other)) in out.row_mut(i).iter_mut().zip(self.iter()) {
                    *entry = mu * other * all[column];
                }
            }
            return;
        }
        out.reset(design.row_count());
        if let Some(products) = &design.bone_products {
            let size = out.re.len();
            for (&first, &mu) in self.firsts.iter().zip(&self.influences) {
                let product = &products[j][first / 4 * size..][..size];
                out.re.iter_mut().zip(product).for_each(|(entry, product)| *entry += mu * mu * product);
            }
            return;
        }
        for (column, mu) in self.iter() {
            let values = design.a[j].col_as_slice(column);
            for (i, value) in values.iter().enumerate() {
                let scaled = mu * mu * value;
                out.row_mut(i).iter_mut().zip(values).for_each(|(entry, other)| *entry += scaled * other);
            }
        }
    }
}

/// Entries of `points`, which all have the home bone of `design`.
pub(super) fn solve_block(
    subset: &Subset<'_>,
    design: &DesignMatrix,
    influences: &InfluenceMaps,
    linear: &SkinWeights,
    ridge: &Ridge,
    points: Range<usize>,
) -> Vec<Vec<Entry>> {
    let points = &subset.points[points];
    let all: Vec<Columns> = points.iter().map(|&point| Columns::of(design, influences, point)).collect();
    let (b, means) = design.right_hand_sides(points.len(), |pose, index| {
        let (point, transforms) = (points[index] as usize, subset.examples.transforms(pose));
        let target = subset.examples.target(pose)[point].as_dvec3();
        target - skinned(linear.row(point), transforms, subset.rest[point].as_dvec3())
    });
    let smooth_to_nothing = ridge.smoothness.is_infinite();
    let any_overdetermined = !smooth_to_nothing && all.iter().any(|columns| columns.is_overdetermined(design));
    let g = any_overdetermined.then(|| [0, 1, 2].map(|j| correlated(design.a[j].as_ref(), b[j].as_ref())));
    let mut scratch = (Symmetric::default(), Vec::new());
    let entries = points.iter().zip(&all).enumerate().map(|(index, (&point, columns))| {
        let base = Base { linear, point, rest: subset.rest[point as usize].as_dvec3() };
        if smooth_to_nothing {
            return base.entries(design, &Columns::default(), &[const { Vec::new() }; 3], DVec3::ZERO);
        }
        let total = columns.total_variance(design);
        let weights = [0, 1, 2].map(|j| {
            columns.product(design, j, &mut scratch.0);
            let g = g.as_ref().map(|g| g[j].col_as_slice(index));
            solve_one(design, columns, j, (b[j].col_as_slice(index), g), (ridge, total), &mut scratch)
        });
        base.entries(design, columns, &weights, means[index])
    });
    entries.collect()
}

/// Weights of one point and coordinate, with μ folded in.
fn solve_one(
    design: &DesignMatrix,
    columns: &Columns,
    j: usize,
    (b, g): (&[f64], Option<&[f64]>),
    (ridge, total): (&Ridge, f64),
    (product, x): &mut (Symmetric, Vec<f64>),
) -> Vec<f64> {
    x.clear();
    match g {
        Some(g) if columns.is_overdetermined(design) => {
            x.extend(columns.iter().map(|(column, mu)| mu * g[column]));
            ridge.apply(product, total, x);
            columns.iter().zip(x).map(|((_, mu), x)| mu * *x).collect()
        }
        _ => {
            x.extend_from_slice(b);
            ridge.apply(product, total, x);
            let along =
                |column: usize| design.a[j].col_as_slice(column).iter().zip(&*x).map(|(a, x)| a * x).sum::<f64>();
            columns.iter().map(|(column, mu)| mu * mu * along(column)).collect()
        }
    }
}

/// Point with its underlying linear skin.
struct Base<'a> {
    linear: &'a SkinWeights,
    point: u32,
    rest: DVec3,
}

impl Base<'_> {
    /// Folded entries. Weights on centred and scaled columns become weights on the entries of `M_k`, constants are
    /// assigned to the home bone, whose matrix is the identity, and the linear skin is added.
    fn entries(&self, design: &DesignMatrix, columns: &Columns, weights: &[Vec<f64>; 3], mean: DVec3) -> Vec<Entry> {
        let mut folded: Vec<(u32, [[f64; 4]; 3])> = Vec::with_capacity(columns.firsts.len() + 4);
        let mut constant = mean;
        for (k, &first) in columns.firsts.iter().enumerate() {
            let mut rows = [[0.0; 4]; 3];
            for (j, row) in rows.iter_mut().enumerate() {
                let own = &weights[j][4 * k..4 * k + 4];
                let means = &design.means[j][first..first + 4];
                let along = own[3] / design.size;
                constant[j] -= own.iter().zip(means).map(|(w, mean)| w * mean).sum::<f64>() + along * design.centre[j];
                let linear = DVec3::from_slice(own) + along * design.centre;
                *row = linear.extend(along).to_array();
            }
            folded.push((design.bones[first / 4], rows));
        }
        for (bone, weight) in self.linear.row(self.point as usize) {
            let row = (self.rest.extend(1.0) * f64::from(weight)).to_array();
            add(&mut folded, bone, [row; 3]);
        }
        let diagonal = |j: usize| std::array::from_fn(|i| if i == j { constant[j] } else { 0.0 });
        add(&mut folded, design.home, [0, 1, 2].map(diagonal));
        folded.into_iter().map(|(bone, rows)| (bone, rows.map(|row| row.map(|weight| weight as f32)))).collect()
    }
}

/// Adds to the entry of `bone`, which is created if necessary; entries are in ascending order of their bones.
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
