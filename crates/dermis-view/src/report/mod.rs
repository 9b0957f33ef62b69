//! `dermis report`: fits against the frames they were made from, as one HTML file that opens anywhere.
//!
//! The file holds the numbers (computed here, printed as they are), the page's script, and the geometry of a range of
//! frames for a view that can be turned and played: recorded frames and corrections in 16-bit steps of their box, which is
//! off by less than 1/100,000 of it. Nothing is fetched from anywhere.

mod facts;
mod html;

use std::sync::Arc;

use dermis::evaluate::EvaluateError;
use dermis::mesh::{Note, Object, Scene};
use dermis::{FrameRange, SelectError, Selection, select};
use serde::Serialize;

use crate::asset::{Asset, AssetInfo, clip_bundle, frames_bundle, mesh_bundle};
use crate::gallery::Gallery;
use crate::measures::MeasureError;
pub use facts::FitFacts;

/// The geometry may take this many bytes before it is encoded as text, which adds a third.
const MOST_GEOMETRY: usize = 6_600_000;

/// Options of [`report`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReportOptions {
    /// The heading; the fits' names where it is empty.
    pub title: String,
    /// The frames of the 3D view; all where it is `None`. Where they are too many for a file of handy size, every second,
    /// third, … is kept.
    pub frames: Option<FrameRange>,
}

/// A report as a file and as data.
#[derive(Debug)]
pub struct Report {
    /// The whole file.
    pub html: String,
    /// What it says, for programs.
    pub facts: Facts,
    /// What had to be left out.
    pub notes: Vec<Note>,
}

