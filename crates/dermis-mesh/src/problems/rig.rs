//! Problems of a rig.

use dermis_math::svd3::svd3;

use super::{Problem, ProblemKind, Tally, counted};
use crate::rig::{Joint, Rig};

/// Tolerance of the sum of weights; rounding to f32 or 16 bits is far below it, painting errors are above.
const SUM_TOLERANCE: f64 = 1e-3;
/// Ratio of smallest to largest singular value at or below which a bind transform is singular.
const SINGULAR: f64 = 1e-9;

/// Finds problems of the weights and joints of a rig.
pub fn of_rig(rig: &Rig) -> Vec<Problem> {
    if rig.joints().is_empty() {
        return Vec::new();
    }
    let weights = WeightTallies::of(rig);
    let has_points = rig.weights().point_count() > 0;
    let found = [
        weights.unbound.problem(
            ProblemKind::UnboundPoints,
            "they collapse to the origin when posed; bind each to at least one joint",
            |count, first| format!("{} no weight; the first is point {first}", counted(count, "point", "has", "have")),
        ),
        weights.sums.problem(
            ProblemKind::WeightSums,
            "normalize the weights in the authoring tool; writers normalize them if the format requires it",
            |count, first| {
                let (sum, what) = (weights.first_sum, counted(count, "point", "has weights", "have weights"));
                format!("{what} that do not sum to 1; the first is point {first} with {sum:.4}")
            },
        ),
        weights.negative.problem(
            ProblemKind::NegativeWeights,
            "few engines support negative weights; clamp and normalize them",
            |count, first| {
                format!("{} a negative weight; the first is point {first}", counted(count, "point", "has", "have"))
            },
        ),
        joint_problem(
            rig,
            // A motion without a mesh has no points that joints could influence.
            Tally::of(weights.unused_joints().filter(|_| has_points)),
            ProblemKind::UnusedJoints,
            "no action needed: roots, helpers and end joints often influence no point",
            ["influences no point", "influence no point"],
        ),
        joint_problem(
            rig,
            Tally::of((0..rig.joints().len()).filter(|&joint| is_singular(&rig.joints()[joint]))),
            ProblemKind::SingularBinds,
            "a joint had zero scale when the mesh was bound; bind the mesh again at full scale",
            ["has a singular bind transform", "have singular bind transforms"],
        ),
    ];
    found.into_iter().flatten().collect()
}

#[derive(Default)]
struct WeightTallies {
    unbound: Tally,
    negative: Tally,
    sums: Tally,
    first_sum: f64,
    used: Vec<bool>,
}

impl WeightTallies {
    fn of(rig: &Rig) -> Self {
        let mut tallies = Self { used: vec![false; rig.joints().len()], ..Self::default() };
        for (point, row) in rig.weights().rows().enumerate() {
            tallies.add(point, row.filter(|(_, weight)| *weight != 0.0));
        }
        tallies
    }

    fn add(&mut self, point: usize, row: impl Iterator<Item = (u32, f32)>) {
        let (mut bound, mut negative, mut sum) = (false, false, 0.0);
        for (joint, weight) in row {
            self.used[joint as usize] = true;
            bound = true;
            negative |= weight < 0.0;
            sum += f64::from(weight);
        }
        if !bound {
            return self.unbound.add(point);
        }
        if negative {
            self.negative.add(point);
        }
        if (sum - 1.0).abs() > SUM_TOLERANCE {
            self.sums.add(point);
            if self.sums.count == 1 {
                self.first_sum = sum;
            }
        }
    }

    fn unused_joints(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.used.len()).filter(|&joint| !self.used[joint])
    }
}

fn joint_problem(
    rig: &Rig,
    tally: Tally,
    kind: ProblemKind,
    hint: &'static str,
    [one, many]: [&str; 2],
) -> Option<Problem> {
    tally.problem(kind, hint, |count, first| {
        let name = &rig.joints()[first].name;
        format!("{}; the first is joint {first} ('{name}')", counted(count, "joint", one, many))
    })
}

fn is_singular(joint: &Joint) -> bool {
    let sigma = svd3(joint.inverse_bind.matrix3).sigma;
    sigma.z <= SINGULAR * sigma.x
}

#[cfg(test)]
mod tests {
    use glam::{DAffine3, DMat3, DVec3, Vec3};

    use super::*;
    use crate::rig::SkinWeights;
    use crate::tri_mesh::TriMesh;

    fn rig(rows: &[&[(u32, f32)]], joints: usize) -> Rig {
        let mesh = TriMesh::new(vec![Vec3::ZERO; rows.len()], vec![]).unwrap();
        let joints = (0..joints).map(|k| Joint::at(format!("bone {k}"), None, DAffine3::IDENTITY)).collect();
        let weights = SkinWeights::from_rows(rows.iter().map(|row| row.iter().copied()));
        Rig::new(&mesh, joints, weights, vec![]).unwrap()
    }

    fn messages(rig: &Rig) -> Vec<String> {
        of_rig(rig).into_iter().map(|problem| problem.message).collect()
    }

    #[test]
    fn a_clean_rig_has_no_problems() {
        assert_eq!(messages(&rig(&[&[(0, 0.5), (1, 0.4995)], &[(0, 1.0)]], 2)), [""; 0]);
        assert_eq!(messages(&Rig::default()), [""; 0]);
    }

    #[test]
    fn reports_the_first_point_with_invalid_weights() {
        let rig = rig(&[&[(0, 1.0)], &[], &[(1, 0.0)], &[(0, 0.5)], &[(0, 1.25), (1, -0.25)]], 2);
        assert_eq!(
            messages(&rig),
            [
                "2 points have no weight; the first is point 1",
                "1 point has weights that do not sum to 1; the first is point 3 with 0.5000",
                "1 point has a negative weight; the first is point 4",
            ]
        );
    }

    #[test]
    fn reports_unused_joints_and_singular_binds() {
        let mesh = TriMesh::new(vec![Vec3::ZERO], vec![]).unwrap();
        let flat = DAffine3::from_mat3(DMat3::from_diagonal(DVec3::new(1.0, 0.0, 1.0)));
        let joints = vec![
            Joint::at("root", None, DAffine3::IDENTITY),
            Joint { name: "flat".into(), parent: Some(0), inverse_bind: flat },
        ];
        let rig = Rig::new(&mesh, joints, SkinWeights::from_rows([[(1, 1.0)]]), vec![]).unwrap();
        assert_eq!(
            messages(&rig),
            [
                "1 joint influences no point; the first is joint 0 ('root')",
                "1 joint has a singular bind transform; the first is joint 1 ('flat')",
            ]
        );
    }
}
