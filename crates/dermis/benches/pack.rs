//! Size of packed skins, compared with packed principal components (Alexa & Müller 2000) with the same coder and the
//! same attributes, raw positions, zipped Alembic and the unpacked asset, at equal distortion relative to the recorded
//! frames.
//!
//! Arguments are mesh sequences, or else `sample:gallop`, and distortions in percent, or else seven from 0.3 to 5.
#![allow(missing_docs, reason = "a program, not an interface")]

use dermis::pack::{FramePacker, PackedFrames, compare};
use dermis::prelude::*;

const ERRORS_PERCENT: [f64; 7] = [0.3, 0.5, 0.8, 1.2, 2.0, 3.0, 5.0];

fn main() -> dermis::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let errors: Vec<f64> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    let errors = if errors.is_empty() { ERRORS_PERCENT.to_vec() } else { errors };
    let files: Vec<String> = arguments.into_iter().filter(|argument| argument.parse::<f64>().is_err()).collect();
    let files = if files.is_empty() { vec!["sample:gallop".into()] } else { files };
    for file in files {
        let sequence = dermis::read(&file)?.sequence()?;
        println!("{file}: {} frames of {} points", sequence.frame_count(), sequence.point_count());
        let mut packer = FramePacker::new(&sequence);
        for &percent in &errors {
            let options = PackOptions { budget: PackBudget::Error(percent), shape_normals: false, ..default() };
            let PackedFrames { packed, bone_model, bones, rank } = packer.pack(&options, &NoProgress)?;
            let measures = packed.measures;
            let comparison = compare(&sequence, percent)?;
            let components = comparison.principal_components;
            println!(
                "  E {percent:4.1} %: skin {:7} B (E {:.3}, {bones} {} bones, {rank} corrections, unpacked {} B), \
                 components {:7} B (E {:.3}, {}), ratio {:.2}, zipped Alembic {} B, raw {} B",
                measures.packed_bytes,
                measures.distortion_percent,
                bone_model.name(),
                measures.unpacked_bytes,
                components.bytes,
                components.distortion_percent,
                components.rank,
                measures.packed_bytes as f64 / components.bytes as f64,
                comparison.zipped_alembic.bytes,
                comparison.raw.bytes
            );
        }
    }
    Ok(())
}
