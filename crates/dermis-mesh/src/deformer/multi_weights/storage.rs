//! Multi-weights as a layer of an object, and their stored form.
//!
//! The settings are `{"type": "multi_weights", "version": 1, "precision": "f32"}`, followed by a record of the
//! training. The buffers are those of [`MultiWeights`]: `home` per part, `offsets` per part and one more, `bones` and
//! twelve `weights` per entry; if points have several parts, `parts` per point and one more, and `fractions` per part.
//!
//! With the precision `f16`, weights are half-precision bits relative to the rest pose (see `centred`): entries of home
//! bones are omitted, `rest` contains the rest point of each part, and `frames` contains five numbers for each home
//! bone, the centre and the two scales. Decoding restores plain multi-weights.

use std::collections::BTreeMap;

use glam::{DVec3, Vec3};
use half::f16;
use serde_json::{Map, Value};

use super::MultiWeights;
use super::centred::{HomeFrame, centred, home_entry, home_frames, others, rest_points, uncentred};
use super::check::{MultiWeightsError, expect};
use crate::deformer::{StoredDeformer, Values};

/// Version of the buffers' layout; changes when older programs would misread them.
const VERSION: u64 = 1;
const SINGLE: &str = "f32";
const HALF: &str = "f16";
/// Numbers per home bone.
const FRAME_WIDTH: usize = 5;
const ENTRY_WIDTH: usize = 12;

type Buffers = BTreeMap<String, Values>;

/// Precision of stored weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// 48 bytes per bone and point.
    #[default]
    Single,
    /// 24 bytes per bone and point.
    Half,
}

/// Multi-weights as a layer of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct MultiWeightsLayer {
    weights: MultiWeights,
    /// Buffers in half precision. They are kept because rounding the rounded weights again would change bits.
    half: Option<Buffers>,
    /// Record of the training (`smoothness`, `underlying`, `poses`, `training_rms_error`), stored with the settings.
    pub record: Map<String, Value>,
}

impl MultiWeightsLayer {
    /// Creates the layer of `weights`, rounded to `precision` as in a file.
    pub fn new(weights: MultiWeights, precision: Precision) -> Result<Self, MultiWeightsError> {
        weights.check()?;
        let record = Map::new();
        if precision == Precision::Single {
            return Ok(Self { weights, half: None, record });
        }
        let buffers = weights.half_buffers();
        Ok(Self { weights: read_half(&buffers)?, half: Some(buffers), record })
    }

    /// The weights.
    pub fn weights(&self) -> &MultiWeights {
        &self.weights
    }

    /// Precision of the stored weights.
    pub fn precision(&self) -> Precision {
        if self.half.is_some() { Precision::Half } else { Precision::Single }
    }

    /// Stored form, without its type.
    pub(crate) fn encode(&self) -> StoredDeformer {
        let (precision, buffers) = match &self.half {
            Some(buffers) => (HALF, buffers.clone()),
            None => (SINGLE, self.weights.single_buffers()),
        };
        let mut settings = self.record.clone();
        settings.insert("version".to_owned(), VERSION.into());
        settings.insert("precision".to_owned(), precision.into());
        StoredDeformer { settings, buffers }
    }

    /// Decodes `stored`, which must be of this type.
    pub(crate) fn decode(stored: StoredDeformer) -> Result<Self, MultiWeightsError> {
        let StoredDeformer { settings: mut record, buffers } = stored;
        record.remove("type");
        let version = record.remove("version").unwrap_or_default();
        if version != VERSION {
            let message = format!("unsupported version {version}: this program reads version {VERSION}");
            return Err(MultiWeightsError::Settings(message));
        }
        let precision = record.remove("precision").unwrap_or_default();
        let (weights, half) = match precision.as_str() {
            Some(SINGLE) => (read_single(&buffers)?, None),
            Some(HALF) => (read_half(&buffers)?, Some(buffers)),
            _ => return Err(MultiWeightsError::Settings(format!("unknown precision {precision}"))),
        };
        weights.check()?;
        Ok(Self { weights, half, record })
    }
}

impl MultiWeights {
    fn common_buffers(&self) -> Buffers {
        let mut buffers = Buffers::from([("home".into(), Values::narrowest(&self.home))]);
        if !self.parts.is_empty() {
            buffers.insert("parts".into(), Values::U32(self.parts.clone()));
            buffers.insert("fractions".into(), Values::F32(self.fractions.clone()));
        }
        buffers
    }

    fn single_buffers(&self) -> Buffers {
        let mut buffers = self.common_buffers();
        buffers.extend([
            ("offsets".to_owned(), Values::U32(self.offsets.clone())),
            ("bones".into(), Values::narrowest(&self.bones)),
            ("weights".into(), Values::F32(self.weights.as_flattened().as_flattened().to_vec())),
        ]);
        buffers
    }

    fn half_buffers(&self) -> Buffers {
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
        let mut buffers = self.common_buffers();
        buffers.extend([
            ("offsets".to_owned(), Values::U32(offsets)),
            ("bones".into(), Values::narrowest(&bones)),
            ("weights".into(), Values::U16(weights)),
            ("rest".into(), Values::F32(rest.iter().flat_map(|point| point.as_vec3().to_array()).collect())),
            ("frames".into(), Values::F32(frames.iter().flat_map(frame).collect())),
        ]);
        buffers
    }
}

