//! Check of skin weights for formats that do not support negative ones.

use dermis_mesh::Rig;

use crate::error::Error;

/// Weights below this are negative; those above are rounding errors.
const NEGATIVE: f32 = -1e-4;

/// Rejects a rig with negative weights, which `format` does not support.
pub(crate) fn reject_negative(rig: &Rig, format: &str) -> Result<(), Error> {
    let rows = rig.weights().rows().enumerate();
    let mut entries = rows.flat_map(|(point, row)| row.map(move |(joint, weight)| (point, joint, weight)));
    let Some((point, joint, weight)) = entries.find(|(_, _, weight)| *weight < NEGATIVE) else {
        return Ok(());
    };
    let name = &rig.joints()[joint as usize].name;
    let message = format!("{format} has no negative skin weights, but point {point} is bound to '{name}' by {weight}");
    Err(Error::unsupported(message).with_hint("fit with non-negative weights (nnls), or write .npz"))
}
