//! Errors of packing.

/// Reasons why an asset cannot be packed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackError {
    /// The distortion is not a positive number.
    #[error("invalid error {0}: it must be a positive percentage")]
    Error(f64),
    /// There are no points.
    #[error("the scene has no points")]
    NoPoints,
    /// The error limit is below the smallest error of the format.
    #[error("packed files of this asset have an error of at least {reached:.3} %, more than {asked} %")]
    TooExact {
        /// The limit.
        asked: f64,
        /// The smallest error.
        reached: f64,
    },
    /// No skin follows the recorded frames within the error limit.
    #[error("skins of these frames have an error of at least {reached:.3} %, more than {asked} %")]
    NoSkin {
        /// The limit.
        asked: f64,
        /// The smallest error of a skin.
        reached: f64,
    },
    /// The file cannot be that small.
    #[error("the asset cannot be packed into {asked} bytes; the smallest possible size is {reached} bytes")]
    TooSmall {
        /// The limit.
        asked: usize,
        /// The smallest size.
        reached: usize,
    },
    /// A skin cannot be fitted to an asset that has one.
    #[error("the asset has a rig; skins are fitted to recorded frames only")]
    HasRig,
    /// The target is not a `.glb` file.
    #[error("packed assets are .glb files, not '{0}'")]
    Target(String),
    /// A packed file that was read again has other objects or frames than the asset.
    #[error("the packed file does not have the objects and frames of the asset")]
    Mismatch,
    /// The observer stopped the work.
    #[error("stopped before there was a result")]
    Stopped,
}

impl PackError {
    /// Hint for a fix.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Error(_) => Some("use a percentage such as 0.5"),
            Self::TooExact { .. } => Some("allow a larger error, or do not pack the asset"),
            Self::NoSkin { .. } => Some("allow a larger error, or pack the recorded frames without a skin"),
            Self::TooSmall { .. } => Some("fit fewer bones or corrections, or create levels of detail first"),
            Self::HasRig => Some("pack the asset without fitting a skin"),
            Self::Target(_) => Some("use the extension .glb for the output"),
            _ => None,
        }
    }
}
