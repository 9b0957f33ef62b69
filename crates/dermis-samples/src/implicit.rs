//! Implicit surfaces: smoothly joined limbs of varying thickness. The surface is the zero level set of the field.
//!
//! A limb is a spline through nodes of position and radius, divided into short rounded cones (hulls of two spheres) and
//! optionally flattened along an axis. Limbs are joined in order by the polynomial smooth minimum `min(a, b) − h²/(4k)`
//! with `h = max(k − |a − b|, 0)`, which differs from the minimum only if the two values are closer than the blend
//! distance `k`. A floor cuts the shape flat from below. The field has a Lipschitz constant of 1, so it has no zero within
//! |f| of a point with the value f; [`Implicit::near`] and the polygonizer use this for pruning.
//!
//! Cones store the bone that they belong to, from which skin weights are derived.

use glam::{DVec3, UVec3};

/// Cones per segment of the spline of a limb.
const CONES_PER_SEGMENT: usize = 4;

/// Height above the floor at which the shape starts to blend into its flat sole.
const FLOOR_BLEND: f64 = 0.012;

/// Centre and radius of a node of a limb.
pub(super) type Node = (DVec3, f64);

/// Creates a node from its coordinates and radius.
pub(super) fn node(x: f64, y: f64, z: f64, radius: f64) -> Node {
    (DVec3::new(x, y, z), radius)
}

/// Flattened hull of two spheres, with precomputed terms of its distance function.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cone {
    start: DVec3,
    axis: DVec3,
    radius: f64,
    taper: f64,
    /// Unit axis along which the cone is flattened, and its thickness along that axis as a fraction.
    flatten: (DVec3, f64),
    pub(super) bone: usize,
    inverse_length_squared: f64,
    /// Shift of the closest point towards the thick end, per unit of distance from the axis.
    lean: f64,
}

/// Value, gradient and local thickness of a field at a point.
#[derive(Debug, Clone, Copy)]
struct FieldSample {
    value: f64,
    gradient: DVec3,
    radius: f64,
}

impl Cone {
    fn new(ends: [Node; 2], flatten: (DVec3, f64), bone: usize) -> Self {
        let [(start, radius), (end, end_radius)] = ends;
        let stretch = 1.0 / flatten.1 - 1.0;
        let axis = stretched(end - start, flatten.0, stretch);
        let (taper, length_squared) = (radius - end_radius, axis.length_squared());
        let side = length_squared - taper * taper;
        // If one sphere contains the other, the hull is the larger sphere.
        let is_sphere = side <= 1e-9 * length_squared || length_squared == 0.0;
        let inverse_length_squared = if is_sphere { 0.0 } else { 1.0 / length_squared };
        let lean = if is_sphere { 0.0 } else { taper / (side * length_squared).sqrt() };
        let (start, radius) = if is_sphere && taper < 0.0 { (end, end_radius) } else { (start, radius) };
        Self { start, axis, radius, taper, flatten, bone, inverse_length_squared, lean }
    }

    /// Lower bound of the distance to the surface, negative inside; exact on the surface.
    pub(super) fn distance(&self, at: DVec3) -> f64 {
        self.sample(at).value
    }

    fn sample(&self, at: DVec3) -> FieldSample {
        let (normal, thickness) = self.flatten;
        let stretch = 1.0 / thickness - 1.0;
        let offset = stretched(at - self.start, normal, stretch);
        let along = offset.dot(self.axis) * self.inverse_length_squared;
        let away = (offset - self.axis * along).length();
        // The closest point of the hull is along the normal of the cone, not perpendicular to the axis.
        let t = (along - away * self.lean).clamp(0.0, 1.0);
        let radius = self.radius - self.taper * t;
        let spoke = offset - self.axis * t;
        let length = spoke.length();
        let gradient = stretched(spoke, normal, stretch) * (thickness / length.max(1e-12));
        FieldSample { value: (length - radius) * thickness, gradient, radius: radius * thickness.sqrt() }
    }
}

fn stretched(v: DVec3, axis: DVec3, by: f64) -> DVec3 {
    v + axis * (axis.dot(v) * by)
}

/// Consecutive cones that form one part of the shape.
#[derive(Debug, Clone)]
pub(super) struct Limb {
    pub(super) cones: Vec<Cone>,
    /// Distance within which the limb blends into the preceding limbs.
    pub(super) blend: f64,
}

/// Limbs joined in order, above a floor.
#[derive(Debug, Clone)]
pub(super) struct Implicit {
    pub(super) limbs: Vec<Limb>,
    /// Height below which the shape is cut off.
    pub(super) floor: f64,
}

impl Default for Implicit {
    fn default() -> Self {
        Self { limbs: Vec::new(), floor: f64::NEG_INFINITY }
    }
}

