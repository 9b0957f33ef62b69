//! Parsers of arguments of `dermis envelope train`.

use dermis::train_envelope::MapSource;

/// Parses the source of influence maps.
#[allow(clippy::unnecessary_wraps, reason = "parsers of arguments return a result")]
pub(super) fn map_source(text: &str) -> Result<MapSource, String> {
    Ok(match text.split_once(':') {
        Some(("attribute", prefix)) => MapSource::Attributes(prefix.to_owned()),
        Some(("textures", folder)) => MapSource::Textures(folder.into()),
        _ if text == "weights" => MapSource::Weights,
        _ if text == "auto" => MapSource::Automatic,
        _ => MapSource::File(text.to_owned()),
    })
}

/// Parses `FRAME=WEIGHT`.
pub(super) fn pose_weight(text: &str) -> Result<(usize, f64), String> {
    let parts = text.split_once('=').and_then(|(frame, weight)| Some((frame.parse().ok()?, weight.parse().ok()?)));
    let (frame, weight): (usize, f64) = parts.ok_or_else(|| format!("'{text}' is not FRAME=WEIGHT, such as 12=3"))?;
    if weight.is_finite() && weight >= 0.0 {
        Ok((frame, weight))
    } else {
        Err(format!("invalid weight {weight}: it must be finite and at least 0"))
    }
}
