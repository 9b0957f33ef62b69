//! End effectors: hands, feet and head, whose skin always follows the pose (Kim et al. 2017, §5.4).
//!
//! They are found by the names of joints; what hangs from such a joint, as fingers from a hand, belongs to it under any
//! name. A vertex is an end effector's if these joints have more than half of its weight.

use dermis_mesh::SkinWeights;

/// Parts of joint names, in lower case, that make an end effector.
pub const END_EFFECTOR_NAMES: [&str; 5] = ["hand", "wrist", "foot", "ankle", "head"];

/// Which joints have one of `patterns` in their name, upper or lower case, or hang from one that has.
///
/// # Panics
/// If there is not one parent per name, or a parent does not exist.
pub fn end_effector_joints<N: AsRef<str>>(names: &[N], parents: &[Option<usize>], patterns: &[&str]) -> Vec<bool> {
    assert_eq!(names.len(), parents.len(), "each joint has a name and perhaps a parent");
    let named = |name: &N| {
        let name = name.as_ref().to_lowercase();
        patterns.iter().any(|pattern| name.contains(&pattern.to_lowercase()))
    };
    let mut chosen: Vec<bool> = names.iter().map(named).collect();
    // Parents may come after children: each round goes one level deeper, and none is needed beyond the deepest.
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

/// Which vertices the chosen joints move by more than half; joints beyond `chosen` are not.
pub fn end_effector_vertices(weights: &SkinWeights, chosen: &[bool]) -> Vec<bool> {
    let is_chosen = |joint: u32| chosen.get(joint as usize).copied().unwrap_or(false);
    let moved = |row: &mut dyn Iterator<Item = (u32, f32)>| {
        let (part, all) = row.fold((0.0, 0.0), |(part, all), (joint, weight)| {
            (if is_chosen(joint) { part + weight } else { part }, all + weight)
        });
        part > 0.5 * all
    };
    weights.rows().map(|mut row| moved(&mut row)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingers_belong_to_the_hand_whatever_their_names() {
        let names = ["index_01", "Pelvis", "LeftHand", "spine_middle", "L_Ankle", "bone7"];
        let parents = [Some(2), None, Some(3), Some(1), Some(1), Some(0)];
        let chosen = end_effector_joints(&names, &parents, &END_EFFECTOR_NAMES);
        assert_eq!(chosen, [true, false, true, false, true, true]);
    }

    #[test]
    fn a_vertex_belongs_to_the_joints_that_have_most_of_its_weight() {
        let weights = SkinWeights::from_rows([vec![(0, 0.4), (1, 0.3), (2, 0.3)], vec![(0, 0.5), (1, 0.5)], vec![]]);
        assert_eq!(end_effector_vertices(&weights, &[false, true, true]), [true, false, false]);
    }
}
