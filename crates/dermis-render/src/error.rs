//! Reasons why a picture cannot be drawn.

/// Maximum width and height of a picture in pixels.
pub const MAX_SIZE: usize = 16_384;
/// Maximum number of pixels of a picture, for which a picture in floating point takes 1 GB.
pub const MAX_PIXELS: usize = 1 << 26;

/// Reasons why a picture cannot be drawn.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RenderError {
    /// The picture has no pixels, or too many.
    #[error("invalid size {width}x{height}: both must be from 1 to {MAX_SIZE}, with at most {MAX_PIXELS} pixels")]
    Size {
        /// Requested width.
        width: usize,
        /// Requested height.
        height: usize,
    },
    /// The panels are too small for their number.
    #[error("{panels} panels do not fit in {width}x{height} pixels")]
    PanelSize {
        /// Number of panels.
        panels: usize,
        /// Width of the picture.
        width: usize,
        /// Height of the picture.
        height: usize,
    },
    /// There are no panels.
    #[error("there is nothing to draw")]
    NoPanels,
    /// An image is neither PNG nor JPEG, or is damaged.
    #[error("the texture '{name}' cannot be read: {reason}")]
    Texture {
        /// Name of the image.
        name: String,
        /// The reason.
        reason: String,
    },
    /// The picture cannot be compressed.
    #[error("the picture cannot be encoded: {0}")]
    Encoding(String),
    /// The observer stopped the work.
    #[error("stopped before there was a result")]
    Stopped,
}
