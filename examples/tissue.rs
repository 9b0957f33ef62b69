//! Builds a layered body, simulates its flesh for a few frames and writes them.

use dermis::prelude::*;

fn main() -> dermis::Result<()> {
    let body = dermis::read_body("sample:body", &BodyOptions::default())?;
    let built = dermis::build_body(&body, &BuildBodyOptions::default())?;
    dermis::write("body.npz", &built)?;
    let motion = built.body.motion(None).expect("the sample has motions");
    let recording = dermis::simulate(&built.body, motion, &SimulateOptions::default())?;
    dermis::write("body_motion.npz", &recording.sequence.select(0, 12, 1)?)?;
    println!("{:.2} ms per step", recording.measures().milliseconds_per_step);
    Ok(())
}
