//! Composition of a picture: panels in rows and columns, backdrop, floor, labels and legend.

use dermis_math::progress::Progress;
use glam::{Vec2, Vec3};
use rayon::prelude::*;

use crate::camera::{Camera, Projection};
use crate::color::{linear_of, rgb};
use crate::error::{MAX_PIXELS, MAX_SIZE, RenderError};
use crate::floor::{Floor, smooth};
use crate::image::{Canvas, Image};
use crate::legend::{self, Legend};
use crate::light::{Received, Studio};
use crate::raster::{Bins, NOTHING, OFFSETS, Rect, SAMPLES};
use crate::shade::{Fragment, Shading, Wire, coverage, fragment};
use crate::surface::{Geometry, Surface, expect_valid};
use crate::text::TextStyle;

/// Minimum width and height of a panel.
const MIN_PANEL: usize = 8;
/// Opacity of skeletons.
const SKELETON_OPACITY: f32 = 0.92;

/// Options of a picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Sheet {
    /// Width of the picture in pixels.
    pub width: usize,
    /// Height of the picture in pixels.
    pub height: usize,
    /// Panels per row; `None`: all in one row.
    pub columns: Option<usize>,
    /// The backdrop.
    pub backdrop: Backdrop,
    /// Draw the edges of the triangles or polygons.
    pub wireframe: bool,
    /// Legend below the panels.
    pub legend: Option<Legend>,
}

/// The backdrop of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Backdrop {
    /// Bright, slightly darker towards the corners.
    #[default]
    Light,
    /// Dark, slightly darker towards the corners.
    Dark,
    /// A plain colour in sRGB.
    Plain([u8; 3]),
    /// Transparent: the picture has an alpha channel, which includes the shadows on the floor.
    Transparent,
}

/// A part of a picture with its own scene and camera.
#[derive(Debug, Clone)]
pub struct Panel {
    /// The surfaces.
    pub surfaces: Vec<Surface>,
    /// Surfaces that are drawn over all others, such as skeletons.
    pub overlay: Vec<Surface>,
    /// The camera.
    pub camera: Camera,
    /// Height of the floor; `None`: no floor.
    pub floor: Option<f32>,
    /// Meaning of the colours.
    pub shading: Shading,
    /// Text below the panel.
    pub label: String,
}

impl Sheet {
    /// Checks the size for a number of panels.
    pub fn check(&self, panels: usize) -> Result<(), RenderError> {
        let Self { width, height, .. } = *self;
        let is_valid = |side: usize| (1..=MAX_SIZE).contains(&side);
        if !is_valid(width) || !is_valid(height) || width * height > MAX_PIXELS {
            return Err(RenderError::Size { width, height });
        }
        if panels == 0 {
            return Err(RenderError::NoPanels);
        }
        let [columns, rows] = self.grid(panels);
        if columns > 1 && width / columns < MIN_PANEL || rows > 1 && height / rows < MIN_PANEL {
            return Err(RenderError::PanelSize { panels, width, height });
        }
        Ok(())
    }

    /// Columns and rows.
    fn grid(&self, panels: usize) -> [usize; 2] {
        let columns = self.columns.unwrap_or(panels).clamp(1, panels.max(1));
        [columns, panels.div_ceil(columns)]
    }

    fn text(&self, panels: usize) -> TextStyle {
        let [columns, rows] = self.grid(panels);
        let side = (self.width / columns).min(self.height / rows) as f32;
        let color = match self.backdrop {
            Backdrop::Dark => rgb(0x00d8_dbe0),
            Backdrop::Plain(color) if color.iter().map(|&channel| u32::from(channel)).sum::<u32>() < 384 => {
                rgb(0x00e4_e6ea)
            }
            _ => rgb(0x003c_4048),
        };
        TextStyle { height: (side / 34.0).clamp(8.0, 40.0).round(), color: linear_of(color) }
    }

