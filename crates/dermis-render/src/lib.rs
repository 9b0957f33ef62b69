//! Pictures of surfaces, drawn on the CPU: for documentation, tests and machines without a display.
//!
//! [`draw`] rasterizes the triangles of each panel in tiles, shades every visible triangle of every pixel once with the
//! lights of a photo studio, and composes panels, floor, labels and legend. All steps are deterministic: the same input
//! gives the same bytes for any number of threads.

#![forbid(unsafe_code)]

mod camera;
mod color;
mod color_map;
mod depth_map;
mod error;
mod floor;
mod image;
mod legend;
mod light;
mod picture;
mod raster;
mod shade;
mod skeleton;
mod stroke_font;
mod surface;
mod text;
mod texture;

pub use camera::{Camera, Framing, View};
pub use color::{decode_srgb, encode_srgb, linear_of, oklch};
pub use color_map::ColorMap;
pub use error::{MAX_PIXELS, MAX_SIZE, RenderError};
pub use image::Image;
pub use legend::Legend;
pub use picture::{Backdrop, Panel, Sheet, draw};
pub use shade::Shading;
pub use skeleton::{DrawnJoint, skeleton};
pub use surface::{Opacity, Paint, PaintTexture, Surface, Topology};
pub use texture::{Texture, Wrap};
