//! What `dermis skin` fits: animations of one mesh, from several files and clips.

use std::path::Path;
use std::sync::Arc;

use dermis::evaluate::{self, Motion, single};
use dermis::io::ReadOptions;
use dermis::mesh::reshape::reshaped;
use dermis::mesh::{Note, Object, Scene, TriMesh};
use dermis::skin::Animation;
use dermis::{Selection, select};

use crate::diagnostic::{Diagnostic, InFile};
use crate::input::SAMPLE;
use crate::job::Job;
use crate::options::InputPart;

/// The part of the inputs that is fitted, and the rest pose.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct Part {
    /// Fit only these clips: names, parts that no other name has, or numbers from 0 [default: all]
    #[arg(long = "clip", value_name = "CLIP")]
    pub(super) clips: Vec<String>,
    #[command(flatten)]
    pub(super) part: InputPart,
    /// Deform the shape in this file [default: the rest pose of the first input]
    #[arg(long, value_name = "FILE", conflicts_with = "rest_frame")]
    rest: Option<String>,
    /// Deform this frame of the first animation; negative numbers count from the end
    #[arg(long, value_name = "K")]
    rest_frame: Option<isize>,
}

/// The animations and the mesh that they move.
pub(super) struct Inputs {
    /// The first input's object: its mesh is the rest pose.
    pub(super) object: Object,
    pub(super) animations: Vec<Animation>,
    pub(super) scene: Scene,
    pub(super) notes: Vec<Note>,
}

/// Reads all inputs and gathers their animations.
pub(super) fn read(sources: &[String], part: &Part, job: &Job<'_>) -> Result<Inputs, Diagnostic> {
    let mut notes = Vec::new();
    let mut first: Option<(Object, Scene)> = None;
    let mut animations = Vec::new();
    part.part.expect_point_cache(sources.iter().chain(&part.rest).map(String::as_str))?;
    for source in sources {
        let scene = job.read(source, &part.part.read_options())?;
        notes.extend(scene.notes.iter().cloned());
        for (name, object) in motions(&scene, source, part, &mut notes)? {
            if let Some((known, _)) = &first {
                expect_same_mesh(known, &object).in_file(source)?;
            }
            if let Some(Motion { sequence, warnings, .. }) = evaluate::motion(&object).in_file(source)? {
                notes.extend(warnings);
                animations.push(Animation { name: unused_name(name, &animations), sequence });
            }
            first.get_or_insert_with(|| (object, Scene { objects: Vec::new(), ..scene.clone() }));
        }
    }
    let (object, scene) = first.ok_or_else(|| Diagnostic::new("the inputs hold no mesh"))?;
    if animations.is_empty() {
        let diagnostic = Diagnostic::new("nothing moves in the input").in_file(sources.join(", "));
        return Err(diagnostic.hint("a skin is learned from frames or clips: give an animated file"));
    }
    let mesh = rest_pose(&object, &animations, part, job)?;
    let object = Object { mesh, sequence: None, rig: None, clips: Vec::new(), deformers: Vec::new(), ..object };
    Ok(Inputs { object, animations, scene, notes })
}

/// The motions of a file as objects with one motion each, and what they are called.
fn motions(
    scene: &Scene,
    source: &str,
    part: &Part,
    notes: &mut Vec<Note>,
) -> Result<Vec<(String, Object)>, Diagnostic> {
    let whole = Selection { mesh: part.part.mesh.clone(), ..Selection::default() };
    let whole = select(scene.clone(), &whole).in_file(source)?;
    let mut clips: Vec<Option<String>> = part.clips.iter().cloned().map(Some).collect();
    let longest = whole.objects.iter().map(|object| object.clips.len()).max().unwrap_or(0);
    if clips.is_empty() {
        // Numbers tell apart clips of one name.
        let recorded = whole.objects.iter().any(|object| object.sequence.is_some());
        clips = if recorded || longest == 0 { vec![None] } else { (0..longest).map(|k| Some(k.to_string())).collect() };
    }
    let mut found = Vec::new();
    for clip in clips {
        let selected = select(scene.clone(), &part.part.selection(clip.clone())).in_file(source)?;
        let name = selected.objects.iter().find_map(|object| object.clips.first()).map(|clip| clip.name().to_owned());
        let name = name.filter(|name| clip.is_some() && !name.is_empty()).unwrap_or_else(|| stem(source));
        let (object, merged) = single(&selected).in_file(source)?;
        notes.extend(selected.notes.into_iter().chain(merged));
        found.push((name, object));
    }
    Ok(found)
}

/// What a file is called without folder and ending.
fn stem(source: &str) -> String {
    let name = source.strip_prefix(SAMPLE).unwrap_or(source);
    Path::new(name).file_stem().map_or_else(|| name.to_owned(), |stem| stem.to_string_lossy().into_owned())
}

/// `name`, with a number where another animation has it.
fn unused_name(name: String, animations: &[Animation]) -> String {
    let taken = |name: &str| animations.iter().any(|animation| animation.name == name);
    if !taken(&name) {
        return name;
    }
    let numbered = |number: usize| format!("{name}_{number}");
    (2..animations.len() + 2).map(numbered).find(|name| !taken(name)).unwrap_or_else(|| numbered(animations.len() + 2))
}

fn expect_same_mesh(first: &Object, other: &Object) -> Result<(), Diagnostic> {
    let (expected, found) = (first.mesh.point_count(), other.mesh.point_count());
    if expected != found {
        let message = format!("this has {found} points, but the first input has {expected}");
        return Err(Diagnostic::new(message).hint("animations that share a skin are of one mesh"));
    }
    if first.mesh.triangles() != other.mesh.triangles() {
        let message = "its triangles connect other points than those of the first input";
        return Err(Diagnostic::new(message).hint("export both from the same mesh, with the same order of points"));
    }
    Ok(())
}

/// The shape to deform.
fn rest_pose(
    object: &Object,
    animations: &[Animation],
    part: &Part,
    job: &Job<'_>,
) -> Result<Arc<TriMesh>, Diagnostic> {
    let points = match (&part.rest, part.rest_frame) {
        (Some(source), _) => {
            let options = ReadOptions { frame_rate_hz: None, topology: part.part.topology.clone() };
            let (rest, _) = single(&job.read(source, &options)?).in_file(source)?;
            expect_same_mesh(object, &rest).in_file(source)?;
            rest.mesh.points().to_vec()
        }
        (None, Some(frame)) => {
            let sequence = &animations[0].sequence;
            let count = sequence.frame_count();
            let place = if frame < 0 { count.checked_add_signed(frame) } else { usize::try_from(frame).ok() };
            let Some(place) = place.filter(|&place| place < count) else {
                let message =
                    format!("--rest-frame {frame} does not exist: '{}' has {count} frames", animations[0].name);
                return Err(Diagnostic::new(message).hint(format!("frames are numbered from 0 to {}", count - 1)));
            };
            sequence.frame(place)?.into_owned()
        }
        (None, None) => return Ok(Arc::clone(&object.mesh)),
    };
    Ok(Arc::new(reshaped(&object.mesh, points)?))
}