/// The numbers of a report.
#[derive(Debug, Clone, Serialize)]
pub struct Facts {
    /// The heading.
    pub title: String,
    /// The version of dermis.
    pub version: &'static str,
    /// What the recorded motion is called.
    pub sequence: String,
    /// Its size.
    pub points: usize,
    /// Its size.
    pub triangles: usize,
    /// Its length.
    pub frames: usize,
    /// Its rate.
    pub fps: f64,
    /// What lengths are measured in.
    pub unit: String,
    /// One entry per fit.
    pub fits: Vec<FitFacts>,
    /// Every how many frames the 3D view shows one.
    pub frame_step: usize,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// There is no page in this build to put into it.
    #[error("{0}")]
    NoPage(&'static str),
    /// An input plays no frames of the sequence.
    #[error("'{label}' has no clip that plays the sequence: {wanted}")]
    Unmatched {
        /// The input.
        label: String,
        /// What the clip would have to have.
        wanted: String,
    },
    /// There is nothing to report on.
    #[error("there is no recorded motion to compare with")]
    NoSequence,
    /// A fit cannot be measured.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// An input cannot be evaluated.
    #[error(transparent)]
    Evaluate(#[from] EvaluateError),
    /// The frames asked for are not there.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// The data cannot be written down.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
}

/// Reports on `gallery`, whose first asset has the recorded frames and whose others are fits of it.
pub fn report(gallery: &Gallery, options: &ReportOptions) -> Result<Report, ReportError> {
    if let Some(reason) = crate::page::missing() {
        return Err(ReportError::NoPage(reason));
    }
    let facts = gather(gallery, options)?;
    let (view, step, mut notes) = view_data(gallery, options)?;
    notes.extend(options.frames.and_then(|frames| beyond(frames, facts.frames)));
    let facts = Facts { frame_step: step, ..facts };
    let html = html::page(&facts, &view)?;
    Ok(Report { html, facts, notes })
}

/// What to say of a range that reaches beyond the frames there are.
fn beyond(frames: FrameRange, count: usize) -> Option<Note> {
    let (start, end, _) = frames.resolve(count)?;
    let there = |at: Option<i64>| at.is_none_or(|at| usize::try_from(at.unsigned_abs()).is_ok_and(|at| at <= count));
    let last = end - 1;
    let note = || Note::new(format!("there are {count} frames; of {frames}, the 3D view shows {start} to {last}"));
    (!there(frames.start) || !there(frames.end)).then(note)
}

fn gather(gallery: &Gallery, options: &ReportOptions) -> Result<Facts, ReportError> {
    let original = gallery.get(0).ok_or(ReportError::NoSequence)?;
    let sequence = original.object.sequence.as_ref().ok_or(ReportError::NoSequence)?;
    let mut fits = Vec::new();
    for id in 1..gallery.len() {
        let compared = clip_of(gallery, id).and_then(|clip| gallery.compared(id, clip));
        let label = gallery.get(id).map(|asset| asset.label.clone()).unwrap_or_default();
        let Some((skin, reference)) = compared else {
            let (frames, points) = (sequence.frame_count(), sequence.point_count());
            let wanted = format!("it takes {frames} frames of the same {points} points and triangles");
            return Err(ReportError::Unmatched { label, wanted });
        };
        let bytes = gallery.get(id).and_then(|asset| asset.file_bytes);
        fits.push(FitFacts::gather(label, bytes, &skin, &reference)?);
    }
    let names = || fits.iter().map(|fit| fit.label.as_str()).collect::<Vec<_>>().join(", ");
    Ok(Facts {
        title: if options.title.is_empty() {
            format!("{} beside {}", names(), original.label)
        } else {
            options.title.clone()
        },
        version: env!("CARGO_PKG_VERSION"),
        sequence: original.label.clone(),
        points: sequence.point_count(),
        triangles: sequence.mesh().triangle_count(),
        frames: sequence.frame_count(),
        fps: sequence.frame_rate_hz(),
        unit: original.unit(),
        fits,
        frame_step: 1,
    })
}

/// The clip of asset `id` that plays the sequence of the first.
fn clip_of(gallery: &Gallery, id: usize) -> Option<usize> {
    gallery.references(id).iter().position(|reference| *reference == Some(0))
}

/// One asset of the 3D view.
#[derive(Debug, Serialize)]
struct Embedded {
    info: AssetInfo,
    /// Bundles as base64, where the asset has them.
    mesh: String,
    clip: Option<String>,
    frames: Option<String>,
}

/// The geometry of the frames asked for, thinned out until it fits.
fn view_data(gallery: &Gallery, options: &ReportOptions) -> Result<(Vec<Embedded>, usize, Vec<Note>), ReportError> {
    let assets: Vec<Arc<Asset>> = (0..gallery.len()).filter_map(|id| gallery.get(id)).collect();
    let mut step = 1;
    loop {
        let cut = Gallery::default();
        for (id, asset) in assets.iter().enumerate() {
            let clip = clip_of(gallery, id).unwrap_or(0);
            cut.add(thinned(asset, clip, options.frames, step)?);
        }
        let (view, size) = embedded(&cut)?;
        let fewest = view.iter().filter_map(|asset| asset.info.recorded.as_ref()).any(|motion| motion.frames <= 2);
        if size <= MOST_GEOMETRY || fewest {
            let note =
                (step > 1).then(|| Note::new(format!("the 3D view shows one frame in {step}, to keep the file small")));
            return Ok((view, step, note.into_iter().collect()));
        }
        step += 1;
    }
}

/// The asset with only the clip `clip`, only the frames asked for, and of those one in `step`.
fn thinned(asset: &Asset, clip: usize, frames: Option<FrameRange>, step: usize) -> Result<Asset, ReportError> {
    let clips = asset.object.clips.get(clip).cloned().into_iter().collect();
    let object =
        Object { clips, tets: None, attributes: std::collections::BTreeMap::default(), ..asset.object.clone() };
    let mut scene = Scene { objects: vec![object], units: asset.units, notes: Vec::new() };
    let every = format!("::{step}").parse().ok();
    for frames in [frames, every].into_iter().flatten() {
        scene = select(scene, &Selection { frames: Some(frames), ..Selection::default() })?;
    }
    let object = scene.objects.pop().unwrap_or_default();
    Ok(Asset {
        label: asset.label.clone(),
        object,
        lods: Vec::new(),
        units: asset.units,
        notes: Vec::new(),
        file_bytes: asset.file_bytes,
        tissue: None,
        first_clip: None,
        upload: None,
    })
}

fn embedded(gallery: &Gallery) -> Result<(Vec<Embedded>, usize), ReportError> {
    let infos = gallery.infos()?;
    let mut size = 0;
    let mut text = |bytes: Vec<u8>| {
        size += bytes.len();
        data_encoding::BASE64.encode(&bytes)
    };
    let mut view = Vec::new();
    for info in infos {
        let Some(asset) = gallery.get(info.id) else { continue };
        let Object { rig, clips, sequence, .. } = &asset.object;
        let clip = rig.as_ref().zip(clips.first()).map(|(rig, clip)| text(clip_bundle(rig, clip)));
        let frames = match sequence {
            Some(frames) => {
                let bundle = frames_bundle(frames, 0, frames.frame_count(), true).map_err(MeasureError::from)?;
                Some(text(bundle))
            }
            None => None,
        };
        view.push(Embedded { info, mesh: text(mesh_bundle(&asset.object, true)), clip, frames });
    }
    Ok((view, size))
}
