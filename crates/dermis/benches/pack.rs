//! Size of packed skins, compared with packed principal components (Alexa & Müller 2000) with the same coder, raw
//! positions, zipped Alembic and the unpacked asset, at equal distortion.
//!
//! Inputs are the arguments, mesh sequences, or else `sample:gallop`. For each distortion E the smallest of several
//! skins is used; E is relative to the recorded frames.
#![allow(missing_docs, reason = "a program, not an interface")]

use dermis::pack::compare;
use dermis::prelude::*;
use dermis::skin::Corrections;

const ERRORS_PERCENT: [f64; 7] = [0.3, 0.5, 0.8, 1.2, 2.0, 3.0, 5.0];
/// Bones and corrections of the skins that are tried.
const SKINS: [(usize, usize); 7] = [(8, 0), (12, 0), (20, 0), (30, 0), (40, 0), (60, 0), (60, 4)];

fn main() -> dermis::Result<()> {
    let files: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let files = if files.is_empty() { vec!["sample:gallop".into()] } else { files };
    for file in files {
        let sequence = dermis::read(&file)?.sequence()?;
        println!("{file}: {} frames of {} points", sequence.frame_count(), sequence.point_count());
        let mut fits = Vec::new();
        for (bones, rank) in SKINS {
            let options = FitOptions { bones: Bones::Count(bones), corrections: Corrections::Rank(rank), ..default() };
            let fit = dermis::fit_skin(&sequence, &options)?;
            println!("  skin of {bones} bones, {rank} corrections: E {:.3} %", fit.measures.distortion_percent);
            fits.push((bones, rank, fit));
        }
        for percent in ERRORS_PERCENT {
            let comparison = compare(&sequence, percent)?;
            let mut best: Option<(usize, usize, usize, usize, f64)> = None;
            for (bones, rank, fit) in &fits {
                let own = fit.measures.distortion_percent;
                if own >= 0.98 * percent {
                    continue;
                }
                let budget = PackBudget::Error((percent * percent - own * own).sqrt());
                let Ok(packed) = dermis::pack(fit, &PackOptions { budget, shape_normals: false, ..default() }) else {
                    continue;
                };
                let measures = packed.measures;
                let reached = own.hypot(measures.distortion_percent);
                if best.is_none_or(|best| measures.packed_bytes < best.0) {
                    best = Some((measures.packed_bytes, measures.unpacked_bytes, *bones, *rank, reached));
                }
            }
            let components = comparison.principal_components;
            print!("  E {percent:4.1} %: ");
            match best {
                Some((bytes, unpacked, bones, rank, reached)) => print!(
                    "skin {bytes:8} B (E {reached:.3}, {bones} bones, {rank} corrections, unpacked {unpacked} B)"
                ),
                None => print!("no skin reaches this error"),
            }
            println!(
                ", components {:8} B (E {:.3}, {}), zipped Alembic {} B, raw {} B",
                components.bytes,
                components.distortion_percent,
                components.rank,
                comparison.zipped_alembic.bytes,
                comparison.raw.bytes
            );
        }
    }
    Ok(())
}
