//! The facts about a file as a table for people: a block per object, a row per fact that there is something to say about.

use crate::numbers::{counted, grouped, seconds, short};
use crate::terminal::Paint;

use super::facts::{FileFacts, ObjectFacts};

/// Rows are labelled; labels are padded to this width.
const LABEL_WIDTH: usize = 12;
/// More names than this are only counted.
const SHOWN_NAMES: usize = 8;
/// More clips than this are only counted.
const SHOWN_CLIPS: usize = 40;

/// The table.
pub(super) fn text(facts: &FileFacts, paint: Paint) -> String {
    let mut text = format!("{}\n", paint.title(&facts.file));
    for (label, value) in [
        ("format", facts.format),
        ("units", &units(facts)),
        ("objects", &grouped(facts.objects.len())),
        ("inspected in", &seconds(facts.seconds)),
    ] {
        text += &line(1, label, value, paint);
    }
    for note in &facts.notes {
        text += "  ";
        text += &note.line(paint);
    }
    for object in &facts.objects {
        text += "\n";
        text += &object_text(object, paint);
    }
    text
}

fn line(indent: usize, label: &str, value: &str, paint: Paint) -> String {
    let padded = format!("{label:LABEL_WIDTH$}");
    format!("{:width$}{} {value}\n", "", paint.faint(&padded), width = 2 * indent)
}

fn units(facts: &FileFacts) -> String {
    let length = match facts.units.metres_per_unit {
        Some(metres) => format!("1 unit is {} m", short(metres)),
        None => "not stated".to_owned(),
    };
    match facts.units.up_axis {
        Some(axis) => format!("{length}, {axis} is up"),
        None => length,
    }
}

fn object_text(object: &ObjectFacts, paint: Paint) -> String {
    let mut text = format!("  {}\n", paint.title(named(&object.name)));
    for (label, value) in rows(object) {
        text += &line(2, label, &value, paint);
    }
    for (at, problem) in object.problems.iter().enumerate() {
        let label = if at == 0 { "problems" } else { "" };
        let message = if problem.harmless { problem.message.clone() } else { paint.warning(&problem.message) };
        text += &line(2, label, &message, paint);
        text += &line(2, "", &format!("  {} {}", paint.hint("hint:"), problem.hint), paint);
    }
    text
}

fn rows(object: &ObjectFacts) -> Vec<(&'static str, String)> {
    let mut rows = vec![("points", points(object)), ("faces", faces(object)), ("surface", surface(object))];
    rows.push(("bounds", bounds(object)));
    if let Some(volume) = object.volume {
        rows.push(("volume", short(volume)));
    }
    if object.tetrahedra > 0 {
        rows.push(("tetrahedra", grouped(object.tetrahedra)));
    }
    if let (Some(frames), Some(fps), Some(time)) = (object.frames, object.fps, object.seconds) {
        let frames = counted(frames, "frame", "frames");
        rows.push(("recorded", format!("{frames} at {} fps, {}", short(fps), seconds(time))));
    }
    if object.joints > 0 {
        let most = counted(object.max_influences, "influence", "influences");
        rows.push(("joints", format!("{}, at most {most} per point", grouped(object.joints))));
        rows.push(("influences", histogram(&object.influence_histogram)));
    }
    rows.extend(clips(object));
    for (label, names) in [
        ("shapes", &object.morph_targets),
        ("layers", &object.deformers),
        ("materials", &object.materials),
        ("attributes", &object.attributes),
    ] {
        if !names.is_empty() {
            rows.push((label, listed(names)));
        }
    }
    if object.uv_sets > 0 {
        rows.push(("UV sets", grouped(object.uv_sets)));
    }
    rows
}

fn points(object: &ObjectFacts) -> String {
    if object.vertices == object.points {
        return grouped(object.points);
    }
    format!("{}, in the file {}", grouped(object.points), counted(object.vertices, "vertex", "vertices"))
}

fn faces(object: &ObjectFacts) -> String {
    let triangles = counted(object.triangles, "triangle", "triangles");
    if object.polygons == object.triangles {
        return triangles;
    }
    format!("{}, cut into {triangles}", counted(object.polygons, "polygon", "polygons"))
}

fn surface(object: &ObjectFacts) -> String {
    let shells = counted(object.shells, "shell", "shells");
    match (object.closed, object.boundary_edges) {
        _ if object.triangles == 0 => "none, only points".to_owned(),
        (true, _) => format!("{shells}, closed"),
        (false, 0) => format!("{shells}, not closed: its faces do not agree on which side is outside"),
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
    let parts: Vec<String> = filled.map(|(influences, count)| format!("{influences}: {}", grouped(*count))).collect();
    format!("{} points", parts.join(", "))
}

fn clips(object: &ObjectFacts) -> Vec<(&'static str, String)> {
    let width = object.clips.iter().map(|clip| named(&clip.name).chars().count()).max().unwrap_or(0).min(40);
    let shown = object.clips.iter().take(SHOWN_CLIPS).enumerate();
    let mut rows: Vec<_> = shown
        .map(|(at, clip)| {
            let label = if at == 0 { "clips" } else { "" };
            (label, format!("{:width$}  {}", named(&clip.name), clip.words()))
        })
        .collect();
    if object.clips.len() > SHOWN_CLIPS {
        rows.push(("", format!("and {} more", object.clips.len() - SHOWN_CLIPS)));
    }
    rows
}

fn named(name: &str) -> &str {
    if name.is_empty() { "(without a name)" } else { name }
}

fn listed(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(SHOWN_NAMES).map(|name| named(name)).collect();
    let more = names.len().saturating_sub(SHOWN_NAMES);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}: {}{rest}", grouped(names.len()), shown.join(", "))
}
