//! `dermis report`: comparison of fits with the frames they were made from, as one HTML file.
//!
//! The file contains the numbers (computed here and printed unchanged), the script of the page, and the geometry of a
//! range of frames for a 3D view: recorded frames and corrections are quantized to 16 bits, with an error below
//! 1/100,000 of their bounding box. The file needs no network.

mod facts;
mod html;

use std::sync::Arc;

use dermis::evaluate::EvaluateError;
use dermis::mesh::{Deformer, Note, Object, Scene};
use dermis::{FrameRange, SelectError, Selection, select};
use serde::Serialize;

use crate::asset::{Asset, AssetInfo, clip_bundle, frames_bundle, mesh_bundle};
use crate::asset_store::AssetStore;
use crate::measures::MeasureError;
pub use facts::FitFacts;

/// Maximum size of the geometry in bytes, before the text encoding, which adds a third.
const MAX_GEOMETRY_BYTES: usize = 6_600_000;

/// Options of [`report`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReportOptions {
    /// Title; the names of the fits if empty.
    pub title: String,
    /// Frames of the 3D view; `None`: all. If the file would become too large, every second, third, … frame is kept.
    pub frames: Option<FrameRange>,
}

/// Report as a file and as data.
#[derive(Debug)]
pub struct Report {
    /// Contents of the HTML file.
    pub html: String,
    /// The numbers, as data.
    pub facts: Facts,
    /// Notes on dropped frames.
    pub notes: Vec<Note>,
}

/// Numbers of a report.
#[derive(Debug, Clone, Serialize)]
pub struct Facts {
    /// Title.
    pub title: String,
    /// Version of dermis.
    pub version: &'static str,
    /// Name of the recorded motion.
    pub sequence: String,
    /// Number of points.
    pub points: usize,
    /// Number of triangles.
    pub triangles: usize,
    /// Number of frames.
    pub frames: usize,
    /// Frames per second.
    pub fps: f64,
    /// Unit of lengths.
    pub unit: String,
    /// One entry per fit.
    pub fits: Vec<FitFacts>,
    /// Step between the frames of the 3D view.
    pub frame_step: usize,
}