    /// Pixels of each panel, and the part of it in which the shape must be.
    fn rects(&self, labels: &[&str]) -> Vec<[Rect; 2]> {
        let [columns, rows] = self.grid(labels.len());
        let unit = self.text(labels.len()).height;
        let legend = if self.legend.is_some() { (legend::HEIGHT * unit) as usize } else { 0 };
        let height = self.height.saturating_sub(legend).max(1);
        let has_labels = labels.iter().any(|label| !label.is_empty());
        let strip = if has_labels { (3.2 * unit) as usize } else { 0 };
        let part = |total: usize, count: usize, at: usize| total * at / count;
        (0..labels.len())
            .map(|at| {
                let (column, row) = (at % columns, at / columns);
                let (x, y) = (part(self.width, columns, column), part(height, rows, row));
                let width = (part(self.width, columns, column + 1) - x).max(1);
                let height = (part(height, rows, row + 1) - y).max(1);
                let whole = Rect { x, y, width, height };
                [whole, Rect { height: height.saturating_sub(strip).max(1), ..whole }]
            })
            .collect()
    }

    /// Width and height of the part of each panel in which the shape must be.
    pub fn frames(&self, labels: &[&str]) -> Vec<[usize; 2]> {
        self.rects(labels).iter().map(|[_, inner]| [inner.width, inner.height]).collect()
    }

    /// Fills the canvas with the backdrop.
    fn fill(&self, canvas: &mut Canvas) {
        let (middle, rim) = match self.backdrop {
            Backdrop::Light => (rgb(0x00f5_f6f8), rgb(0x00d3_d7de)),
            Backdrop::Dark => (rgb(0x003b_4049), rgb(0x001a_1c20)),
            Backdrop::Plain(color) => (color, color),
            Backdrop::Transparent => return,
        };
        let [middle, rim] = [middle, rim].map(|color| Vec3::from(linear_of(color)));
        let size = Vec2::new(self.width as f32, self.height as f32);
        canvas.pixels.par_chunks_mut(self.width).enumerate().for_each(|(y, row)| {
            for (x, pixel) in row.iter_mut().enumerate() {
                let at = Vec2::new(x as f32 + 0.5, y as f32 + 0.5);
                let from_center = (at / size - Vec2::new(0.5, 0.46)) * Vec2::new(1.25, 1.35);
                let color = middle.lerp(rim, smooth(from_center.length() * 1.05));
                *pixel = [color.x, color.y, color.z, 1.0];
            }
        });
    }
}

/// Draws a picture of the panels.
///
/// # Panics
/// If the lists of a surface have different lengths, or a triangle refers to a missing vertex.
pub fn draw(sheet: &Sheet, panels: &[Panel], progress: &dyn Progress) -> Result<Image, RenderError> {
    sheet.check(panels.len())?;
    let labels: Vec<&str> = panels.iter().map(|panel| panel.label.as_str()).collect();
    let rects = sheet.rects(&labels);
    let mut canvas = Canvas::new(sheet.width, sheet.height);
    sheet.fill(&mut canvas);
    let style = sheet.text(panels.len());
    for (at, (panel, [rect, inner])) in panels.iter().zip(&rects).enumerate() {
        if progress.report("drawing", at, panels.len()).is_break() {
            return Err(RenderError::Stopped);
        }
        panel.surfaces.iter().chain(&panel.overlay).for_each(expect_valid);
        Drawing::new(sheet, panel, *rect, *inner, panels.len() > 1).draw(&mut canvas);
        let label = style.fitted(&panel.label, rect.width as f32 - 2.0 * style.height);
        let x = rect.x as f32 + 0.5 * (rect.width as f32 - style.width(&label));
        style.draw(&mut canvas, &label, Vec2::new(x, (rect.y + rect.height) as f32 - 1.3 * style.height));
    }
    if let Some(legend) = &sheet.legend {
        let height = ((legend::HEIGHT * style.height) as usize).min(sheet.height);
        legend.draw(&mut canvas, Rect { x: 0, y: sheet.height - height, width: sheet.width, height }, style);
    }
    Ok(canvas.finish())
}

