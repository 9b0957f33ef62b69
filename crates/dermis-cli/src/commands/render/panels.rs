//! Panels of `dermis render`: inputs and lists of options, repeated until all panels have a value.

use clap::ValueEnum;
use dermis::mesh::Scene;
use dermis::render::{Heat, Look, PanelInput, PanelOptions};
use dermis::{Selection, select};

use super::Args;
use crate::diagnostic::{Diagnostic, InFile};
use crate::job::Job;
use crate::options::expect_effect;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LookName {
    Material,
    Clay,
    Normals,
    Bones,
    Heat,
}

/// All panels and the scenes that they show.
#[derive(Debug)]
pub(super) struct Panels {
    scenes: Vec<Scene>,
    references: Vec<Scene>,
    options: Vec<PanelOptions>,
}

impl Panels {
    pub(super) fn count(&self) -> usize {
        self.options.len()
    }

    pub(super) fn inputs(&self) -> Vec<PanelInput<'_>> {
        let input = |(at, options): (usize, &PanelOptions)| PanelInput {
            scene: &self.scenes[at % self.scenes.len()],
            reference: repeated(&self.references, at),
            options: options.clone(),
        };
        self.options.iter().enumerate().map(input).collect()
    }
}

/// Reads the inputs and combines the lists of options.
pub(super) fn read(args: &Args, job: &mut Job<'_>) -> Result<Panels, Diagnostic> {
    let needs_sequence = args.heat.contains(&Heat::Error);
    expect_effect([(!args.sequence.is_empty(), needs_sequence, "--sequence", "with --heat error")])?;
    let lists = [
        ("inputs", args.files.len()),
        ("values of --look", args.look.len()),
        ("values of --heat", args.heat.len()),
        ("values of --frame", args.frame.len()),
        ("values of --clip", args.clip.len()),
        ("values of --camera", args.camera.len()),
        ("values of --label", args.label.len()),
        ("values of --sequence", args.sequence.len()),
    ];
    let count = lists.iter().map(|(_, length)| *length).max().unwrap_or(1);
    if let Some((what, length)) = lists.iter().find(|(_, length)| *length > 0 && !count.is_multiple_of(*length)) {
        let message = format!("{length} {what} cannot be repeated to make {count} panels");
        return Err(Diagnostic::new(message).hint("use one value, one per panel, or one per panel of a row"));
    }
    let heat = |at: usize| repeated(&args.heat, at).cloned().map(Look::Heat);
    let look = |at: usize| match repeated(&args.look, at) {
        None => Ok(heat(at).unwrap_or_default()),
        Some(LookName::Material) => Ok(Look::Material),
        Some(LookName::Clay) => Ok(Look::Clay),
        Some(LookName::Normals) => Ok(Look::Normals),
        Some(LookName::Bones) => Ok(Look::Bones),
        Some(LookName::Heat) => heat(at).ok_or_else(|| {
            Diagnostic::new("the look 'heat' requires a quantity")
                .hint("add --heat error --sequence FILE, or --heat volume")
        }),
    };
    let has_heat = args.look.is_empty() || args.look.contains(&LookName::Heat);
    expect_effect([(!args.heat.is_empty(), has_heat, "--heat", "if --look contains heat")])?;
    let options = (0..count).map(|at| {
        let mut view = repeated(&args.camera, at).copied().unwrap_or_default();
        view.target = args.look_at.map(Into::into);
        Ok(PanelOptions {
            look: look(at)?,
            view,
            clip: repeated(&args.clip, at).filter(|clip| !clip.is_empty()).cloned(),
            frame: repeated(&args.frame, at).copied().unwrap_or_default(),
            label: repeated(&args.label, at).cloned().unwrap_or_default(),
        })
    });
    let options = options.collect::<Result<Vec<_>, Diagnostic>>()?;
    args.part.expect_point_cache(args.files.iter().map(String::as_str))?;
    let part = Selection { frames: None, ..args.part.selection(None) };
    Ok(Panels {
        scenes: scenes(&args.files, args, &part, job)?,
        references: scenes(&args.sequence, args, &part, job)?,
        options,
    })
}

/// Reads files; a file that is given several times is read once.
fn scenes(files: &[String], args: &Args, part: &Selection, job: &mut Job<'_>) -> Result<Vec<Scene>, Diagnostic> {
    let mut scenes: Vec<Scene> = Vec::with_capacity(files.len());
    for (at, file) in files.iter().enumerate() {
        if let Some(known) = files[..at].iter().position(|other| other == file) {
            scenes.push(scenes[known].clone());
            continue;
        }
        let mut scene = select(job.read(file, &args.part.read_options())?, part).in_file(file)?;
        job.notes.append(&mut scene.notes);
        scenes.push(scene);
    }
    Ok(scenes)
}

/// Value of a panel; `None` if the list is empty.
fn repeated<T>(list: &[T], at: usize) -> Option<&T> {
    list.get(at % list.len().max(1))
}
