//! Bones as segments: the joints that move them, and distances to them.

use glam::Vec3;

/// A bone: a segment that moves with a joint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bone {
    /// The joint that moves it.
    pub joint: u32,
    /// Where it begins.
    pub start: Vec3,
    /// Where it ends.
    pub end: Vec3,
}

impl Bone {
    /// The point at `part` of the way from its start to its end.
    pub fn at(&self, part: f32) -> Vec3 {
        self.start.lerp(self.end, part)
    }

    /// Where along the bone the point nearest to `position` is, from 0 to 1.
    fn nearest_part(&self, position: Vec3) -> f32 {
        let along = self.end - self.start;
        let length_squared = along.length_squared();
        if length_squared > 0.0 { ((position - self.start).dot(along) / length_squared).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Distance from `position` to the bone.
    pub fn distance(&self, position: Vec3) -> f32 {
        position.distance(self.at(self.nearest_part(position)))
    }
}

/// The bones between joints and their parents, each moved by the parent; a joint without children is a point.
///
/// # Panics
/// If a parent does not exist.
pub fn bones_between_joints(positions: &[Vec3], parents: &[Option<usize>]) -> Vec<Bone> {
    let mut is_leaf = vec![true; positions.len()];
    parents.iter().flatten().for_each(|&parent| is_leaf[parent] = false);
    let bone = |(joint, (&end, &parent)): (usize, (&Vec3, &Option<usize>))| {
        let above = parent.map(|parent| Bone { joint: parent as u32, start: positions[parent], end });
        let leaf = is_leaf[joint].then_some(Bone { joint: joint as u32, start: end, end });
        above.into_iter().chain(leaf)
    };
    positions.iter().zip(parents).enumerate().flat_map(bone).collect()
}

/// The bone nearest to a position, and where along it the nearest point is.
///
/// # Panics
/// If there are no bones.
pub fn along_nearest_bone(at: Vec3, bones: &[Bone]) -> (usize, f32) {
    let distances = bones.iter().map(|bone| bone.distance(at)).enumerate();
    let (bone, _) = distances.min_by(|a, b| a.1.total_cmp(&b.1)).expect("there is a bone");
    (bone, bones[bone].nearest_part(at))
}
