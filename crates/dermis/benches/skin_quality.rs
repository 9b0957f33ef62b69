//! Quality of fits in one table: error, structure of the weights, rest pose, normals, cross-fades, bones, generalization
//! and time; and the paper's method with all bone models and solvers.
//!
//! `cargo bench -p dermis --bench skin_quality -- [FILE …]`; without files, `sample:gallop`.
//!
//! `unseen` is the error of frames 1, 3, 5, … under the skin of frames 0, 2, 4, …, relative to that of the latter; only the
//! bones are solved for them. `shift` is the time of the mean shift relative to that of the refinement.

use std::time::Instant;

use dermis::prelude::*;
use dermis::skin::measure::bone_condition::bone_condition;
use dermis::skin::refine::RefineOptions;
use dermis::skin::{Animation, Corrections, Fit, WeightMethod, fit_motion, measure};

fn main() -> dermis::Result<()> {
    let mut files: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    if files.is_empty() {
        files.push("sample:gallop".to_owned());
    }
    for file in files {
        let sequence = dermis::read(&file)?.sequence()?;
        println!("{file}: {} points, {} frames", sequence.point_count(), sequence.frame_count());
        quality_table(&sequence)?;
        paper_table(&sequence)?;
    }
    Ok(())
}

fn quality_table(sequence: &MeshSequence) -> dermis::Result<()> {
    println!(
        "model      B    E %  parts islands stray %  diff.  infl.   rest flip geometric skinned  fade %  cond. unseen  shift      s"
    );
    let models = [BoneModel::Flexible, BoneModel::Rigid];
    let bones = [Bones::Count(10), Bones::Count(20), Bones::Count(30), FitOptions::default().bones];
    for (bone_model, bones) in models.into_iter().flat_map(|model| bones.map(|bones| (model, bones))) {
        quality_row(sequence, &FitOptions { bone_model, bones, ..FitOptions::default() })?;
    }
    Ok(())
}

fn quality_row(sequence: &MeshSequence, options: &FitOptions) -> dermis::Result<()> {
    let start = Instant::now();
    let fit = dermis::fit_skin(sequence, options)?;
    let seconds = start.elapsed().as_secs_f64();
    let quality = &fit.quality;
    let (weights, rest, normals) = (&quality.weights, &quality.rest, &quality.normal_error_degrees);
    let model = options.bone_model.name();
    println!(
        "{model:<8} {:>3} {:>6.2} {:>6.2} {:>7} {:>7.2} {:>6.3} {:>6.2} {:>6.3} {:>4} {:>8.2}° {:>6.2}° {:>7.3} {:>6.1} {:>6} {:>6} {seconds:>6.1}",
        fit.skin.bone_count(),
        fit.measures.distortion_percent,
        weights.parts_per_bone,
        weights.islands,
        weights.stray_weight_percent,
        weights.weight_difference,
        weights.mean_influences,
        rest.rest_energy_ratio,
        rest.flipped_rest_triangles,
        normals.geometric,
        normals.skinned,
        quality.crossfade_stretch_percent,
        bone_condition(&fit.skin).max_condition,
        generalization(sequence, options)?.map_or_else(String::new, |ratio| format!("{ratio:.2}")),
        shift_time(&fit).map_or_else(String::new, |ratio| format!("{ratio:.2}")),
    );
    Ok(())
}

/// Error of the odd frames relative to that of the even ones, which are fitted; `None` for fewer than four frames.
fn generalization(sequence: &MeshSequence, options: &FitOptions) -> dermis::Result<Option<f64>> {
    let frames = sequence.frame_count();
    if frames < 4 {
        return Ok(None);
    }
    let (seen, unseen) = (sequence.select(0, frames, 2)?, sequence.select(1, frames, 2)?);
    let fit = dermis::fit_skin(&seen, options)?;
    let animation = Animation { name: "unseen".to_owned(), sequence: unseen.clone() };
    let moved = fit_motion(&fit.skin, &[animation], options.bone_model, &NoProgress)?;
    let measures = measure(&moved, &[unseen])?;
    Ok(Some(measures.distortion_percent / fit.measures.distortion_percent.max(f64::MIN_POSITIVE)))
}

/// Time of the mean shift relative to that of the refinement; `None` if it was not used.
fn shift_time(fit: &Fit) -> Option<f64> {
    let of = |name: &str| fit.seconds.iter().filter(|(stage, _)| *stage == name).map(|(_, time)| time).sum::<f64>();
    fit.epsilon.map(|_| of("mean shift") / of("refine").max(1e-3))
}

/// Rows of Table 1 of the paper.
fn paper_table(sequence: &MeshSequence) -> dermis::Result<()> {
    println!("paper's method      B     η    E %  E₁₀ %");
    let tsvd = WeightMethod::Truncated { threshold: dermis::skin::fit::DEFAULT_TSVD_THRESHOLD };
    for bone_model in [BoneModel::Rigid, BoneModel::Flexible] {
        for (words, weights) in [("tsvd", tsvd), ("nnls", WeightMethod::NonNegative)] {
            let refine = RefineOptions { max_iterations: 0, ..RefineOptions::default() };
            let corrections = Corrections::Rank(10);
            let fit = dermis::fit_skin(
                sequence,
                &FitOptions { bone_model, weights, refine, corrections, ..FitOptions::default() },
            )?;
            println!(
                "{:<9} {words:<6} {:>4} {:>5.2} {:>6.2} {:>6.2}",
                bone_model.name(),
                fit.skin.bone_count(),
                fit.near_rigid_fraction.unwrap_or_default(),
                fit.measures.distortion_percent_by_rank[0],
                fit.measures.distortion_percent,
            );
        }
    }
    Ok(())
}
