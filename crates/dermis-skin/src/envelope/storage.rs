//! Multi-weights as a deformer of an object, in which form glTF keeps them.
//!
//! The settings are `{"type": "multi_weights", "version": 1, "precision": "f32"}`. The buffers are those of
//! [`MultiWeights`]: `home` per part, `offsets` per part and one more, `bones` and twelve `weights` per entry; where points
//! have several parts, `parts` per point and one more, and `shares` per part.
//!
//! With the precision `f16`, weights are half-precision bits of the form around the rest pose (see `centred`): entries
//! of home bones are left out, `rest` has the rest point of each part, and `frames` has five numbers for each home
//! bone, the centre and the two scales. Reading gives plain multi-weights again.

use std::collections::BTreeMap;

use dermis_mesh::{Deformer, Values};
use glam::{DVec3, Vec3};
use half::f16;
use serde_json::{Value, json};

use super::centred::{HomeFrame, centred, home_entry, home_frames, others, rest_points, uncentred};
use super::check::{MultiWeightsError, expect};
use super::multi_weights::MultiWeights;

/// What a deformer of this kind calls itself.
pub const TYPE: &str = "multi_weights";
/// The layout of the buffers; changes when older programs would misread them.
const VERSION: u64 = 1;
const SINGLE: &str = "f32";
const HALF: &str = "f16";
/// Numbers per home bone.
const FRAME_WIDTH: usize = 5;
const ENTRY_WIDTH: usize = 12;

impl MultiWeights {
    /// The weights as a part of an object; `half` stores them in half the bytes (see [`super::half_error()`]).
    ///
    /// # Panics
    /// If the weights are not whole: see [`MultiWeights::check`].
    pub fn to_deformer(&self, half: bool) -> Deformer {
        self.check().expect("weights that are stored are whole");
        let (precision, mut buffers) = if half { (HALF, self.half_buffers()) } else { (SINGLE, self.single_buffers()) };
        buffers.insert("home".into(), Values::narrowest(&self.home));
        if !self.parts.is_empty() {
            buffers.insert("parts".into(), Values::U32(self.parts.clone()));
            buffers.insert("shares".into(), Values::F32(self.shares.clone()));
        }
        let settings = json!({ "type": TYPE, "version": VERSION, "precision": precision });
        Deformer { settings: settings.to_string(), buffers }
    }

    fn single_buffers(&self) -> BTreeMap<String, Values> {
        BTreeMap::from([
            ("offsets".into(), Values::U32(self.offsets.clone())),
            ("bones".into(), Values::narrowest(&self.bones)),
            ("weights".into(), Values::F32(self.weights.as_flattened().as_flattened().to_vec())),
        ])
    }

    fn half_buffers(&self) -> BTreeMap<String, Values> {
        let rest = rest_points(self);
        let frames = home_frames(self, &rest);
        let (mut offsets, mut bones, mut weights) = (vec![0], Vec::new(), Vec::new());
        for (point, &home) in self.home.iter().enumerate() {
            for (bone, entry) in others(self, point) {
                bones.push(bone);
                let entry = centred(entry, &frames[home as usize]);
                weights.extend(entry.as_flattened().iter().map(|&weight| f16::from_f64(weight).to_bits()));
            }
            offsets.push(bones.len() as u32);
        }
        let frame = |frame: &HomeFrame| {
            let [x, y, z] = frame.centre.as_vec3().to_array();
            [x, y, z, frame.scales[0], frame.scales[1]]
        };
        BTreeMap::from([
            ("offsets".into(), Values::U32(offsets)),
            ("bones".into(), Values::narrowest(&bones)),
            ("weights".into(), Values::U16(weights)),
            ("rest".into(), Values::F32(rest.iter().flat_map(|point| point.as_vec3().to_array()).collect())),
            ("frames".into(), Values::F32(frames.iter().flat_map(frame).collect())),
        ])
    }

    /// The weights that `deformer` holds; `None` where it is of another kind.
    pub fn from_deformer(deformer: &Deformer) -> Result<Option<Self>, MultiWeightsError> {
        let Ok(settings) = serde_json::from_str::<Value>(&deformer.settings) else { return Ok(None) };
        if settings["type"] != TYPE {
            return Ok(None);
        }
        if settings["version"] != VERSION {
            let message = format!("they are of version {}, and this program reads {VERSION}", settings["version"]);
            return Err(MultiWeightsError::Settings(message));
        }
        let weights = match settings["precision"].as_str() {
            Some(SINGLE) => read_single(deformer)?,
            Some(HALF) => read_half(deformer)?,
            _ => return Err(MultiWeightsError::Settings(format!("the precision is {}", settings["precision"]))),
        };
        weights.check()?;
        Ok(Some(weights))
    }
}

