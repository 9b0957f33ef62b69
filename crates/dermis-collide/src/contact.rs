//! Contacts between two posed trees: pairs of triangles that intersect.

use glam::DVec3;

use crate::posed::PosedTree;
use crate::triangles::{middle, overlap};

/// Two triangles that intersect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contact {
    /// Triangle of the first and of the second mesh.
    pub triangles: [u32; 2],
    /// Middle of the intersection.
    pub point: DVec3,
    /// Unit direction of the shortest translation of the first triangle that separates the two.
    pub normal: DVec3,
    /// Length of this translation.
    pub depth: f64,
}

/// Replaces `found` with all intersecting pairs of triangles of two meshes, in the order of the trees.
pub fn contacts(first: &mut PosedTree<'_>, second: &mut PosedTree<'_>, found: &mut Vec<Contact>) {
    found.clear();
    let mut open = vec![(first.root(), second.root())];
    while let Some((a, b)) = open.pop() {
        let (sphere_a, sphere_b) = (first.sphere(a), second.sphere(b));
        if !sphere_a.meets(&sphere_b) {
            continue;
        }
        // The larger sphere is split.
        match (first.children(a), second.children(b)) {
            (None, None) => leaves(first, a, second, b, found),
            (Some([near, far]), children) if children.is_none() || sphere_a.radius >= sphere_b.radius => {
                open.extend([(far, b), (near, b)]);
            }
            (_, Some([near, far])) => open.extend([(a, far), (a, near)]),
            (Some(_), None) => {}
        }
    }
}

fn leaves(first: &mut PosedTree<'_>, a: u32, second: &mut PosedTree<'_>, b: u32, found: &mut Vec<Contact>) {
    let (bounds_a, ones) = first.posed_leaf(a);
    let (bounds_b, others) = second.posed_leaf(b);
    if !bounds_a.meets(&bounds_b) {
        return;
    }
    for one in ones.iter().filter(|one| one.bounds.meets(&bounds_b)) {
        for other in others.iter().filter(|other| one.bounds.meets(&other.bounds)) {
            if let Some(overlap) = overlap(&one.corners, &other.corners) {
                let point = middle(&one.corners, &other.corners);
                let triangles = [one.triangle, other.triangle];
                found.push(Contact { triangles, point, normal: overlap.normal, depth: overlap.depth });
            }
        }
    }
}
