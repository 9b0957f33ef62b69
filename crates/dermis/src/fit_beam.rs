//! Stiffness and damping of a recorded beam: reading of the recording.
//!
//! | array | shape | meaning |
//! |---|---|---|
//! | any name | `[S,M,3]` | a take: positions of M markers in S frames, in metres; x is up |
//! | `release_frame`, `tip_load_n` | `[takes]` | first frame after the release and weight at the tip, in the order of the takes |
//! | `rate_hz`, `density_kg_m3`, `gravity_m_s2` | one number | |
//! | `size_m` | `[3]` | length, width and height |
//! | `markers_m` | `[M,3]` | nominal positions: x from −length at the clamp to 0, y and z from 0, z up |

use std::path::Path;

use dermis_io::Error as IoError;
use dermis_io::npz::arrays::{self, Array, Arrays};
use dermis_mesh::glam::DVec3;
use dermis_tissue::fit::{BeamFit, BeamOptions, BeamRecording, BeamTake};

use crate::error::Result;

/// Reads the recording in the archive `path`.
pub fn read_beam(path: impl AsRef<Path>) -> Result<BeamRecording> {
    Ok(arrays::read(path.as_ref(), recording)?)
}

/// Identifies modulus and damping of a recorded beam from its take without a weight, and predicts the others.
///
/// ```no_run
/// let fit = dermis::fit_beam(&dermis::read_beam("beam.npz")?, &Default::default())?;
/// println!("{:.0} Pa, loss factor {:.3}", fit.young_modulus_pa, fit.loss_factor);
/// # dermis::Result::Ok(())
/// ```
pub fn fit_beam(recording: &BeamRecording, options: &BeamOptions) -> Result<BeamFit> {
    Ok(dermis_tissue::fit::fit_beam(recording, options)?)
}

fn recording(arrays: &mut dyn Arrays) -> std::result::Result<BeamRecording, IoError> {
    let needed = |array: Option<Array>, name: &str| {
        array.ok_or_else(|| IoError::malformed(format!("the recording of a beam has no array '{name}'")))
    };
    let mut number = |name: &'static str| needed(arrays.array(name)?, name)?.number();
    let (rate_hz, density_kg_per_m3) = (number("rate_hz")?, number("density_kg_m3")?);
    let gravity_m_per_s2 = number("gravity_m_s2")?;
    let size = needed(arrays.array("size_m")?, "size_m")?;
    let size_m = match size.numbers()?[..] {
        [x, y, z] => DVec3::new(x, y, z),
        _ => return Err(size.wrong_shape("[3]")),
    };
    let markers = needed(arrays.array("markers_m")?, "markers_m")?;
    let [count, 3] = markers.shape_of("[markers, 3]")? else { return Err(markers.wrong_shape("[markers, 3]")) };
    let releases = needed(arrays.array("release_frame")?, "release_frame")?.indices()?;
    let loads = needed(arrays.array("tip_load_n")?, "tip_load_n")?.numbers()?;
    let mut takes: Vec<BeamTake> = Vec::new();
    for name in arrays.names() {
        let Some(array) = arrays.named(&name)? else { continue };
        if array.shape().len() != 3 {
            continue;
        }
        if array.shape()[1..] != [count, 3] {
            return Err(array.wrong_shape(&format!("[frames, {count}, 3]")));
        }
        let frames = vectors(&array.numbers()?).chunks_exact(count).map(<[DVec3]>::to_vec).collect();
        takes.push(BeamTake { name, frames, release_frame: 0, tip_load_n: 0.0 });
    }
    if takes.len() != releases.len() || takes.len() != loads.len() {
        let (releases, loads) = (releases.len(), loads.len());
        let message = format!("{} takes, {releases} release frames and {loads} tip loads", takes.len());
        return Err(IoError::malformed(message).with_hint("store one release frame and one tip load per take"));
    }
    for ((take, release), load) in takes.iter_mut().zip(releases).zip(loads) {
        (take.release_frame, take.tip_load_n) = (release as usize, load);
    }
    Ok(BeamRecording {
        rate_hz,
        size_m,
        density_kg_per_m3,
        gravity_m_per_s2,
        up: DVec3::X,
        markers_m: vectors(&markers.numbers()?),
        takes,
    })
}

fn vectors(numbers: &[f64]) -> Vec<DVec3> {
    numbers.as_chunks::<3>().0.iter().map(|&vector| DVec3::from_array(vector)).collect()
}
