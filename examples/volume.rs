//! Preserves the volume of an arm while it bends, and writes the rig with its layer, and the corrected frames.

use dermis::prelude::*;

fn main() -> dermis::Result<()> {
    let arm = dermis::read("sample:arm")?;
    let kept = dermis::keep_volume(&arm, &VolumeOptions::default())?;
    println!("drift {:.1e} before, {:.1e} after", kept.drift_before(), kept.drift_after());
    dermis::write("arm_volume.glb", &kept)?;
    dermis::write("arm_volume_frames.npz", &kept.scene.sequence()?)
}