/// The state of drawing one panel.
struct Drawing<'a> {
    panel: &'a Panel,
    rect: Rect,
    projection: Projection,
    geometry: Geometry<'a>,
    overlay: Geometry<'a>,
    studio: Studio,
    floor: Option<Floor>,
    wire: Option<Wire>,
    /// Shadows fade at the border of the panel, because another panel is adjacent.
    fades_at_border: bool,
}

/// A visible location and the samples of its pixel that show it.
struct Seen<'a> {
    fragment: Fragment<'a>,
    pixel: usize,
    samples: u32,
    /// Index of the location of the same pixel from which the light is reused.
    lit_like: usize,
}

impl<'a> Drawing<'a> {
    fn new(sheet: &Sheet, panel: &'a Panel, rect: Rect, inner: Rect, fades_at_border: bool) -> Self {
        let geometry = Geometry::new(&panel.surfaces);
        let projection = Projection::new(panel.camera, [inner.x, inner.y], [inner.width, inner.height]);
        // Normals need no light.
        let shading: &[[u32; 3]] = if panel.shading == Shading::Lit { &geometry.triangles } else { &[] };
        let studio = Studio::new(&panel.camera, &geometry.positions, shading);
        let has_floor = panel.shading == Shading::Lit && !geometry.triangles.is_empty();
        let floor = panel.floor.filter(|height| has_floor && panel.camera.position.y > *height);
        let floor = floor.map(|height| Floor::new(height, &studio, &geometry.positions));
        let width = (inner.width.min(inner.height) as f32 / 900.0).clamp(0.7, 3.0);
        let wire = Wire { width, color: Vec3::from(linear_of(rgb(0x0016_181c))), opacity: 0.62 };
        let wire = sheet.wireframe.then_some(wire);
        let overlay = Geometry::new(&panel.overlay);
        Self { panel, rect, projection, geometry, overlay, studio, floor, wire, fades_at_border }
    }

    fn draw(&self, canvas: &mut Canvas) {
        let bins = Bins::new(&self.geometry, self.projection, self.rect);
        let above = Bins::new(&self.overlay, self.projection, self.rect);
        let tile = |tile: usize| {
            let mut layers = self.tile(&bins, tile);
            self.add_overlay(&above, tile, &mut layers);
            (bins.tile_rect(tile), layers)
        };
        let tiles: Vec<(Rect, Vec<[f32; 4]>)> = (0..bins.tile_count()).into_par_iter().map(tile).collect();
        for (rect, pixels) in tiles {
            for (at, [r, g, b, alpha]) in pixels.into_iter().enumerate() {
                let (x, y) = (rect.x + at % rect.width, rect.y + at / rect.width);
                let below = &mut canvas.pixels[y * canvas.width + x];
                for (below, above) in below.iter_mut().zip([r, g, b, alpha]) {
                    *below = *below * (1.0 - alpha) + above;
                }
            }
        }
    }

    /// Premultiplied colours of a tile over the backdrop.
    fn tile(&self, bins: &Bins, tile: usize) -> Vec<[f32; 4]> {
        let has_opacity = self.geometry.surfaces.iter().any(|surface| {
            surface.topology.paints.iter().any(|paint| paint.opacity != crate::surface::Opacity::Opaque)
        });
        let drawn = bins.draw(tile, |triangle, x, y| {
            if has_opacity { coverage(&self.geometry, triangle, &self.projection, [x, y]) } else { u32::MAX }
        });
        let seen = self.seen(&self.geometry, &drawn);
        let light = match self.panel.shading {
            Shading::Lit => {
                let own = seen.iter().enumerate().filter(|(at, seen)| seen.lit_like == *at);
                let receivers: Vec<_> = own.map(|(_, seen)| seen.fragment.receiver()).collect();
                let mut own = self.studio.receive(&receivers).into_iter();
                let mut light: Vec<Received> = Vec::with_capacity(seen.len());
                for (at, seen) in seen.iter().enumerate() {
                    let received = if seen.lit_like == at { own.next() } else { light.get(seen.lit_like).copied() };
                    light.push(received.unwrap_or_default());
                }
                light
            }
            Shading::Normals => vec![Received::default(); seen.len()],
        };
        let mut pixels = vec![[0f32; 4]; drawn.ids.len()];
        for (seen, light) in seen.iter().zip(&light) {
            let mut color = seen.fragment.color(&self.studio, light, &self.projection, self.panel.shading);
            if let Some(wire) = &self.wire {
                color = seen.fragment.with_wire(color, wire);
            }
            add(&mut pixels[seen.pixel], color, seen.samples as f32 / SAMPLES as f32);
        }
        if let Some(floor) = &self.floor {
            for (at, pixel) in pixels.iter_mut().enumerate().filter(|(_, pixel)| pixel[3] < 1.0) {
                let center = center_of(drawn.rect, at);
                let shadow = (1.0 - floor.light(&self.projection, center)) * self.border_fade(center);
                pixel[3] += (1.0 - pixel[3]) * shadow;
            }
        }
        pixels
    }

