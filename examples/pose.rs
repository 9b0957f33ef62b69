//! Plays a clip from another file on a character: joints are matched by name, and rotations are transferred.

use dermis::prelude::*;

fn main() -> dermis::Result<()> {
    let motion = dermis::read("motion.glb")?;
    let options = PoseOptions { clip: Some("0".into()), ..default() };
    let posed = dermis::pose_model(&dermis::read("sample:body")?, Some(&motion), &options)?;
    let clip = posed.objects[0].clip.as_ref().expect("the motion moves the joints");
    println!("{} frames of the clip '{}'", clip.frame_count(), clip.name());
    dermis::write("posed.glb", &posed)
}
