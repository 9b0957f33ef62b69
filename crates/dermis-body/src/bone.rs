//! Bones as segments between joints, and distances to them.

use glam::Vec3;

/// A segment that moves with a joint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bone {
    /// Joint that moves the bone.
    pub joint: u32,
    /// Start of the segment.
    pub start: Vec3,
    /// End of the segment.
    pub end: Vec3,
}

impl Bone {
    /// Point at `fraction` of the length, from 0 at the start to 1 at the end.
    pub fn at(&self, fraction: f32) -> Vec3 {
        self.start.lerp(self.end, fraction)
    }

    /// Fraction of the length at the point nearest to `position`, from 0 to 1.
    fn nearest_fraction(&self, position: Vec3) -> f32 {
        let along = self.end - self.start;
        let length_squared = along.length_squared();
        if length_squared > 0.0 { ((position - self.start).dot(along) / length_squared).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Distance from `position` to the bone.
    pub fn distance(&self, position: Vec3) -> f32 {
        position.distance(self.at(self.nearest_fraction(position)))
    }
}

/// Returns the bones between joints and their parents, each moved by the parent. A joint without children has a bone of
/// length zero.
///
/// # Panics
/// If a parent index is out of range.
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

/// Returns the index of the bone nearest to a position, and the fraction of its length at the nearest point.
///
/// # Panics
/// If there are no bones.
pub fn along_nearest_bone(at: Vec3, bones: &[Bone]) -> (usize, f32) {
    let distances = bones.iter().map(|bone| bone.distance(at)).enumerate();
    let (bone, _) = distances.min_by(|a, b| a.1.total_cmp(&b.1)).expect("there is a bone");
    (bone, bones[bone].nearest_fraction(at))
}