    fn border_fade(&self, at: Vec2) -> f32 {
        if !self.fades_at_border {
            return 1.0;
        }
        let low = Vec2::new(self.rect.x as f32, self.rect.y as f32);
        let size = Vec2::new(self.rect.width as f32, self.rect.height as f32);
        let to_border = (at - low).min(low + size - at).min_element() / size.min_element();
        smooth(to_border / 0.16)
    }

    fn add_overlay(&self, bins: &Bins, tile: usize, pixels: &mut [[f32; 4]]) {
        if self.overlay.triangles.is_empty() {
            return;
        }
        let drawn = bins.draw(tile, |_, _, _| u32::MAX);
        let mut above = vec![[0f32; 4]; pixels.len()];
        for seen in self.seen(&self.overlay, &drawn) {
            let color = seen.fragment.overlay_color(&self.projection);
            add(&mut above[seen.pixel], color, SKELETON_OPACITY * seen.samples as f32 / SAMPLES as f32);
        }
        for (below, above) in pixels.iter_mut().zip(&above) {
            *below = std::array::from_fn(|channel| below[channel] * (1.0 - above[3]) + above[channel]);
        }
    }

    /// Visible locations: one for each triangle of each pixel, at the mean of its samples.
    fn seen<'g>(&self, geometry: &Geometry<'g>, drawn: &crate::raster::Tile) -> Vec<Seen<'g>> {
        let mut all: Vec<Seen<'g>> = Vec::new();
        for (pixel, ids) in drawn.ids.iter().enumerate() {
            let (mut done, first_of_pixel) = (0u32, all.len());
            for (first, &id) in ids.iter().enumerate() {
                if id == NOTHING || done >> first & 1 == 1 {
                    continue;
                }
                let (mut samples, mut sum) = (0, Vec2::ZERO);
                for sample in (first..SAMPLES).filter(|&sample| ids[sample] == id) {
                    done |= 1 << sample;
                    samples += 1;
                    sum += Vec2::from(OFFSETS[sample]);
                }
                let at = center_of(drawn.rect, pixel) + sum / samples as f32;
                if let Some(fragment) = fragment(geometry, id, &self.projection, at, self.wire.is_some()) {
                    let mut same = (first_of_pixel..all.len()).filter(|&at| all[at].lit_like == at);
                    let lit_like = same.find(|&at| fragment.is_lit_like(&all[at].fragment, &self.projection));
                    all.push(Seen { fragment, pixel, samples, lit_like: lit_like.unwrap_or(all.len()) });
                }
            }
        }
        all
    }
}

fn center_of(rect: Rect, pixel: usize) -> Vec2 {
    Vec2::new((rect.x + pixel % rect.width) as f32 + 0.5, (rect.y + pixel / rect.width) as f32 + 0.5)
}

fn add(pixel: &mut [f32; 4], color: Vec3, alpha: f32) {
    for (channel, value) in pixel.iter_mut().zip([color.x, color.y, color.z, 1.0]) {
        *channel += value * alpha;
    }
}
