//! A deformation tree in a pose. Spheres and points are evaluated when a query needs them, and cached until the next
//! pose.

use dermis_mesh::Clip;
use dermis_mesh::surface_tree::closest_point;
use glam::{DAffine3, DMat3, DVec3};

use crate::CollideError;
use crate::tree::{DeformationTree, merged};

/// Relative enlargement of spheres, since posing rounds points to f32, and sums in f64 are not exact.
const ROUNDING: f64 = 1e-6;

/// A sphere that contains a part of the surface.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sphere {
    /// Centre.
    pub centre: DVec3,
    /// Radius.
    pub radius: f64,
}

impl Sphere {
    /// Returns true if the spheres have a common point.
    pub fn meets(&self, other: &Self) -> bool {
        self.centre.distance_squared(other.centre) <= (self.radius + other.radius).powi(2)
    }
}

/// Contact of a ball with the surface.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SurfaceContact {
    /// Triangle of the mesh.
    pub triangle: u32,
    /// Point of the triangle nearest to the centre of the ball.
    pub point: DVec3,
    /// Unit vector from the point to the centre of the ball; the normal of the triangle if they coincide.
    pub normal: DVec3,
    /// Depth of the point in the ball.
    pub depth: f64,
}

/// An axis-aligned box.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    low: DVec3,
    high: DVec3,
}

impl Bounds {
    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.low.cmple(other.high).all() && other.low.cmple(self.high).all()
    }
}

/// A posed triangle of a leaf.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeafTriangle {
    pub(crate) triangle: u32,
    pub(crate) corners: [DVec3; 3],
    pub(crate) bounds: Bounds,
}

/// A leaf whose triangles are posed: those from `first` in the list of all posed leaves.
#[derive(Debug, Clone, Copy)]
struct PosedLeaf {
    first: usize,
    bounds: Bounds,
}

/// A [`DeformationTree`] in a pose.
#[derive(Debug, Clone)]
pub struct PosedTree<'a> {
    pub(crate) tree: &'a DeformationTree,
    /// Transform of rest points by each joint.
    palette: Vec<DAffine3>,
    /// Upper bound of the stretch of each joint.
    stretch: Vec<f64>,
    /// Shapes with a weight other than 0.
    shapes: Vec<(u32, f64)>,
    /// Number of the current pose; values with another number are outdated.
    stamp: u32,
    spheres: Vec<(u32, Sphere)>,
    points: Vec<(u32, DVec3)>,
    tops: Vec<Sphere>,
    /// Number of the pose and index in `leaves` of each node.
    leaf_of_node: Vec<(u32, u32)>,
    leaves: Vec<PosedLeaf>,
    leaf_triangles: Vec<LeafTriangle>,
    evaluated: usize,
}

impl<'a> PosedTree<'a> {
    /// Returns the tree in its rest pose.
    pub fn new(tree: &'a DeformationTree) -> Self {
        let mut posed = Self {
            palette: vec![DAffine3::IDENTITY; tree.joint_count()],
            stretch: vec![1.0; tree.joint_count()],
            shapes: Vec::new(),
            stamp: 1,
            spheres: vec![(0, Sphere::default()); tree.nodes.len()],
            points: vec![(0, DVec3::ZERO); tree.points.len()],
            tops: vec![Sphere::default(); tree.tops.len()],
            leaf_of_node: vec![(0, 0); tree.nodes.len()],
            leaves: Vec::new(),
            leaf_triangles: Vec::new(),
            evaluated: 0,
            tree,
        };
        posed.merge_regions();
        posed
    }

