//! Statistics of all weights of a skin.

use dermis_mesh::Rig;

/// Counts over all weights of a rig.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WeightStatistics {
    /// Number of points with 0, 1, 2, … influences.
    pub points_by_influences: Vec<usize>,
    /// Mean number of influences.
    pub mean_influences: f64,
    /// Largest deviation of a point's sum of weights from 1.
    pub largest_sum_error: f64,
    /// Number of negative weights.
    pub negative: usize,
    /// Number of points that each bone moves.
    pub points_by_bone: Vec<usize>,
    /// Sum of the weights of each bone: its fraction of the shape, in points.
    pub weight_by_bone: Vec<f64>,
}

/// Computes the statistics of the weights of `rig`; all zero if it has no joints.
pub fn weight_statistics(rig: &Rig) -> WeightStatistics {
    let bones = rig.joints().len();
    let mut statistics = WeightStatistics {
        points_by_bone: vec![0; bones],
        weight_by_bone: vec![0.0; bones],
        ..WeightStatistics::default()
    };
    if bones == 0 {
        return statistics;
    }
    statistics.points_by_influences = vec![0; rig.weights().max_influences() + 1];
    let mut influences = 0;
    for row in rig.weights().rows() {
        let (mut count, mut sum) = (0, 0.0);
        for (bone, weight) in row.filter(|(_, weight)| *weight != 0.0) {
            count += 1;
            sum += f64::from(weight);
            statistics.negative += usize::from(weight < 0.0);
            statistics.points_by_bone[bone as usize] += 1;
            statistics.weight_by_bone[bone as usize] += f64::from(weight);
        }
        statistics.points_by_influences[count] += 1;
        statistics.largest_sum_error = statistics.largest_sum_error.max((sum - 1.0).abs());
        influences += count;
    }
    statistics.mean_influences = influences as f64 / rig.weights().point_count().max(1) as f64;
    statistics
}

#[cfg(test)]
mod tests {
    use dermis_mesh::{Joint, SkinWeights, TriMesh};
    use glam::{DAffine3, Vec3};

    use super::*;

    #[test]
    fn counts_influences_and_sums_weights() {
        let mesh = TriMesh::new(vec![Vec3::ZERO; 3], vec![]).unwrap();
        let joints = vec![Joint::at("a", None, DAffine3::IDENTITY), Joint::at("b", None, DAffine3::IDENTITY)];
        let rows = [vec![(0, 1.0)], vec![(0, 0.25), (1, 0.5)], vec![(1, 1.25), (0, -0.25)]];
        let rig = Rig::new(&mesh, joints, SkinWeights::from_rows(rows), vec![]).unwrap();
        let statistics = weight_statistics(&rig);
        assert_eq!(statistics.points_by_influences, [0, 1, 2]);
        assert_eq!((statistics.largest_sum_error, statistics.negative), (0.25, 1));
        assert_eq!((statistics.points_by_bone, statistics.weight_by_bone), (vec![3, 2], vec![1.0, 1.75]));
    }

    #[test]
    fn statistics_of_a_rig_without_joints_are_zero() {
        assert_eq!(weight_statistics(&Rig::default()), WeightStatistics::default());
    }
}
