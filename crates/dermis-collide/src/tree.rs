//! Bounded deformation tree of a skinned mesh (James & Pai 2004), with a subtree for the region of each bone.
//!
//! Points are posed by `x_i = Σ_b w_ib T_b d_i`, with joint transforms `T_b = (A_b, v_b)` and rest points displaced by
//! blend shapes, `d_i = p_i + Σ_k s_k o_ik`. A node with the points S has the centre p̄ of their rest positions, their mean
//! weights `μ_b` and the centres `ō_k` of their offsets. With `q = p̄ + Σ_k s_k ō_k` and the bone h of largest `|μ|`, its
//! sphere in a pose has
//!
//! - the centre `c = Σ_b μ_b T_b q`,
//! - the radius `a σ (R + Σ_k |s_k| ρ_k) + Σ_b Δ_b ‖T_b q − T_h q‖ + δ ‖T_h q‖`,
//!
//! with `R = max ‖p_i − p̄‖`, `ρ_k = max ‖o_ik − ō_k‖`, `Δ_b = max |w_ib − μ_b|`, `a = max Σ_b |w_ib|`, the largest stretch
//! σ of a bone of the node, and `δ = max |Σ_b w_ib − Σ_b μ_b|`. The sphere contains all points of S, because
//! `x_i − c = Σ_b w_ib A_b (d_i − q) + Σ_b (w_ib − μ_b) T_b q`, and the second sum is
//! `Σ_b (w_ib − μ_b) (T_b q − T_h q) + (Σ_b w_ib − Σ_b μ_b) T_h q`. A sphere takes O(r) operations, for the r bones and
//! shapes of the node. Δ is 0 if one bone moves all points, and small if weights vary slowly. If weights vary, the node is
//! near a joint, and `T_b q` and `T_h q` are close to each other.
//!
//! Notation: p̄ is `centre`, μ and Δ are `mean` and `spread` of an influence, ō and ρ those of a shape, R is `radius`,
//! a is `weight_sum`, δ is `sum_spread`. A region consists of the triangles whose largest weight is on the same bone;
//! it is a binary tree, split at the median of the longest axis. In each pose, the spheres above the regions are
//! computed by merging those below.

use dermis_mesh::{Object, Rig, TriMesh};
use glam::DVec3;

use crate::CollideError;

/// Maximum number of triangles in a leaf.
const MAX_LEAF_TRIANGLES: usize = 8;

/// Tree of bounding spheres over the triangles of a rigged mesh.
#[derive(Debug, Clone)]
pub struct DeformationTree {
    pub(crate) points: Vec<DVec3>,
    pub(crate) triangles: Vec<[u32; 3]>,
    /// Triangles in the order of the leaves.
    pub(crate) order: Vec<u32>,
    /// Row of each point in `joints` and `weights`.
    pub(crate) rows: Vec<u32>,
    pub(crate) joints: Vec<u32>,
    pub(crate) weights: Vec<f64>,
    /// Offsets of each shape.
    pub(crate) shapes: Vec<Vec<DVec3>>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) influences: Vec<Influence>,
    /// One per node and shape.
    pub(crate) offsets: Vec<Offset>,
    /// Pairs of children above the regions; the last pair is the root. Indices from `nodes.len()` refer to earlier pairs.
    pub(crate) tops: Vec<[u32; 2]>,
    pub(crate) regions: Vec<u32>,
    pub(crate) inverse_binds: Vec<glam::DAffine3>,
}

/// A node inside a region.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node {
    pub(crate) centre: DVec3,
    pub(crate) radius: f64,
    pub(crate) weight_sum: f64,
    pub(crate) sum_spread: f64,
    /// Influences `first..last` of the tree; the one of largest weight is the first.
    pub(crate) influences: [u32; 2],
    /// Triangles `first..last` of the order.
    pub(crate) triangles: [u32; 2],
    /// Second child; the first is the next node. 0 for leaves.
    pub(crate) second: u32,
}

/// A bone of a node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Influence {
    pub(crate) joint: u32,
    pub(crate) mean: f64,
    pub(crate) spread: f64,
}

/// A shape of a node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offset {
    pub(crate) mean: DVec3,
    pub(crate) spread: f64,
}

impl DeformationTree {
    /// Builds the tree of an object. Without a rig, its points are fixed.
    pub fn new(object: &Object) -> Result<Self, CollideError> {
        if object.sequence.is_some() && (object.rig.is_none() || object.clips.is_empty()) {
            return Err(CollideError::NoSkin(object.name.clone()));
        }
        if let Some(layer) = object.deformers.first() {
            return Err(CollideError::Layer { object: object.name.clone(), layer: layer.kind().to_owned() });
        }
        if object.mesh.triangle_count() == 0 {
            return Err(CollideError::NoTriangles(object.name.clone()));
        }
        Ok(Self::of_mesh(&object.mesh, object.rig.as_deref()))
    }

