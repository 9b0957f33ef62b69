//! Layers of an edited object.
//!
//! Multi-weights contain the rest coordinates (MWE, Eq. 3), so a displacement d of a rest point is added to them as the
//! linear skin would move it: `w_ji,k += w_k d_i` for every bone k of the skin, in every part. A new point blends the
//! parts of its anchor: parts with the same home bone are joined, weighted by their fractions, which reproduces the
//! interpolated motion exactly.

use std::collections::BTreeMap;
use std::sync::Arc;

use dermis_mesh::deformer::dual_quaternions::DualQuaternionLayer;
use dermis_mesh::deformer::multi_weights::{MultiWeights, MultiWeightsLayer};
use dermis_mesh::glam::DVec3;
use dermis_mesh::{Deformer, Note, Object, Rig};

use super::anchor::Anchor;
use crate::error::{EditError, Result};

type Entry = [[f64; 4]; 3];

/// The layers of `object` for points at `anchors`, displaced by `displacements` from there, with the weights of `rig`.
pub(super) fn transferred(
    object: &Object,
    anchors: &[Anchor],
    displacements: &[DVec3],
    rig: Option<&Rig>,
    notes: &mut Vec<Note>,
) -> Result<Vec<Deformer>> {
    let is_new = anchors.iter().any(|anchor| anchor.triangle != u32::MAX);
    let layer = |layer: &Deformer| match layer {
        Deformer::Volume(_) => Ok(layer.clone()),
        Deformer::DualQuaternions(old) if old.weights().is_empty() || !is_new => Ok(layer.clone()),
        Deformer::DualQuaternions(old) if old.fits(object.mesh.point_count()) => {
            let weights = anchors.iter().map(|anchor| anchor.number(old.weights()).clamp(0.0, 1.0)).collect();
            // Interpolated weights are between 0 and 1, so they are valid.
            Ok(DualQuaternionLayer::new(weights).unwrap_or_default().into())
        }
        Deformer::MultiWeights(old) if old.weights().point_count() == object.mesh.point_count() => {
            let weights = multi_weights(old.weights(), anchors, displacements, rig);
            let mut new = MultiWeightsLayer::new(weights, old.precision())?;
            new.record.clone_from(&old.record);
            Ok(Deformer::MultiWeights(Arc::new(new)))
        }
        Deformer::Unknown(_) if !is_new => {
            let message = format!(
                "the type of the layer '{}' is unknown: the layer is kept unchanged and does not include the edit",
                layer.kind()
            );
            notes.push(Note::at(&object.name, message));
            Ok(layer.clone())
        }
        _ => Err(EditError::Layer { object: object.name.clone(), layer: layer.kind().to_owned() }.into()),
    };
    object.deformers.iter().map(layer).collect()
}

fn multi_weights(old: &MultiWeights, anchors: &[Anchor], displacements: &[DVec3], rig: Option<&Rig>) -> MultiWeights {
    let mut new = MultiWeights { parts: vec![0], offsets: vec![0], ..MultiWeights::default() };
    for (point, (anchor, displacement)) in anchors.iter().zip(displacements).enumerate() {
        let mut homes: BTreeMap<u32, (f64, BTreeMap<u32, Entry>)> = BTreeMap::new();
        for (corner, corner_weight) in anchor.parts() {
            for part in parts(old, corner) {
                let fraction = corner_weight * old.fractions.get(part).map_or(1.0, |&fraction| f64::from(fraction));
                let (sum, entries) = homes.entry(old.home[part]).or_default();
                *sum += fraction;
                for (bone, weights) in old.row(part) {
                    add(entries.entry(bone).or_default(), fraction, &weights.map(|row| row.map(f64::from)));
                }
            }
        }
        homes.retain(|_, (fraction, _)| *fraction > 0.0);
        for (home, (fraction, mut entries)) in homes {
            for entry in entries.values_mut() {
                *entry = entry.map(|row| row.map(|weight| weight / fraction));
            }
            for (bone, weight) in rig.into_iter().flat_map(|rig| rig.weights().row(point)) {
                let [x, y, z] = displacement.to_array();
                let moved = [[x, y, z, 0.0]; 3];
                add(entries.entry(bone).or_default(), f64::from(weight), &moved);
            }
            new.home.push(home);
            new.fractions.push(fraction as f32);
            for (bone, entry) in entries {
                new.bones.push(bone);
                new.weights.push(entry.map(|row| row.map(|weight| weight as f32)));
            }
            new.offsets.push(new.bones.len() as u32);
        }
        new.parts.push(new.home.len() as u32);
    }
    if new.home.len() + 1 == new.parts.len() {
        (new.parts, new.fractions) = (Vec::new(), Vec::new());
    }
    new
}

fn parts(weights: &MultiWeights, point: usize) -> std::ops::Range<usize> {
    if weights.parts.is_empty() {
        return point..point + 1;
    }
    weights.parts[point] as usize..weights.parts[point + 1] as usize
}

fn add(to: &mut Entry, factor: f64, entry: &Entry) {
    for (to, row) in to.iter_mut().zip(entry) {
        for (to, weight) in to.iter_mut().zip(row) {
            *to += factor * weight;
        }
    }
}
