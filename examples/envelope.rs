//! Learns multi-weights from the sculpted shapes of an arm, and evaluates its clip with them.

use dermis::prelude::*;

fn main() -> dermis::Result<()> {
    let every_eighth = ExampleOptions { frames: vec!["::8".parse()?], ..default() };
    let examples = TrainingSet::new(&dermis::read("sample:arm")?, &every_eighth)?;
    let envelope = dermis::train_envelope(&examples, &EnvelopeOptions::default())?;
    let errors = &envelope.validation;
    println!("rms error {:.5}, of the linear skin {:.5}", errors.rms_error, errors.linear_rms_error);
    let played = envelope.model().sequence()?;
    println!("{} frames of the clip '{}'", played.frame_count(), played.name());
    dermis::write("arm.glb", &envelope)
}