    /// Builds the tree of a mesh that has triangles and is moved by `rig`.
    fn of_mesh(mesh: &TriMesh, rig: Option<&Rig>) -> Self {
        let (mut rows, mut joints, mut weights) = (vec![0], Vec::new(), Vec::new());
        for point in 0..mesh.point_count() {
            if let Some(rig) = rig.filter(|rig| !rig.joints().is_empty()) {
                for (joint, weight) in rig.weights().row(point).filter(|(_, weight)| *weight != 0.0) {
                    joints.push(joint);
                    weights.push(f64::from(weight));
                }
            }
            rows.push(joints.len() as u32);
        }
        let shapes = rig.map_or(&[][..], |rig| rig.shapes()).iter();
        let shapes = shapes.map(|shape| shape.offsets.iter().map(|offset| offset.as_dvec3()).collect()).collect();
        let inverse_binds = rig.map_or(&[][..], |rig| rig.joints()).iter().map(|joint| joint.inverse_bind).collect();
        let mut tree = Self {
            points: mesh.points().iter().map(|point| point.as_dvec3()).collect(),
            triangles: mesh.triangles().to_vec(),
            order: Vec::new(),
            rows,
            joints,
            weights,
            shapes,
            nodes: Vec::new(),
            influences: Vec::new(),
            offsets: Vec::new(),
            tops: Vec::new(),
            regions: Vec::new(),
            inverse_binds,
        };
        let bones: Vec<u32> = (0..tree.triangles.len()).map(|triangle| tree.bone_of(triangle)).collect();
        tree.order = (0..tree.triangles.len() as u32).collect();
        tree.order.sort_by_key(|&triangle| bones[triangle as usize]);
        let mut start = 0;
        while start < tree.order.len() {
            let bone = bones[tree.order[start] as usize];
            let count = tree.order[start..].iter().take_while(|&&triangle| bones[triangle as usize] == bone).count();
            tree.regions.push(tree.nodes.len() as u32);
            let mut builder = Builder { tree: &mut tree, points: Vec::new() };
            builder.build(start, start + count);
            start += count;
        }
        tree.join_regions();
        tree
    }

    /// Number of spheres, including those above the regions.
    pub fn sphere_count(&self) -> usize {
        self.nodes.len() + self.tops.len()
    }

    /// Number of regions.
    pub fn region_count(&self) -> usize {
        self.regions.len()
    }

    /// Number of triangles.
    pub fn triangle_count(&self) -> usize {
        self.triangles.len()
    }

    /// Number of joints of the rig.
    pub fn joint_count(&self) -> usize {
        self.inverse_binds.len()
    }

    /// Number of shapes of the rig.
    pub fn shape_count(&self) -> usize {
        self.shapes.len()
    }

    /// Joints of a point and their weights.
    pub(crate) fn row(&self, point: u32) -> impl Iterator<Item = (u32, f64)> + '_ {
        let row = self.rows[point as usize] as usize..self.rows[point as usize + 1] as usize;
        self.joints[row.clone()].iter().copied().zip(self.weights[row].iter().copied())
    }

    /// Bone of largest weight of a triangle.
    fn bone_of(&self, triangle: usize) -> u32 {
        let mut sums: Vec<(u32, f64)> = self.triangles[triangle].iter().flat_map(|&point| self.row(point)).collect();
        sums.sort_by_key(|(joint, _)| *joint);
        sums.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0.0 };
            same
        });
        let largest = sums.into_iter().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
        largest.map_or(0, |(joint, _)| joint)
    }

    /// Joins the roots of the regions pairwise, starting with the pair whose common sphere in the rest pose is smallest.
    fn join_regions(&mut self) {
        let mut open: Vec<(u32, DVec3, f64)> = self
            .regions
            .iter()
            .map(|&root| (root, self.nodes[root as usize].centre, self.nodes[root as usize].radius))
            .collect();
        while open.len() > 1 {
            let mut best = (f64::INFINITY, 0, 1);
            for first in 0..open.len() {
                for second in first + 1..open.len() {
                    let (_, radius) = merged((open[first].1, open[first].2), (open[second].1, open[second].2));
                    if radius < best.0 {
                        best = (radius, first, second);
                    }
                }
            }
            let (_, first, second) = best;
            let (b, a) = (open.swap_remove(second), open.swap_remove(first));
            let (centre, radius) = merged((a.1, a.2), (b.1, b.2));
            open.push(((self.nodes.len() + self.tops.len()) as u32, centre, radius));
            self.tops.push([a.0, b.0]);
        }
    }
}

/// Smallest sphere around two spheres.
pub(crate) fn merged((a, r): (DVec3, f64), (b, s): (DVec3, f64)) -> (DVec3, f64) {
    let distance = a.distance(b);
    if distance + s <= r {
        return (a, r);
    }
    if distance + r <= s {
        return (b, s);
    }
    let radius = (distance + r + s) / 2.0;
    (a + (b - a) * ((radius - r) / distance), radius)
}

struct Builder<'a> {
    tree: &'a mut DeformationTree,
    /// Points of the current node.
    points: Vec<u32>,
}