impl Implicit {
    /// Adds a limb through `nodes`; the segment from node k to k + 1 belongs to `bones[k]`, or to the last bone.
    pub(super) fn limb(&mut self, nodes: &[Node], flatten: (DVec3, f64), blend: f64, bones: &[usize]) {
        let mut cones = Vec::new();
        for segment in 0..nodes.len() - 1 {
            let bone = bones[segment.min(bones.len() - 1)];
            let step = |k: usize| spline(nodes, segment, k as f64 / CONES_PER_SEGMENT as f64);
            cones.extend((0..CONES_PER_SEGMENT).map(|k| Cone::new([step(k), step(k + 1)], flatten, bone)));
        }
        self.limbs.push(Limb { cones, blend });
    }

    /// Value of the field: negative inside, positive outside.
    pub(super) fn value(&self, at: DVec3) -> f64 {
        self.sample(at).value
    }

    fn sample(&self, at: DVec3) -> FieldSample {
        let empty = FieldSample { value: f64::INFINITY, gradient: DVec3::ZERO, radius: 0.0 };
        let joined = self.limbs.iter().fold(empty, |joined, limb| {
            let samples = limb.cones.iter().map(|cone| cone.sample(at));
            let nearest = samples.fold(empty, |best, next| if next.value < best.value { next } else { best });
            smooth_min(joined, nearest, limb.blend)
        });
        if self.floor == f64::NEG_INFINITY {
            return joined;
        }
        let above = FieldSample { value: at.y - self.floor, gradient: DVec3::Y, radius: joined.radius };
        let outside = |s: FieldSample| FieldSample { value: -s.value, gradient: -s.gradient, radius: s.radius };
        outside(smooth_min(outside(joined), above, FLOOR_BLEND))
    }

    /// Unit gradient of the field.
    pub(super) fn normal(&self, at: DVec3) -> DVec3 {
        self.sample(at).gradient.normalize_or_zero()
    }

    /// Point of the surface near `at`, reached along the normal.
    pub(super) fn project(&self, at: DVec3) -> DVec3 {
        const STEPS: usize = 2;
        (0..STEPS).fold(at, |point, _| {
            let FieldSample { value, gradient, .. } = self.sample(point);
            point - gradient * (value / gradient.length_squared().max(1e-6))
        })
    }

    /// Thickness of the shape around a point of its surface.
    pub(super) fn thickness(&self, at: DVec3) -> f64 {
        self.sample(at).radius
    }

    /// Parts of the shape that affect the field within `radius` of `at`.
    pub(super) fn near(&self, at: DVec3, radius: f64) -> Self {
        let distances: Vec<Vec<f64>> =
            self.limbs.iter().map(|limb| limb.cones.iter().map(|cone| cone.distance(at)).collect()).collect();
        let smallest = |of: &[f64]| of.iter().copied().fold(f64::INFINITY, f64::min);
        let nearest = distances.iter().map(|of| smallest(of)).fold(f64::INFINITY, f64::min);
        let mut limbs = Vec::new();
        for (limb, of) in self.limbs.iter().zip(&distances) {
            let of_limb = smallest(of);
            if of_limb <= nearest + 2.0 * radius + limb.blend {
                let is_relevant = |(_, distance): &(&Cone, &f64)| **distance <= of_limb + 2.0 * radius;
                let cones = limb.cones.iter().zip(of).filter(is_relevant).map(|(cone, _)| *cone).collect();
                limbs.push(Limb { cones, blend: limb.blend });
            }
        }
        Self { limbs, floor: self.floor }
    }

    /// Bounding box of the shape.
    pub(super) fn bounds(&self) -> (DVec3, DVec3) {
        let mut bounds = (DVec3::splat(f64::INFINITY), DVec3::splat(f64::NEG_INFINITY));
        for limb in &self.limbs {
            for cone in &limb.cones {
                let (normal, thickness) = cone.flatten;
                let end = cone.start + stretched(cone.axis, normal, thickness - 1.0);
                let reach = DVec3::splat(cone.radius.max(cone.radius - cone.taper) + 0.25 * limb.blend);
                bounds = (bounds.0.min(cone.start.min(end) - reach), bounds.1.max(cone.start.max(end) + reach));
            }
        }
        bounds
    }
}

/// Grid of pruned copies of a shape, which accelerates many queries.
#[derive(Debug, Clone)]
pub(super) struct PruningGrid {
    origin: DVec3,
    pub(super) spacing: f64,
    size: UVec3,
    cells: Vec<Implicit>,
}

impl PruningGrid {
    /// Creates cells of a sixteenth of the shape's length, each valid up to half a cell outside of it.
    pub(super) fn coarse(shape: &Implicit) -> Self {
        let (low, high) = shape.bounds();
        let spacing = (high - low).max_element() / 16.0;
        Self::new(shape, spacing, 0.5 * spacing)
    }

    /// Creates cells of `spacing` over the bounding box of `shape`, each valid up to `margin` outside of it.
    pub(super) fn new(shape: &Implicit, spacing: f64, margin: f64) -> Self {
        let (low, high) = shape.bounds();
        let size = ((high - low) / spacing).ceil().as_uvec3().max(UVec3::ONE);
        let mut cells = Vec::new();
        for index in 0..size.element_product() {
            let at = UVec3::new(index % size.x, index / size.x % size.y, index / (size.x * size.y));
            let centre = low + (at.as_dvec3() + 0.5) * spacing;
            cells.push(shape.near(centre, 0.5 * spacing * 3f64.sqrt() + margin));
        }
        Self { origin: low, spacing, size, cells }
    }