fn read_single(deformer: &Deformer) -> Result<MultiWeights, MultiWeightsError> {
    let (home, offsets) = (integers(deformer, "home")?, integers(deformer, "offsets")?);
    let (weights, rest) = floats(deformer, "weights")?.as_chunks::<4>();
    let (entries, more) = weights.as_chunks::<3>();
    let count = ENTRY_WIDTH * entries.len();
    expect("weights", count + 4 * more.len() + rest.len(), count)?;
    let bones = integers(deformer, "bones")?;
    let (parts, shares) = read_parts(deformer)?;
    Ok(MultiWeights { parts, shares, home, offsets, bones, weights: entries.to_vec() })
}

fn read_half(deformer: &Deformer) -> Result<MultiWeights, MultiWeightsError> {
    let (home, frames) = (integers(deformer, "home")?, read_frames(deformer)?);
    let bits = match deformer.buffers.get("weights") {
        Some(Values::U16(bits)) => &bits[..],
        None => &[],
        Some(_) => return Err(MultiWeightsError::NoBuffer { name: "weights", what: "list of half-precision bits" }),
    };
    let (bits, more) = bits.as_chunks::<ENTRY_WIDTH>();
    expect("weights", ENTRY_WIDTH * bits.len() + more.len(), ENTRY_WIDTH * bits.len())?;
    let rest = floats(deformer, "rest")?;
    expect("rest coordinates", rest.len(), 3 * home.len())?;
    let (rest, _) = rest.as_chunks::<3>();
    // Whether the lists fit together is asked before the first is used to find the way in another.
    let (parts, shares) = read_parts(deformer)?;
    let stored = MultiWeights {
        parts,
        shares,
        home,
        offsets: integers(deformer, "offsets")?,
        bones: integers(deformer, "bones")?,
        weights: bits.iter().map(widened).collect(),
    };
    stored.check()?;
    if let Some(point) = stored.home.iter().position(|&home| home as usize >= frames.len()) {
        let (bone, count) = (stored.home[point], frames.len());
        return Err(MultiWeightsError::NoSuchBone { point, bone, count });
    }
    Ok(with_home_entries(&stored, rest, &frames))
}

fn read_parts(deformer: &Deformer) -> Result<(Vec<u32>, Vec<f32>), MultiWeightsError> {
    Ok((integers(deformer, "parts")?, floats(deformer, "shares")?.to_vec()))
}

fn widened(bits: &[u16; ENTRY_WIDTH]) -> [[f32; 4]; 3] {
    let weight = |j: usize, i: usize| f16::from_bits(bits[4 * j + i]).to_f32();
    [0, 1, 2].map(|j| [0, 1, 2, 3].map(|i| weight(j, i)))
}

fn read_frames(deformer: &Deformer) -> Result<Vec<HomeFrame>, MultiWeightsError> {
    let (frames, more) = floats(deformer, "frames")?.as_chunks::<FRAME_WIDTH>();
    expect("numbers of frames", FRAME_WIDTH * frames.len() + more.len(), FRAME_WIDTH * frames.len())?;
    let frame = |&[x, y, z, axes, translation]: &[f32; FRAME_WIDTH]| HomeFrame {
        centre: Vec3::new(x, y, z).as_dvec3(),
        scales: [axes, translation],
    };
    Ok(frames.iter().map(frame).collect())
}

/// Plain weights: about the origin, with an entry for each home bone.
fn with_home_entries(stored: &MultiWeights, rest: &[[f32; 3]], frames: &[HomeFrame]) -> MultiWeights {
    let MultiWeights { parts, shares, home, .. } = stored.clone();
    let mut all = MultiWeights { parts, shares, home, offsets: vec![0], ..MultiWeights::default() };
    for (point, &home) in stored.home.iter().enumerate() {
        let frame = &frames[home as usize];
        let (mut row, mut diagonal) = (Vec::new(), DVec3::ZERO);
        for (bone, entry) in others(stored, point) {
            let entry = uncentred(*entry, frame);
            diagonal += DVec3::new(entry[0][0].into(), entry[1][1].into(), entry[2][2].into());
            row.push((bone, entry));
        }
        let place = row.partition_point(|(bone, _)| *bone < home);
        row.insert(place, (home, home_entry(Vec3::from_array(rest[point]), diagonal)));
        all.bones.extend(row.iter().map(|(bone, _)| bone));
        all.weights.extend(row.iter().map(|(_, entry)| entry));
        all.offsets.push(all.bones.len() as u32);
    }
    all
}

/// A list of floats; files leave empty ones out.
fn floats<'a>(deformer: &'a Deformer, name: &'static str) -> Result<&'a [f32], MultiWeightsError> {
    let missing = MultiWeightsError::NoBuffer { name, what: "list of floats" };
    deformer.buffers.get(name).map_or(Ok(&[]), |values| values.floats().ok_or(missing))
}

fn integers(deformer: &Deformer, name: &'static str) -> Result<Vec<u32>, MultiWeightsError> {
    let missing = MultiWeightsError::NoBuffer { name, what: "list of integers" };
    deformer.buffers.get(name).map_or(Ok(Vec::new()), |values| values.integers().ok_or(missing))
}
