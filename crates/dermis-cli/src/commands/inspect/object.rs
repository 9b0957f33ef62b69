//! Facts about one object as text.

use dermis::inspect::ObjectFacts;

use crate::motion::{MotionFacts, Words};
use crate::numbers::{counted, grouped, short};
use crate::text::Text;

/// Number of names that are listed; the others are counted.
const MAX_LISTED_NAMES: usize = 8;
/// Number of clips that are listed; the others are counted.
const MAX_LISTED_CLIPS: usize = 40;

/// Adds the rows of an object and of `clips`.
pub(super) fn write(object: &ObjectFacts, clips: &[MotionFacts], text: &mut Text) {
    text.line(format!("  {}", text.paint.title(named(&object.name))));
    if object.points > 0 {
        write_mesh(object, text);
    } else {
        text.row_at(2, "joints", format!("{}, no mesh", grouped(object.joints)));
    }
    write_clips(clips, 2, text);
    let lists = [&object.morph_targets, &object.deformers, &object.materials, &object.attributes];
    for (label, names) in ["shapes", "layers", "materials", "attributes"].into_iter().zip(lists) {
        if !names.is_empty() {
            text.row_at(2, label, listed(names));
        }
    }
    for (at, problem) in object.problems.iter().enumerate() {
        let label = if at == 0 { "problems" } else { "" };
        let message = if problem.harmless { problem.message.clone() } else { text.paint.warning(&problem.message) };
        text.row_at(2, label, message);
        text.row_at(2, "", format!("  {} {}", text.paint.hint("hint:"), problem.hint));
    }
}

/// Adds the rows of clips, indented by `depth` levels.
pub(super) fn write_clips(clips: &[MotionFacts], depth: usize, text: &mut Text) {
    let width = clips.iter().map(|clip| clip.name.chars().count()).max().unwrap_or(0).min(40);
    for (at, clip) in clips.iter().take(MAX_LISTED_CLIPS).enumerate() {
        let label = if at == 0 { "clips" } else { "" };
        text.row_at(depth, label, format!("{:width$}  {}", clip.name, clip.words()));
    }
    if let Some(more @ 1..) = clips.len().checked_sub(MAX_LISTED_CLIPS) {
        text.row_at(depth, "", format!("and {more} more"));
    }
}

fn write_mesh(object: &ObjectFacts, text: &mut Text) {
    let mut row = |label: &str, words: String| text.row_at(2, label, words);
    row("points", points(object));
    row("faces", faces(object));
    row("surface", surface(object));
    row("bounds", bounds(object));
    if let Some(volume) = object.volume {
        row("volume", short(volume));
    }
    let counts = [("tetrahedra", object.tetrahedra), ("UV sets", object.uv_sets), ("colour sets", object.color_sets)];
    for (label, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
        row(label, grouped(count));
    }
    if !object.levels.is_empty() {
        let triangles: Vec<String> = object.levels.iter().map(|&count| grouped(count)).collect();
        row("levels", format!("{} triangles", triangles.join(", ")));
    }
    if let (Some(frames), Some(fps)) = (object.frames, object.fps) {
        row("recorded", MotionFacts::new("", frames, fps).words());
    }
    if object.joints > 0 {
        let most = counted(object.max_influences, "influence", "influences");
        row("joints", format!("{}, at most {most} per point", grouped(object.joints)));
        row("influences", histogram(&object.influence_histogram));
    }
}

fn points(object: &ObjectFacts) -> String {
    let split = format!(", split into {}", counted(object.vertices, "vertex", "vertices"));
    grouped(object.points) + if object.vertices == object.points { "" } else { &split }
}

fn faces(object: &ObjectFacts) -> String {
    let triangles = counted(object.triangles, "triangle", "triangles");
    if object.polygons == object.triangles {
        return triangles;
    }
    format!("{}, triangulated to {triangles}", counted(object.polygons, "polygon", "polygons"))
}

fn surface(object: &ObjectFacts) -> String {
    let shells = counted(object.shells, "shell", "shells");
    match (object.closed, object.boundary_edges) {
        _ if object.triangles == 0 => "none, points only".to_owned(),
        (true, _) => format!("{shells}, closed"),
        (false, 0) => format!("{shells}, not closed: inconsistent orientation of faces"),
        (false, edges) => format!("{shells}, open: {}", counted(edges, "boundary edge", "boundary edges")),
    }
}

fn bounds(object: &ObjectFacts) -> String {
    let (low, high) = (object.bounds.min, object.bounds.max);
    let axis = |at: usize| format!("{} … {}", short(low[at].into()), short(high[at].into()));
    let size = |at: usize| short(f64::from(high[at]) - f64::from(low[at]));
    format!("{} × {} × {}  (x {}, y {}, z {})", size(0), size(1), size(2), axis(0), axis(1), axis(2))
}

fn histogram(counts: &[usize]) -> String {
    let filled = counts.iter().enumerate().filter(|(_, count)| **count > 0);
    let parts = filled.map(|(influences, count)| format!("{influences}: {}", grouped(*count)));
    format!("{} points", parts.collect::<Vec<_>>().join(", "))
}

fn named(name: &str) -> &str {
    if name.is_empty() { "(unnamed)" } else { name }
}

fn listed(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(MAX_LISTED_NAMES).map(|name| named(name)).collect();
    let more = names.len().saturating_sub(MAX_LISTED_NAMES);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}: {}{rest}", grouped(names.len()), shown.join(", "))
}