    /// Pruned shape at `at`, a point of the bounding box.
    pub(super) fn at(&self, at: DVec3) -> &Implicit {
        let cell = ((at - self.origin) / self.spacing).max(DVec3::ZERO).as_uvec3().min(self.size - 1);
        &self.cells[((cell.z * self.size.y + cell.y) * self.size.x + cell.x) as usize]
    }
}

/// Catmull–Rom spline through the nodes, at the fraction `t` of the way from node `segment` to the next.
fn spline(nodes: &[Node], segment: usize, t: f64) -> Node {
    let (from, to) = (nodes[segment], nodes[segment + 1]);
    let before = if segment > 0 { nodes[segment - 1] } else { mirror(to, from) };
    let after = nodes.get(segment + 2).copied().unwrap_or_else(|| mirror(from, to));
    let cubic = |t: f64| {
        let (t2, t3) = (t * t, t * t * t);
        [-t3 + 2.0 * t2 - t, 3.0 * t3 - 5.0 * t2 + 2.0, -3.0 * t3 + 4.0 * t2 + t, t3 - t2].map(|weight| 0.5 * weight)
    };
    let nodes = [before, from, to, after].into_iter().zip(cubic(t));
    nodes.fold((DVec3::ZERO, 0.0), |sum, (node, weight)| (sum.0 + node.0 * weight, sum.1 + node.1 * weight))
}

fn mirror(node: Node, about: Node) -> Node {
    (2.0 * about.0 - node.0, 2.0 * about.1 - node.1)
}

fn smooth_min(a: FieldSample, b: FieldSample, blend: f64) -> FieldSample {
    let (low, high) = if a.value <= b.value { (a, b) } else { (b, a) };
    let h = blend - (high.value - low.value);
    // An infinite value means that there is no limb yet.
    if h <= 0.0 || !high.value.is_finite() {
        return low;
    }
    let fraction = 0.5 * h / blend;
    FieldSample {
        value: low.value - 0.5 * h * fraction,
        gradient: low.gradient.lerp(high.gradient, fraction),
        radius: low.radius + (high.radius - low.radius) * fraction,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_is_zero_on_the_side_and_the_caps_of_a_cone() {
        let cone = Cone::new([node(0.0, 0.0, 0.0, 3.0), node(5.0, 0.0, 0.0, 0.0)], (DVec3::Z, 1.0), 0);
        // The side touches both spheres: its normal is tilted by asin(3/5) towards the thin end.
        let normal = DVec3::new(0.6, 0.8, 0.0);
        for at in [normal * 3.0, DVec3::X * 2.5 + normal * 1.5, DVec3::X * 5.0, DVec3::X * -3.0] {
            assert!(cone.distance(at).abs() < 1e-12, "{at}");
        }
        assert!((cone.distance(DVec3::X * 2.5 + normal * 2.5) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_flattened_sphere_is_an_ellipsoid() {
        let ball = Cone::new([node(0.0, 0.0, 0.0, 2.0); 2], (DVec3::Z, 0.5), 0);
        for at in [DVec3::X * 2.0, DVec3::Y * -2.0, DVec3::Z] {
            assert!(ball.distance(at).abs() < 1e-12);
        }
    }

    fn zigzag() -> Implicit {
        let mut shape = Implicit { floor: -0.3, ..Implicit::default() };
        for k in 0..9 {
            let x = f64::from(k);
            let nodes = [node(x, f64::from(k % 3), 0.0, 0.5), node(x + 1.0, 0.0, 0.2, 0.3)];
            shape.limb(&nodes, (DVec3::Z, 0.8), 0.3, &[k as usize]);
        }
        shape
    }

    #[test]
    fn pruning_does_not_change_the_field() {
        let (shape, at) = (zigzag(), DVec3::new(2.2, 1.0, 0.3));
        let near = shape.near(at, 0.1);
        assert!(near.limbs.len() < shape.limbs.len());
        for step in 0..50 {
            let q = at + DVec3::new(0.06, -0.05, 0.05) * (f64::from(step) / 50.0);
            assert_eq!(near.value(q), shape.value(q));
        }
    }

    #[test]
    fn the_gradient_matches_finite_differences_of_the_field() {
        let shape = zigzag();
        const STEP: f64 = 1e-6;
        for at in [DVec3::new(2.2, 1.0, 0.3), DVec3::new(4.1, -0.2, 0.5), DVec3::new(0.4, 0.7, -0.6)] {
            let slope = |axis: DVec3| (shape.value(at + axis * STEP) - shape.value(at - axis * STEP)) / (2.0 * STEP);
            let slopes = DVec3::new(slope(DVec3::X), slope(DVec3::Y), slope(DVec3::Z));
            assert!(shape.sample(at).gradient.distance(slopes) < 1e-4, "{at}");
        }
    }
}