    /// Moves the tree to a pose, given by the transform of each joint to scene space and the weight of each blend shape.
    /// Takes a few operations per joint and region.
    pub fn set_pose(&mut self, transforms: &[DAffine3], shape_weights: &[f32]) -> Result<(), CollideError> {
        let tree = self.tree;
        for (what, found, expected) in [
            ("joint transforms", transforms.len(), tree.joint_count()),
            ("shape weights", shape_weights.len(), tree.shape_count()),
        ] {
            if found != expected {
                return Err(CollideError::Pose { what, found, expected });
            }
        }
        for (joint, transform) in transforms.iter().enumerate() {
            self.palette[joint] = *transform * tree.inverse_binds[joint];
            self.stretch[joint] = max_stretch(self.palette[joint].matrix3);
        }
        self.shapes.clear();
        let weights = shape_weights.iter().enumerate().filter(|(_, weight)| **weight != 0.0);
        self.shapes.extend(weights.map(|(shape, &weight)| (shape as u32, f64::from(weight))));
        self.stamp = self.stamp.wrapping_add(1);
        if self.stamp == 0 {
            self.spheres.fill((0, Sphere::default()));
            self.points.fill((0, DVec3::ZERO));
            self.leaf_of_node.fill((0, 0));
            self.stamp = 1;
        }
        self.leaves.clear();
        self.leaf_triangles.clear();
        self.evaluated = 0;
        self.merge_regions();
        Ok(())
    }

    /// Moves the tree to a frame of a clip of the rig.
    ///
    /// # Panics
    /// If the clip has no frame `frame`.
    pub fn set_frame(&mut self, clip: &Clip, frame: usize) -> Result<(), CollideError> {
        self.set_pose(clip.transforms(frame), clip.shape_weights(frame))
    }

