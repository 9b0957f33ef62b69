//! Values of the options of `dermis render`.

use std::path::{MAIN_SEPARATOR, Path};

use clap::ValueEnum;
use dermis::render::{Backdrop, Normals};

use crate::diagnostic::Diagnostic;

/// Value of `--shading`.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum ShadingName {
    File,
    Smooth,
    Flat,
}

impl ShadingName {
    /// The normals of this shading.
    pub(super) fn normals(self) -> Normals {
        match self {
            Self::File => Normals::File,
            Self::Smooth => Normals::Smooth,
            Self::Flat => Normals::Flat,
        }
    }
}

/// Returns true if the output is a folder; an error if it is neither a folder nor a PNG file.
pub(super) fn is_folder(output: &Path) -> Result<bool, Diagnostic> {
    let name = output.to_string_lossy();
    let extension = output.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    match extension.as_deref() {
        _ if name.ends_with(['/', MAIN_SEPARATOR]) || output.is_dir() => Ok(true),
        Some("png") => Ok(false),
        _ => {
            let diagnostic = Diagnostic::new("invalid output: a picture is a PNG file").in_file(output.display());
            Err(diagnostic.hint(format!(
                "use the name {}, or {name}/ for a folder of frames",
                output.with_extension("png").display()
            )))
        }
    }
}

/// Backdrop of a name or of a colour.
pub(super) fn backdrop(text: &str) -> Result<Backdrop, String> {
    let hex = text
        .strip_prefix('#')
        .filter(|digits| digits.len() == 6)
        .and_then(|digits| u32::from_str_radix(digits, 16).ok());
    match (text, hex) {
        ("light", _) => Ok(Backdrop::Light),
        ("dark", _) => Ok(Backdrop::Dark),
        ("transparent", _) => Ok(Backdrop::Transparent),
        (_, Some(hex)) => Ok(Backdrop::Plain([(hex >> 16) as u8, (hex >> 8) as u8, hex as u8])),
        _ => Err("it must be light, dark, transparent or #rrggbb".to_owned()),
    }
}
