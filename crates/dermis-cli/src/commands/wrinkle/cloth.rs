//! The cloth of an input, and its rest shape.

use dermis::active::wrinkle::rest_points;
use dermis::evaluate::{self, Motion};
use dermis::io::ReadOptions;
use dermis::mesh::glam::Vec3;
use dermis::mesh::{Object, Scene, TriMesh};

use super::UVS;
use crate::diagnostic::{Diagnostic, InFile};
use crate::job::Job;

/// The motion of the only moving object of `scene`, and the index of the object. Unused clips are noted.
pub(super) fn cloth_of(scene: &Scene, source: &str, job: &mut Job<'_>) -> Result<(usize, Motion), Diagnostic> {
    let index = the_cloth(scene).in_file(source)?;
    let found = evaluate::motion(&scene.objects[index]).in_file(source)?;
    let mut motion = found.ok_or_else(|| Diagnostic::new("the input has no motion"))?;
    let clip = motion.clip.take();
    job.notes.extend(clip.and_then(|clip| evaluate::other_clips(&scene.objects[index], &clip)));
    Ok((index, motion))
}

/// Index of the only object with a motion.
fn the_cloth(scene: &Scene) -> Result<usize, Diagnostic> {
    let moves = |object: &Object| object.sequence.is_some() || !object.clips.is_empty();
    let indices: Vec<usize> = (0..scene.objects.len()).filter(|&at| moves(&scene.objects[at])).collect();
    match indices[..] {
        [] => Err(Diagnostic::new("the input contains no motion").hint("use a cloth with frames or a clip")),
        [index] => Ok(index),
        _ => {
            let names: Vec<&str> = indices.iter().map(|&at| scene.objects[at].name.as_str()).collect();
            let diagnostic =
                Diagnostic::new("several meshes have a motion").detail(format!("meshes: {}", names.join(", ")));
            Err(diagnostic.hint("select the cloth with --mesh"))
        }
    }
}

/// Rest shape from a file with the same mesh; `None` if it is the rest pose or the UVs.
pub(super) fn read_rest(rest: Option<&str>, cloth: &TriMesh, job: &Job<'_>) -> Result<Option<Vec<Vec3>>, Diagnostic> {
    let Some(file) = rest.filter(|rest| *rest != UVS) else { return Ok(None) };
    let scene = job.read(file, &ReadOptions::default())?;
    let meshes = || scene.objects.iter().map(|object| &object.mesh);
    let fitting = meshes().find(|mesh| mesh.point_count() == cloth.point_count());
    let mesh = fitting.or_else(|| meshes().max_by_key(|mesh| mesh.point_count()));
    let mesh = mesh.ok_or_else(|| Diagnostic::new("the file has no mesh").in_file(file))?;
    Ok(Some(rest_points(cloth, mesh).in_file(file)?.to_vec()))
}
