//! Pictures of scenes, drawn on the CPU: one or several panels, at one frame or over a motion.

mod files;
mod heat;
mod options;
mod posed_normals;
mod subject;

use std::ops::ControlFlow;

use dermis_math::progress::{NoProgress, Progress};
use dermis_mesh::{Note, Scene};
use dermis_render::{Camera, Framing, Image, Legend, Panel, RenderError, Shading, Sheet, View, draw};

pub use crate::error::PictureError;
pub use files::{check_frames, check_picture, write_frames, write_picture};
pub use options::{Backdrop, Heat, Look, Normals, PanelFrame, PanelOptions, RenderOptions};

use self::heat::{Pool, Quantity};
use self::subject::Subject;
use crate::error::Result;
use crate::files::ToScene;
use crate::frame_range::FrameRange;
use crate::select::SelectError;

/// Input of a panel.
#[derive(Debug, Clone)]
pub struct PanelInput<'a> {
    /// The scene.
    pub scene: &'a Scene,
    /// The motion relative to which the error is measured.
    pub reference: Option<&'a Scene>,
    /// Contents of the panel.
    pub options: PanelOptions,
}

/// Pictures of a motion, with one camera and one range of colours.
#[derive(Debug)]
pub struct Pictures {
    sheet: Sheet,
    has_skeleton: bool,
    panels: Vec<PreparedPanel>,
    /// Frame of each panel in each picture; `None` is the rest pose.
    frames: Vec<Vec<Option<usize>>>,
    /// Assumptions and omissions.
    pub warnings: Vec<Note>,
}

#[derive(Debug)]
struct PreparedPanel {
    subject: Subject,
    options: PanelOptions,
    quantity: Option<Quantity>,
    camera: Camera,
    floor: Option<f32>,
}

/// Draws a scene: one frame of its motion, with all objects and their layers.
///
/// ```
/// use dermis::prelude::*;
/// use dermis::render::{Look, PanelOptions, RenderOptions};
///
/// let panel = PanelOptions { look: Look::Clay, ..default() };
/// let options = RenderOptions { panel, width: 64, height: 48, ..default() };
/// let picture = dermis::render(&dermis::read("sample:towel")?, &options)?;
/// assert_eq!(picture.pixels.len(), 64 * 48);
/// # dermis::Result::Ok(())
/// ```
pub fn render(input: &(impl ToScene + ?Sized), options: &RenderOptions) -> Result<Image> {
    render_with(input, options, &NoProgress)
}

/// [`render`] with an observer.
pub fn render_with(input: &(impl ToScene + ?Sized), options: &RenderOptions, progress: &dyn Progress) -> Result<Image> {
    let scene = input.to_scene();
    let panel = PanelInput { scene: &scene, reference: None, options: options.panel.clone() };
    Pictures::still(&[panel], options, progress)?.draw(0, progress)
}