impl Builder<'_> {
    fn build(&mut self, start: usize, end: usize) {
        let index = self.tree.nodes.len();
        self.add_node(start, end);
        if end - start <= MAX_LEAF_TRIANGLES {
            return;
        }
        let (mut low, mut high) = (DVec3::MAX, DVec3::MIN);
        for &point in &self.points {
            let position = self.tree.points[point as usize];
            (low, high) = (low.min(position), high.max(position));
        }
        let size = high - low;
        let axis = (0..3).max_by(|&a, &b| size[a].total_cmp(&size[b])).unwrap_or(0);
        let (points, triangles) = (&self.tree.points, &self.tree.triangles);
        let coordinate = |t: u32| triangles[t as usize].iter().map(|&point| points[point as usize][axis]).sum::<f64>();
        let middle = (end - start) / 2;
        self.tree.order[start..end]
            .select_nth_unstable_by(middle, |&a, &b| coordinate(a).total_cmp(&coordinate(b)).then(a.cmp(&b)));
        self.build(start, start + middle);
        self.tree.nodes[index].second = self.tree.nodes.len() as u32;
        self.build(start + middle, end);
    }

    fn add_node(&mut self, start: usize, end: usize) {
        let tree = &mut *self.tree;
        self.points.clear();
        let own = tree.order[start..end].iter().flat_map(|&triangle| tree.triangles[triangle as usize]);
        self.points.extend(own);
        self.points.sort_unstable();
        self.points.dedup();
        let points = &self.points;
        let (centre, radius) = enclosing(&points.iter().map(|&point| tree.points[point as usize]));
        let first = tree.influences.len();
        let spread = add_influences(tree, points);
        for offsets in &tree.shapes {
            let (mean, spread) = enclosing(&points.iter().map(|&point| offsets[point as usize]));
            tree.offsets.push(Offset { mean, spread });
        }
        let weight_sum = |&point: &u32| tree.row(point).map(|(_, weight)| weight.abs()).sum::<f64>();
        tree.nodes.push(Node {
            centre,
            radius,
            weight_sum: points.iter().map(weight_sum).fold(0.0, f64::max),
            sum_spread: spread,
            influences: [first as u32, tree.influences.len() as u32],
            triangles: [start as u32, end as u32],
            second: 0,
        });
    }
}

/// Adds the bones of a node. Returns the spread of the sums of weights.
fn add_influences(tree: &mut DeformationTree, points: &[u32]) -> f64 {
    let mut all: Vec<(u32, u32, f64)> = Vec::new();
    for &point in points {
        all.extend(tree.row(point).map(|(joint, weight)| (joint, point, weight)));
    }
    // Repeated joints of a point are merged.
    all.sort_by_key(|&(joint, point, _)| (joint, point));
    all.dedup_by(|next, kept| {
        let same = (next.0, next.1) == (kept.0, kept.1);
        kept.2 += if same { next.2 } else { 0.0 };
        same
    });
    let first = tree.influences.len();
    let count = points.len() as f64;
    for group in all.chunk_by(|a, b| a.0 == b.0) {
        // Points that the bone does not influence have the weight 0.
        let in_all = group.len() == points.len();
        let start = if in_all { (f64::INFINITY, f64::NEG_INFINITY) } else { (0.0, 0.0) };
        let (low, high) = group.iter().fold(start, |(low, high), (_, _, w)| (w.min(low), w.max(high)));
        let mean = group.iter().map(|(_, _, weight)| weight).sum::<f64>() / count;
        let spread = (high - mean).max(mean - low).max(0.0);
        tree.influences.push(Influence { joint: group[0].0, mean, spread });
    }
    tree.influences[first..].sort_by(|a, b| b.mean.abs().total_cmp(&a.mean.abs()).then(a.joint.cmp(&b.joint)));
    let mean_sum: f64 = tree.influences[first..].iter().map(|influence| influence.mean).sum();
    let sum = |&point: &u32| (tree.row(point).map(|(_, weight)| weight).sum::<f64>() - mean_sum).abs();
    points.iter().map(sum).fold(0.0, f64::max)
}

/// Sphere around points: the smaller of the one around the centre of their box and that of Ritter 1990.
fn enclosing(points: &(impl Iterator<Item = DVec3> + Clone)) -> (DVec3, f64) {
    let (low, high) =
        points.clone().fold((DVec3::MAX, DVec3::MIN), |(low, high), point| (low.min(point), high.max(point)));
    let middle = low.midpoint(high);
    let reach = |centre: DVec3| points.clone().map(|point| point.distance(centre)).fold(0.0, f64::max);
    let of_box = (middle, reach(middle));
    let farthest = |from: DVec3| {
        points.clone().max_by(|a, b| a.distance_squared(from).total_cmp(&b.distance_squared(from))).unwrap_or(from)
    };
    let first = farthest(low);
    let second = farthest(first);
    let mut ritter = (first.midpoint(second), first.distance(second) / 2.0);
    for point in points.clone() {
        ritter = merged(ritter, (point, 0.0));
    }
    let ritter = (ritter.0, reach(ritter.0));
    if ritter.1 < of_box.1 { ritter } else { of_box }
}
