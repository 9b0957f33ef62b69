//! Built-in inputs `sample:NAME`, with the Cargo feature `samples`.

use dermis_body::{BodyModel, BodyMotion};
use dermis_mesh::Scene;

use crate::error::Error;

/// Prefix of the names of samples.
pub const PREFIX: &str = "sample:";

/// The scene of the sample `name`.
#[cfg(feature = "samples")]
pub(crate) fn read(name: &str) -> Result<Scene, Error> {
    dermis_samples::build(name).ok_or_else(|| no_such_sample(name))
}

/// The body model and the motions of `sample:body`.
#[cfg(feature = "samples")]
pub fn body() -> Result<(BodyModel, Vec<BodyMotion>), Error> {
    Ok(dermis_samples::body_model())
}

#[cfg(feature = "samples")]
fn no_such_sample(name: &str) -> Error {
    use dermis_samples::NAMES;
    let closest = NAMES.iter().min_by_key(|known| strsim::levenshtein(known, name));
    // Names that differ in more than half of their characters are not suggested.
    let closest = closest.filter(|known| 2 * strsim::levenshtein(known, name) <= known.len());
    let hint = closest.map_or("choose one of these".to_owned(), |known| format!("did you mean '{PREFIX}{known}'?"));
    let error = Error::unsupported(format!("there is no sample called '{name}'"));
    error.detail(format!("samples: {}", NAMES.join(", "))).with_hint(hint)
}

#[cfg(not(feature = "samples"))]
pub(crate) fn read(_: &str) -> Result<Scene, Error> {
    Err(crate::format::not_compiled_in("samples", "samples"))
}

/// The body model and the motions of `sample:body`.
#[cfg(not(feature = "samples"))]
pub fn body() -> Result<(BodyModel, Vec<BodyMotion>), Error> {
    Err(crate::format::not_compiled_in("samples", "samples"))
}