impl Pictures {
    /// One picture, with the frame of each panel. `options.panel` is not used.
    pub fn still(panels: &[PanelInput<'_>], options: &RenderOptions, progress: &dyn Progress) -> Result<Self> {
        let prepared = prepare(panels, options)?;
        let frames = prepared.iter().map(|panel| panel.subject.frame(panel.options.frame));
        let frames = frames.collect::<std::result::Result<Vec<_>, _>>()?;
        Ok(Self::framed(prepared, vec![frames], options, progress)?)
    }

    /// One picture for each frame of `range` of the longest motion; shorter motions keep their last frame.
    pub fn of_motion(
        panels: &[PanelInput<'_>],
        range: &FrameRange,
        options: &RenderOptions,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let prepared = prepare(panels, options)?;
        let counts: Vec<usize> = prepared.iter().map(|panel| panel.subject.frame_count()).collect();
        let longest = counts.iter().copied().max().unwrap_or(0);
        if longest == 0 {
            return Err(PictureError::NothingMoves(0).into());
        }
        let frame = |count: &usize, at: usize| count.checked_sub(1).map(|last| at.min(last));
        let empty = || SelectError::EmptyRange { range: *range, motion: "the motion".to_owned(), count: longest };
        let (start, end, step) = range.resolve(longest).ok_or_else(empty)?;
        let pictures = (start..end).step_by(step);
        let frames = pictures.map(|at| counts.iter().map(|count| frame(count, at)).collect()).collect();
        let mut made = Self::framed(prepared, frames, options, progress)?;
        for (at, &count) in counts.iter().enumerate().filter(|(_, count)| (1..end).contains(*count)) {
            let message = format!("panel {at} has only {count} frames; its last frame is repeated");
            made.warnings.push(Note::new(message));
        }
        Ok(made)
    }

    /// Places the cameras and the floor, and finds the range of the colours, for all frames.
    fn framed(
        mut panels: Vec<PreparedPanel>,
        frames: Vec<Vec<Option<usize>>>,
        options: &RenderOptions,
        progress: &dyn Progress,
    ) -> std::result::Result<Self, PictureError> {
        let mut sheet = Sheet {
            width: options.width,
            height: options.height,
            columns: options.columns,
            backdrop: options.backdrop,
            wireframe: options.wireframe,
            legend: None,
        };
        sheet.check(panels.len())?;
        let mut pool = Pool::default();
        if panels.iter().any(|panel| panel.quantity.is_some()) {
            // The space for the legend affects the cameras; its range is determined below.
            sheet.legend =
                Some(Legend { title: String::new(), map: dermis_render::ColorMap::default(), range: [0.0, 1.0] });
        }
        let labels: Vec<&str> = panels.iter().map(|panel| panel.options.label.as_str()).collect();
        let sizes = sheet.frames(&labels);
        let mut framings: Vec<Framing> =
            panels.iter().zip(&sizes).map(|(panel, size)| Framing::new(panel.options.view, *size)).collect();
        for (picture, frames) in frames.iter().enumerate() {
            if let ControlFlow::Break(()) = progress.report("measuring", picture, frames.len()) {
                return Err(RenderError::Stopped.into());
            }
            for (at, (panel, &frame)) in panels.iter().zip(frames).enumerate() {
                let points = panel.subject.points(frame)?;
                for (_, framing) in
                    framings.iter_mut().enumerate().filter(|(other, _)| options.same_scale || *other == at)
                {
                    for points in &points {
                        framing.add(points);
                    }
                }
                if let Some(quantity) = &panel.quantity {
                    quantity.values(&panel.subject, frame)?.iter().for_each(|values| pool.add(values));
                }
            }
        }
        for (panel, framing) in panels.iter_mut().zip(&framings) {
            panel.camera = framing.camera();
            panel.floor = framing.bounds().filter(|_| options.floor).map(|[low, _]| low.y);
        }
        let quantity = panels.iter().find_map(|panel| panel.quantity.as_ref());
        sheet.legend = quantity.map(|quantity| quantity.legend(&pool, options.heat_max));
        let notes = |panel: &PreparedPanel| {
            let of_quantity = panel.quantity.iter().flat_map(|quantity| quantity.notes.clone());
            panel.subject.notes.iter().cloned().chain(of_quantity).collect::<Vec<_>>()
        };
        let warnings = panels.iter().flat_map(notes).collect();
        Ok(Self { sheet, has_skeleton: options.skeleton, panels, frames, warnings })
    }

    /// Number of pictures.
    pub fn count(&self) -> usize {
        self.frames.len()
    }

    /// Number of triangles of all panels.
    pub fn triangle_count(&self) -> usize {
        let actors = self.panels.iter().flat_map(|panel| &panel.subject.actors);
        actors.map(|actor| actor.object.mesh.triangle_count()).sum()
    }

    /// Legend of the quantity, if one is shown.
    pub fn legend(&self) -> Option<&Legend> {
        self.sheet.legend.as_ref()
    }

    /// Draws picture number `picture`.
    ///
    /// # Panics
    /// If there are not that many pictures.
    pub fn draw(&self, picture: usize, progress: &dyn Progress) -> Result<Image> {
        let panels = self.panels.iter().zip(&self.frames[picture]).map(|(panel, &frame)| self.panel(panel, frame));
        let panels = panels.collect::<std::result::Result<Vec<_>, _>>()?;
        Ok(draw(&self.sheet, &panels, progress).map_err(PictureError::from)?)
    }

    fn panel(&self, panel: &PreparedPanel, frame: Option<usize>) -> std::result::Result<Panel, PictureError> {
        let PreparedPanel { subject, options, quantity, camera, floor } = panel;
        let points = subject.points(frame)?;
        let colors = match (quantity, &self.sheet.legend) {
            (Some(quantity), Some(legend)) => Some(heat::colors(&quantity.values(subject, frame)?, legend)),
            _ => None,
        };
        let surfaces = subject.surfaces(&points, colors.as_deref());
        let overlay = if self.has_skeleton { subject.skeletons(frame, &options.look)? } else { Vec::new() };
        let shading = if options.look == Look::Normals { Shading::Normals } else { Shading::Lit };
        let label = options.label.clone();
        Ok(Panel { surfaces, overlay, camera: *camera, floor: *floor, shading, label })
    }
}

fn prepare(
    panels: &[PanelInput<'_>],
    options: &RenderOptions,
) -> std::result::Result<Vec<PreparedPanel>, PictureError> {
    if let Some(max) = options.heat_max.filter(|max| !(max.is_finite() && *max > 0.0)) {
        return Err(PictureError::Range(max));
    }
    let mut shown: Option<&Heat> = None;
    for panel in panels {
        let Look::Heat(heat) = &panel.options.look else { continue };
        if shown.replace(heat).is_some_and(|other| !other.has_legend_of(heat)) {
            return Err(PictureError::MixedHeat);
        }
    }
    panels.iter().map(|panel| prepare_panel(panel, options)).collect()
}

fn prepare_panel(panel: &PanelInput<'_>, options: &RenderOptions) -> std::result::Result<PreparedPanel, PictureError> {
    let PanelOptions { look, view, clip, .. } = &panel.options;
    let View { azimuth_degrees, elevation_degrees, zoom, target } = view;
    let is_finite = azimuth_degrees.is_finite() && elevation_degrees.is_finite() && zoom.is_finite();
    if !is_finite || *zoom <= 0.0 || target.is_some_and(|target| !target.is_finite()) {
        return Err(PictureError::View);
    }
    let subject = Subject::new(panel.scene, clip.as_deref(), look, options.normals)?;
    if options.skeleton && subject.actors.iter().all(|actor| actor.joint_count() == 0) {
        return Err(PictureError::NoJoints);
    }
    let quantity = match look {
        Look::Heat(heat) => Some(Quantity::new(heat, &subject, panel.reference, clip.as_deref())?),
        _ => None,
    };
    let camera = Framing::new(*view, [1, 1]).camera();
    Ok(PreparedPanel { subject, options: panel.options.clone(), quantity, camera, floor: None })
}
