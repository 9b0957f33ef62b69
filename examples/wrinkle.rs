//! Adds wrinkles to a coarse towel.

use dermis::prelude::*;

fn main() -> dermis::Result<()> {
    let towel = dermis::read("sample:towel")?.sequence()?;
    let cloth = dermis::wrinkle(&towel, &ClothOptions::default())?;
    let (coarse, fine) = (towel.mesh().triangle_count(), cloth.sequence.mesh().triangle_count());
    println!("{coarse} triangles refined to {fine}, highest fold {:.2} radii", cloth.measures.highest);
    dermis::write("towel.glb", &cloth)
}
