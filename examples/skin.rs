//! Fits bones and weights to a recorded walk, poses a frame and writes a standard glTF asset.

#![allow(unused_variables, reason = "the posed points only show the call")]

use dermis::prelude::*;

fn main() -> dermis::Result<()> {
    let walk = dermis::read("walk.abc")?.sequence()?;
    let fit = dermis::fit_skin(&walk, &FitOptions { bones: Bones::Count(30), ..default() })?;
    println!("{} bones, {:.2} % distortion", fit.skin.bone_count(), fit.measures.distortion_percent);
    let points = fit.skin.pose("walk", 12)?;
    dermis::write("walk.glb", &fit.skin)
}
