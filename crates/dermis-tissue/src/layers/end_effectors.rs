//! End effectors: hands, feet and head, whose skin always follows the pose (Kim et al. 2017, §5.4).
//!
//! End effectors are found by joint names. The descendants of such a joint, such as the fingers of a hand, belong to it
//! regardless of their names. A point belongs to an end effector if these joints have more than half of its weight.

use dermis_mesh::SkinWeights;

/// Substrings of joint names, in lower case, that identify end effectors.
pub const END_EFFECTOR_NAMES: [&str; 5] = ["hand", "wrist", "foot", "ankle", "head"];

/// Marks joints whose name contains one of `patterns`, ignoring case, and their descendants.
///
/// # Panics
/// If the numbers of names and parents differ, or a parent index is out of range.
pub fn end_effector_joints<N: AsRef<str>>(names: &[N], parents: &[Option<usize>], patterns: &[&str]) -> Vec<bool> {
    assert_eq!(names.len(), parents.len(), "one parent entry per joint name");
    let matches = |name: &N| {
        let name = name.as_ref().to_lowercase();
        patterns.iter().any(|pattern| name.contains(&pattern.to_lowercase()))
    };
    let mut chosen: Vec<bool> = names.iter().map(matches).collect();
    // Parents can have larger indices than their children. Each round reaches one more level of the hierarchy.
    for _ in 0..names.len() {
        let inherited: Vec<usize> = (0..names.len())
            .filter(|&joint| !chosen[joint] && parents[joint].is_some_and(|parent| chosen[parent]))
            .collect();
        if inherited.is_empty() {
            break;
        }
        for joint in inherited {
            chosen[joint] = true;
        }
    }
    chosen
}

/// Marks points with more than half of their weight on `chosen` joints. Joints beyond the end of `chosen` are not
/// chosen.
pub fn end_effector_vertices(weights: &SkinWeights, chosen: &[bool]) -> Vec<bool> {
    let is_chosen = |joint: u32| chosen.get(joint as usize).copied().unwrap_or(false);
    let belongs = |row: &mut dyn Iterator<Item = (u32, f32)>| {
        let (of_chosen, total) = row.fold((0.0, 0.0), |(of_chosen, total), (joint, weight)| {
            (if is_chosen(joint) { of_chosen + weight } else { of_chosen }, total + weight)
        });
        of_chosen > 0.5 * total
    };
    weights.rows().map(|mut row| belongs(&mut row)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_of_end_effectors_are_end_effectors() {
        let names = ["index_01", "Pelvis", "LeftHand", "spine_middle", "L_Ankle", "bone7"];
        let parents = [Some(2), None, Some(3), Some(1), Some(1), Some(0)];
        let chosen = end_effector_joints(&names, &parents, &END_EFFECTOR_NAMES);
        assert_eq!(chosen, [true, false, true, false, true, true]);
    }

    #[test]
    fn vertex_belongs_to_the_joints_with_most_of_its_weight() {
        let weights = SkinWeights::from_rows([vec![(0, 0.4), (1, 0.3), (2, 0.3)], vec![(0, 0.5), (1, 0.5)], vec![]]);
        assert_eq!(end_effector_vertices(&weights, &[false, true, true]), [true, false, false]);
    }
}
