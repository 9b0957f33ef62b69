//! Parameters of one body on another of the same skin (Kim et al. 2017, §6: retargeting).
//!
//! Bodies of one topology have the same skin vertices, but their insides may be meshed differently. Values are taken
//! from the skin of the first and extended harmonically into the second, where they stay within their range: moduli stay
//! positive. The thickness `d` needs no extension of its own: the skin's values go to the second body's
//! [`DistanceField`](super::DistanceField).

use crate::harmonic::Harmonic;

/// Why values cannot be transferred.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransferError {
    /// The skins differ.
    #[error("one body has {from} skin vertices, the other {to}; both must have the same skin topology")]
    Skin {
        /// The skin vertices of the body that has the values.
        from: usize,
        /// Those of the other.
        to: usize,
    },
}

/// The values of the skin among those of all nodes.
///
/// # Panics
/// If a skin node has no value.
pub fn skin_values(values: &[f64], skin: &[u32]) -> Vec<f64> {
    skin.iter().map(|&node| values[node as usize]).collect()
}

/// The `values` of one body's nodes on the nodes of another, by the skin.
///
/// `skin` are the first body's skin nodes; `target` fixes the second body's, in the same order.
///
/// # Panics
/// If a skin node has no value.
pub fn transfer(values: &[f64], skin: &[u32], target: &Harmonic) -> Result<Vec<f64>, TransferError> {
    if skin.len() != target.fixed().len() {
        return Err(TransferError::Skin { from: skin.len(), to: target.fixed().len() });
    }
    Ok(target.extend_scalar(&skin_values(values, skin)))
}
