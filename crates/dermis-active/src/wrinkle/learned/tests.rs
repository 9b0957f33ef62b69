use dermis_math::progress::NoProgress;

use super::*;
use crate::wrinkle::coarse_cloth;

const CELLS: u32 = 24;

/// A sheet that folds along x as it is compressed by the amounts of the frames.
fn folding_sheet(amounts: &[f32]) -> MeshSequence {
    let row = CELLS + 1;
    let points: Vec<Vec3> = (0..row * row).map(|k| Vec3::new((k % row) as f32, (k / row) as f32, 0.0)).collect();
    let corners = (0..CELLS * CELLS).map(|k| k % CELLS + row * (k / CELLS));
    let triangles = corners.flat_map(|a| [[a, a + 1, a + row + 1], [a, a + row + 1, a + row]]).collect();
    let frames: Vec<Vec3> = amounts
        .iter()
        .flat_map(|amount| {
            let folded = |point: &Vec3| {
                let height = 2.0 * amount.sqrt() * (1.3 * point.x).sin();
                Vec3::new(point.x * (1.0 - amount), point.y, height)
            };
            points.iter().map(folded).collect::<Vec<_>>()
        })
        .collect();
    let mesh = TriMesh::new(points, triangles).unwrap();
    MeshSequence::new(Arc::new(mesh), frames, 24.0).unwrap()
}

fn amounts(from: f32, count: u8) -> Vec<f32> {
    (0..count).map(|k| from + 0.2 * (0.4 * f32::from(k)).sin().powi(2)).collect()
}

fn rms(a: &MeshSequence, b: &MeshSequence) -> f64 {
    let mut sum = 0.0;
    for frame in 0..a.frame_count() {
        let (a, b) = (a.frame(frame).unwrap(), b.frame(frame).unwrap());
        sum += a.iter().zip(&*b).map(|(a, b)| f64::from(a.distance_squared(*b))).sum::<f64>() / a.len() as f64;
    }
    (sum / a.frame_count() as f64).sqrt()
}

#[test]
fn learned_folds_bring_a_new_motion_closer_to_the_fine_cloth() {
    let (fine, other) = (folding_sheet(&amounts(0.0, 20)), folding_sheet(&amounts(0.03, 7)));
    let training =
        train_folds(&coarse_cloth(&fine, 120).unwrap(), &fine, &LearnOptions::default(), &NoProgress).unwrap();
    assert!(training.distance < 0.5 * training.coarse_distance, "{} {}", training.distance, training.coarse_distance);
    let folds = Arc::new(training.folds);
    // Another simplification, with other triangles.
    for triangles in [120, 160] {
        let coarse = coarse_cloth(&other, triangles).unwrap();
        let found = apply_folds(&folds, &coarse, None, &NoProgress).unwrap();
        let flat = coarse.mesh();
        let (binding, _) = folds.bind(Cloth { rest: flat.points(), triangles: flat.triangles() }).unwrap();
        let read = {
            let coarse = coarse.clone();
            move |frame: usize, out: &mut [Vec3]| {
                let posed = binding.pose(&coarse.frame(frame)?);
                out.iter_mut().zip(posed.points).for_each(|(out, point)| *out = point.as_vec3());
                Ok(())
            }
        };
        let linear = MeshSequence::from_fn(Arc::clone(fine.mesh()), other.frame_count(), 24.0, read).unwrap();
        let (before, after) = (rms(&linear, &other), rms(&found.sequence, &other));
        assert!(after < 0.75 * before, "{triangles}: {before} to {after}");
    }
}

#[test]
fn rejects_cloth_that_does_not_correspond() {
    let fine = folding_sheet(&amounts(0.0, 6));
    let coarse = coarse_cloth(&fine, 200).unwrap();
    let train = |coarse: &MeshSequence, fine: &MeshSequence| {
        train_folds(coarse, fine, &LearnOptions::default(), &NoProgress).map(|training| training.folds)
    };
    let short = coarse.select(0, 5, 1).unwrap();
    assert!(matches!(train(&short, &fine), Err(FoldsError::Frames { coarse: 5, fine: 6 })));
    assert!(matches!(train(&fine, &coarse), Err(FoldsError::NotFiner { .. })));
    let folds = Arc::new(train(&coarse, &fine).unwrap());
    let scaled: Vec<Vec3> = coarse.mesh().points().iter().map(|point| *point * 100.0).collect();
    let found = apply_folds(&folds, &coarse, Some(&scaled), &NoProgress);
    assert!(matches!(found, Err(ClothError::Folds(FoldsError::OtherCloth { .. }))));
    let broken = FoldParts { edge_lengths: vec![1.0], ..folds.parts().clone() };
    assert!(matches!(LearnedFolds::new(broken), Err(FoldsError::Invalid(_))));
}