/// Error of [`report`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// This build has no page.
    #[error("{0}")]
    NoPage(&'static str),
    /// An input does not reproduce the sequence.
    #[error("'{label}' has no clip that matches the sequence: {wanted}")]
    Unmatched {
        /// Name of the input.
        label: String,
        /// Requirements of the clip.
        wanted: String,
    },
    /// There is no recorded motion.
    #[error("no recorded motion to compare with")]
    NoSequence,
    /// A fit cannot be measured.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// An input cannot be evaluated.
    #[error(transparent)]
    Evaluate(#[from] EvaluateError),
    /// The selected frames do not exist.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// The data cannot be encoded.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
}

/// Reports on `assets`: the first contains the recorded frames, the others are fits of it.
pub fn report(assets: &AssetStore, options: &ReportOptions) -> Result<Report, ReportError> {
    if let Some(reason) = crate::page::missing() {
        return Err(ReportError::NoPage(reason));
    }
    let facts = gather(assets, options)?;
    let (view, step, mut notes) = view_data(assets, options)?;
    notes.extend(options.frames.and_then(|frames| beyond(frames, facts.frames)));
    notes.extend((1..assets.len()).filter_map(|id| assets.get(id)).filter_map(|asset| without_layers(&asset)));
    let facts = Facts { frame_step: step, ..facts };
    let html = html::page(&facts, &view)?;
    Ok(Report { html, facts, notes })
}

/// Note on a fit whose layers are not part of the comparison.
fn without_layers(asset: &Asset) -> Option<Note> {
    let layers: Vec<&str> = asset.object.deformers.iter().map(Deformer::kind).collect();
    let message = format!("the skin is compared without its layers: {}", layers.join(", "));
    (!layers.is_empty()).then(|| Note::at(&asset.label, message))
}

/// Note on a range beyond the existing frames.
fn beyond(frames: FrameRange, count: usize) -> Option<Note> {
    let (start, end, _) = frames.resolve(count)?;
    let last = end - 1;
    let note = || {
        Note::new(format!("the frames {frames} exceed the {count} existing ones; the 3D view shows {start} to {last}"))
    };
    frames.exceeds(count).then(note)
}

fn gather(assets: &AssetStore, options: &ReportOptions) -> Result<Facts, ReportError> {
    let original = assets.get(0).ok_or(ReportError::NoSequence)?;
    let sequence = original.object.sequence.as_ref().ok_or(ReportError::NoSequence)?;
    let mut fits = Vec::new();
    for id in 1..assets.len() {
        let compared = clip_of(assets, id).and_then(|clip| assets.compared(id, clip));
        let label = assets.get(id).map(|asset| asset.label.clone()).unwrap_or_default();
        let Some((skin, reference)) = compared else {
            let (frames, points) = (sequence.frame_count(), sequence.point_count());
            let wanted = format!("it needs {frames} frames of the same {points} points and triangles");
            return Err(ReportError::Unmatched { label, wanted });
        };
        let bytes = assets.get(id).and_then(|asset| asset.file_bytes);
        fits.push(FitFacts::gather(label, bytes, &skin, &reference)?);
    }
    let names = || fits.iter().map(|fit| fit.label.as_str()).collect::<Vec<_>>().join(", ");
    Ok(Facts {
        title: if options.title.is_empty() {
            format!("{} compared with {}", names(), original.label)
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

/// Clip of asset `id` that reproduces the sequence of the first asset.
fn clip_of(assets: &AssetStore, id: usize) -> Option<usize> {
    assets.references(id).iter().position(|reference| *reference == Some(0))
}

/// Asset of the 3D view.
#[derive(Debug, Serialize)]
struct Embedded {
    info: AssetInfo,
    /// Bundles in base64, if present.
    mesh: String,
    clip: Option<String>,
    frames: Option<String>,
}

/// Geometry of the selected frames, thinned out to the maximum size.
fn view_data(store: &AssetStore, options: &ReportOptions) -> Result<(Vec<Embedded>, usize, Vec<Note>), ReportError> {
    let assets: Vec<Arc<Asset>> = (0..store.len()).filter_map(|id| store.get(id)).collect();
    let mut step = 1;
    loop {
        let cut = AssetStore::default();
        for (id, asset) in assets.iter().enumerate() {
            let clip = clip_of(store, id).unwrap_or(0);
            cut.add(thinned(asset, clip, options.frames, step)?);
        }
        let (view, size) = embedded(&cut)?;
        let is_minimal = view.iter().filter_map(|asset| asset.info.recorded.as_ref()).any(|motion| motion.frames <= 2);
        if size <= MAX_GEOMETRY_BYTES || is_minimal {
            let note = (step > 1).then(|| {
                Note::new(format!("the 3D view contains only one in {step} frames, to limit the size of the file"))
            });
            return Ok((view, step, note.into_iter().collect()));
        }
        step += 1;
    }
}

/// Asset with only the clip `clip`, and every `step`th of the selected frames.
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
        parts: asset.parts.clone(),
        lods: Vec::new(),
        units: asset.units,
        notes: Vec::new(),
        file_bytes: asset.file_bytes,
        light: None,
        tissue: None,
        first_clip: None,
        upload: None,
    })
}

fn embedded(assets: &AssetStore) -> Result<(Vec<Embedded>, usize), ReportError> {
    let infos = assets.infos()?;
    let mut size = 0;
    let mut text = |bytes: Vec<u8>| {
        size += bytes.len();
        data_encoding::BASE64.encode(&bytes)
    };
    let mut view = Vec::new();
    for info in infos {
        let Some(asset) = assets.get(info.id) else { continue };
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