    /// The tree.
    pub fn tree(&self) -> &'a DeformationTree {
        self.tree
    }

    /// Sphere around the whole surface.
    pub fn bounds(&mut self) -> Sphere {
        let root = self.root();
        self.sphere(root)
    }

    /// Number of spheres that have been evaluated in this pose.
    pub fn evaluated_spheres(&self) -> usize {
        self.evaluated
    }

    /// Posed corners of a triangle.
    pub fn triangle(&mut self, triangle: u32) -> [DVec3; 3] {
        self.tree.triangles[triangle as usize].map(|point| self.point(point))
    }

    /// Adds the contacts of a ball with the surface to `found`: one for each triangle that it touches, in the order of
    /// the tree.
    pub fn ball_contacts(&mut self, ball: Sphere, found: &mut Vec<SurfaceContact>) {
        let mut open = vec![self.root()];
        while let Some(node) = open.pop() {
            if !self.sphere(node).meets(&ball) {
                continue;
            }
            if let Some([first, second]) = self.children(node) {
                open.extend([second, first]);
                continue;
            }
            for triangle in self.leaf(node) {
                let corners = self.triangle(triangle);
                let point = closest_point(corners, ball.centre);
                let distance = point.distance(ball.centre);
                if distance <= ball.radius {
                    let [a, b, c] = corners;
                    let flat = (b - a).cross(c - a).normalize_or(DVec3::Y);
                    let normal = (ball.centre - point).try_normalize().unwrap_or(flat);
                    found.push(SurfaceContact { triangle, point, normal, depth: ball.radius - distance });
                }
            }
        }
    }

    pub(crate) fn root(&self) -> u32 {
        match self.tree.tops.len() {
            0 => self.tree.regions[0],
            count => (self.tree.nodes.len() + count - 1) as u32,
        }
    }

    /// Children of a node; `None` for leaves.
    pub(crate) fn children(&self, node: u32) -> Option<[u32; 2]> {
        match self.tree.nodes.get(node as usize) {
            Some(inner) if inner.second != 0 => Some([node + 1, inner.second]),
            Some(_) => None,
            None => Some(self.tree.tops[node as usize - self.tree.nodes.len()]),
        }
    }

    /// Triangles of a leaf.
    pub(crate) fn leaf(&self, node: u32) -> impl Iterator<Item = u32> + use<'a> {
        let [first, last] = self.tree.nodes[node as usize].triangles;
        self.tree.order[first as usize..last as usize].iter().copied()
    }

    /// Posed triangles of a leaf and the box around them.
    pub(crate) fn posed_leaf(&mut self, node: u32) -> (Bounds, &[LeafTriangle]) {
        let [start, end] = self.tree.nodes[node as usize].triangles;
        let (stamp, mut slot) = self.leaf_of_node[node as usize];
        if stamp != self.stamp {
            slot = self.leaves.len() as u32;
            self.leaf_of_node[node as usize] = (self.stamp, slot);
            let first = self.leaf_triangles.len();
            let mut all = Bounds { low: DVec3::MAX, high: DVec3::MIN };
            for triangle in self.leaf(node) {
                let corners @ [a, b, c] = self.triangle(triangle);
                let bounds = Bounds { low: a.min(b).min(c), high: a.max(b).max(c) };
                all = Bounds { low: all.low.min(bounds.low), high: all.high.max(bounds.high) };
                self.leaf_triangles.push(LeafTriangle { triangle, corners, bounds });
            }
            self.leaves.push(PosedLeaf { first, bounds: all });
        }
        let PosedLeaf { first, bounds } = self.leaves[slot as usize];
        (bounds, &self.leaf_triangles[first..first + (end - start) as usize])
    }

    /// Sphere of a node.
    pub(crate) fn sphere(&mut self, node: u32) -> Sphere {
        let index = node as usize;
        if index >= self.tree.nodes.len() {
            return self.tops[index - self.tree.nodes.len()];
        }
        let (stamp, sphere) = self.spheres[index];
        if stamp == self.stamp {
            return sphere;
        }
        let sphere = self.evaluate(index);
        self.spheres[index] = (self.stamp, sphere);
        self.evaluated += 1;
        sphere
    }

    fn evaluate(&self, index: usize) -> Sphere {
        let tree = self.tree;
        let node = &tree.nodes[index];
        // q and R + Σ |s_k| ρ_k
        let (mut rest, mut radius) = (node.centre, node.radius);
        for &(shape, weight) in &self.shapes {
            let offset = &tree.offsets[index * tree.shapes.len() + shape as usize];
            rest += weight * offset.mean;
            radius += weight.abs() * offset.spread;
        }
        let influences = &tree.influences[node.influences[0] as usize..node.influences[1] as usize];
        let Some(home) = influences.first() else {
            // No joint moves the points: if the rig has joints, posing moves such points to the origin.
            let centre = if self.palette.is_empty() { rest } else { DVec3::ZERO };
            return Sphere { centre, radius: enlarged(centre, radius) };
        };
        let at_home = self.palette[home.joint as usize].transform_point3(rest);
        let (mut centre, mut sum) = (home.mean * at_home, 0.0);
        let mut stretch = self.stretch[home.joint as usize];
        for influence in &influences[1..] {
            let moved = self.palette[influence.joint as usize].transform_point3(rest);
            centre += influence.mean * moved; // Σ_b μ_b T_b q
            sum += influence.spread * moved.distance(at_home); // Σ_b Δ_b ‖T_b q − T_h q‖
            stretch = stretch.max(self.stretch[influence.joint as usize]);
        }
        let radius = node.weight_sum * stretch * radius + sum + node.sum_spread * at_home.length();
        Sphere { centre, radius: enlarged(centre, radius) }
    }

    /// Position of a point.
    pub(crate) fn point(&mut self, point: u32) -> DVec3 {
        let (stamp, position) = self.points[point as usize];
        if stamp == self.stamp {
            return position;
        }
        let tree = self.tree;
        let shapes = self.shapes.iter().map(|&(shape, weight)| weight * tree.shapes[shape as usize][point as usize]);
        let rest = tree.points[point as usize] + shapes.sum::<DVec3>();
        let position = if self.palette.is_empty() {
            rest
        } else {
            tree.row(point).map(|(joint, weight)| weight * self.palette[joint as usize].transform_point3(rest)).sum()
        };
        self.points[point as usize] = (self.stamp, position);
        position
    }

    /// Evaluates the spheres above the regions.
    fn merge_regions(&mut self) {
        for top in 0..self.tree.tops.len() {
            let [a, b] = self.tree.tops[top].map(|child| {
                let Sphere { centre, radius } = self.sphere(child);
                (centre, radius)
            });
            let (centre, radius) = merged(a, b);
            self.tops[top] = Sphere { centre, radius: enlarged(centre, radius) };
        }
    }
}

fn enlarged(centre: DVec3, radius: f64) -> f64 {
    radius + ROUNDING * (radius + centre.length())
}

/// Upper bound of the largest singular value, from Gershgorin's bound of the eigenvalues of `AᵀA`. It is exact for
/// rotations.
fn max_stretch(linear: DMat3) -> f64 {
    let squared = linear.transpose() * linear;
    let rows = [squared.x_axis, squared.y_axis, squared.z_axis];
    rows.map(|row| row.abs().element_sum()).into_iter().fold(0.0, f64::max).sqrt()
}