fn read_single(buffers: &Buffers) -> Result<MultiWeights, MultiWeightsError> {
    let (home, offsets) = (integers(buffers, "home")?, integers(buffers, "offsets")?);
    let (weights, rest) = floats(buffers, "weights")?.as_chunks::<4>();
    let (entries, more) = weights.as_chunks::<3>();
    let count = ENTRY_WIDTH * entries.len();
    expect("weights", count + 4 * more.len() + rest.len(), count)?;
    let bones = integers(buffers, "bones")?;
    let (parts, fractions) = read_parts(buffers)?;
    Ok(MultiWeights { parts, fractions, home, offsets, bones, weights: entries.to_vec() })
}

fn read_half(buffers: &Buffers) -> Result<MultiWeights, MultiWeightsError> {
    let (home, frames) = (integers(buffers, "home")?, read_frames(buffers)?);
    let bits = match buffers.get("weights") {
        Some(Values::U16(bits)) => &bits[..],
        None => &[],
        Some(_) => return Err(MultiWeightsError::NoBuffer { name: "weights", what: "list of half-precision bits" }),
    };
    let (bits, more) = bits.as_chunks::<ENTRY_WIDTH>();
    expect("weights", ENTRY_WIDTH * bits.len() + more.len(), ENTRY_WIDTH * bits.len())?;
    let rest = floats(buffers, "rest")?;
    expect("rest coordinates", rest.len(), 3 * home.len())?;
    let (rest, _) = rest.as_chunks::<3>();
    // The lists are checked against each other before any of them is used as an index.
    let (parts, fractions) = read_parts(buffers)?;
    let stored = MultiWeights {
        parts,
        fractions,
        home,
        offsets: integers(buffers, "offsets")?,
        bones: integers(buffers, "bones")?,
        weights: bits.iter().map(widened).collect(),
    };
    stored.check()?;
    if let Some(point) = stored.home.iter().position(|&home| home as usize >= frames.len()) {
        let (bone, count) = (stored.home[point], frames.len());
        return Err(MultiWeightsError::NoSuchBone { point, bone, count });
    }
    Ok(with_home_entries(&stored, rest, &frames))
}

fn read_parts(buffers: &Buffers) -> Result<(Vec<u32>, Vec<f32>), MultiWeightsError> {
    Ok((integers(buffers, "parts")?, floats(buffers, "fractions")?.to_vec()))
}

fn widened(bits: &[u16; ENTRY_WIDTH]) -> [[f32; 4]; 3] {
    let weight = |j: usize, i: usize| f16::from_bits(bits[4 * j + i]).to_f32();
    [0, 1, 2].map(|j| [0, 1, 2, 3].map(|i| weight(j, i)))
}

fn read_frames(buffers: &Buffers) -> Result<Vec<HomeFrame>, MultiWeightsError> {
    let (frames, more) = floats(buffers, "frames")?.as_chunks::<FRAME_WIDTH>();
    expect("numbers of home frames", FRAME_WIDTH * frames.len() + more.len(), FRAME_WIDTH * frames.len())?;
    let frame = |&[x, y, z, axes, translation]: &[f32; FRAME_WIDTH]| HomeFrame {
        centre: Vec3::new(x, y, z).as_dvec3(),
        scales: [axes, translation],
    };
    Ok(frames.iter().map(frame).collect())
}

/// Plain weights: relative to the origin, with an entry for each home bone.
fn with_home_entries(stored: &MultiWeights, rest: &[[f32; 3]], frames: &[HomeFrame]) -> MultiWeights {
    let MultiWeights { parts, fractions, home, .. } = stored.clone();
    let mut all = MultiWeights { parts, fractions, home, offsets: vec![0], ..MultiWeights::default() };
    for (point, &home) in stored.home.iter().enumerate() {
        let frame = &frames[home as usize];
        let (mut row, mut diagonal) = (Vec::new(), DVec3::ZERO);
        for (bone, entry) in others(stored, point) {
            let entry = uncentred(*entry, frame);
            diagonal += DVec3::new(entry[0][0].into(), entry[1][1].into(), entry[2][2].into());
            row.push((bone, entry));
        }
        let index = row.partition_point(|(bone, _)| *bone < home);
        row.insert(index, (home, home_entry(Vec3::from_array(rest[point]), diagonal)));
        all.bones.extend(row.iter().map(|(bone, _)| bone));
        all.weights.extend(row.iter().map(|(_, entry)| entry));
        all.offsets.push(all.bones.len() as u32);
    }
    all
}

/// Returns a list of floats; empty lists are omitted from files.
fn floats<'a>(buffers: &'a Buffers, name: &'static str) -> Result<&'a [f32], MultiWeightsError> {
    let missing = MultiWeightsError::NoBuffer { name, what: "list of floats" };
    buffers.get(name).map_or(Ok(&[]), |values| values.floats().ok_or(missing))
}

fn integers(buffers: &Buffers, name: &'static str) -> Result<Vec<u32>, MultiWeightsError> {
    let missing = MultiWeightsError::NoBuffer { name, what: "list of integers" };
    buffers.get(name).map_or(Ok(Vec::new()), |values| values.integers().ok_or(missing))
}
