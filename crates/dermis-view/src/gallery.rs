//! What there is to look at: assets by number, in the order in which they were named or dropped.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use dermis::evaluate::{self, EvaluateError};
use dermis::io::ReadOptions;
use dermis::mesh::{MeshSequence, Scene};
use dermis::skin::Skin;

use crate::asset::{Asset, AssetInfo};
use crate::matching::{Motion, matched};
use crate::measures::{MeasureError, RankMeasures, at_rank};

/// Endings that may be dropped on the page: formats that are whole in one file.
pub const DROPPABLE: [&str; 10] = ["glb", "npz", "obj", "ply", "abc", "usd", "usda", "usdc", "usdz", "fbx"];

/// Why a file was not added.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddError {
    /// It cannot be read.
    #[error("{0}")]
    Read(#[from] dermis::io::Error),
    /// It is not one thing to look at.
    #[error("{0}")]
    Evaluate(#[from] EvaluateError),
    /// The file cannot be kept.
    #[error("the file cannot be kept: {0}")]
    Io(#[from] std::io::Error),
    /// Its ending is not one that is whole in one file.
    #[error("'{0}' cannot be dropped here; what can: {known}", known = DROPPABLE.join(" "))]
    Ending(String),
}

/// For each clip of an asset, the asset whose recorded frames it is to play.
pub type References = Arc<Vec<Option<usize>>>;

/// All assets.
#[derive(Debug, Default)]
pub struct Gallery {
    assets: RwLock<Vec<Arc<Asset>>>,
    /// By asset, clip, reference and rank.
    measured: Mutex<BTreeMap<[usize; 4], Arc<RankMeasures>>>,
    /// What the clips of an asset are compared with, by asset and number of assets there were to choose from.
    references: Mutex<BTreeMap<[usize; 2], References>>,
}

/// What a clip is compared with.
#[derive(Debug, Clone)]
pub struct Reference {
    /// The asset that has the frames.
    pub asset: usize,
    /// The clip that is to play them.
    pub clip: usize,
    /// The frames.
    pub sequence: MeshSequence,
}

impl Gallery {
    /// Adds what was read from a file or made otherwise; gives its number.
    pub fn add(&self, asset: Asset) -> usize {
        let mut assets = self.assets.write().unwrap_or_else(PoisonError::into_inner);
        assets.push(Arc::new(asset));
        assets.len() - 1
    }

    /// Adds a scene read from `source`, a file or `sample:NAME`.
    pub fn add_scene(&self, source: &str, scene: Scene) -> Result<usize, AddError> {
        Ok(self.add(Self::asset_of(source, scene)?))
    }

    /// Adds the motion of a scene read from `source` as recorded frames: those of the file, or its first clip with all
    /// layers. A scene that does not move is added as it is.
    pub fn add_motion(&self, source: &str, scene: Scene) -> Result<usize, AddError> {
        let (object, notes) = evaluate::single(&scene)?;
        let Scene { units, notes: read, .. } = scene;
        let mut notes: Vec<_> = read.into_iter().chain(notes).collect();
        let object = match evaluate::motion(&object)? {
            Some(motion) => {
                notes.extend(motion.warnings);
                evaluate::with_frames(object, motion.sequence)
            }
            None => object,
        };
        self.add_scene(source, Scene { objects: vec![object], units, notes })
    }

    /// What a scene read from `source` is as an asset.
    pub fn asset_of(source: &str, scene: Scene) -> Result<Asset, AddError> {
        let path = Path::new(source);
        let label = path.file_name().map_or_else(|| source.to_owned(), |name| name.to_string_lossy().into_owned());
        let mut asset = Asset::new(label, scene)?.with_tissue(path)?;
        asset.file_bytes = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file).map(|file| file.len());
        Ok(asset)
    }

    /// Adds a file that was dropped: `name` says the format, `bytes` are its contents.
    pub fn add_upload(&self, name: &str, bytes: &[u8]) -> Result<usize, AddError> {
        // Only the last part of the name is used, and of that only letters that cannot lead anywhere else.
        let name: String = name.rsplit(['/', '\\']).next().unwrap_or("").chars().filter(|c| !c.is_control()).collect();
        let ending = Path::new(&name).extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        let Some(ending) = ending.filter(|ending| DROPPABLE.contains(&ending.as_str())) else {
            return Err(AddError::Ending(name));
        };
        let folder = tempfile::Builder::new().prefix("dermis-drop-").tempdir()?;
        let path = folder.path().join(format!("dropped.{ending}"));
        std::fs::write(&path, bytes)?;
        let scene = dermis::io::read(&path.to_string_lossy(), &ReadOptions::default())?;
        let mut asset = Asset::new(name, scene)?.with_tissue(&path)?;
        asset.file_bytes = Some(bytes.len() as u64);
        asset.upload = Some(folder);
        Ok(self.add(asset))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.assets.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether there is nothing to look at.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Asset number `id`.
    pub fn get(&self, id: usize) -> Option<Arc<Asset>> {
        self.assets.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    /// What the page should know of all assets.
    pub fn infos(&self) -> Result<Vec<AssetInfo>, EvaluateError> {
        (0..self.len()).filter_map(|id| Some(self.get(id)?.info(id, &self.references(id)))).collect()
    }

    /// What the clips of asset `id` are compared with; of motions that suit alike, its own come first.
    pub fn references(&self, id: usize) -> References {
        let count = self.len();
        let known = || self.references.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(references) = known().get(&[id, count]) {
            return Arc::clone(references);
        }
        let order = std::iter::once(id).chain((0..count).filter(|&other| other != id));
        let motion = |asset: usize| {
            let found = self.get(asset)?;
            Some(Motion { asset, label: found.label.clone(), sequence: found.object.sequence.clone()? })
        };
        let skin = self.get(id).and_then(|asset| asset.skin());
        let references = skin.map(|skin| matched(&skin, &order.filter_map(motion).collect::<Vec<_>>()));
        let references = Arc::new(references.unwrap_or_default());
        known().insert([id, count], Arc::clone(&references));
        references
    }

    /// The measures of clip `clip` of asset `id` at `rank`, kept once computed; `None` where there is nothing to compare with.
    pub fn measures(&self, id: usize, clip: usize, rank: usize) -> Result<Option<Arc<RankMeasures>>, MeasureError> {
        let Some((skin, reference)) = self.compared(id, clip) else {
            return Ok(None);
        };
        let rank = rank.min(skin.rank());
        let key = [id, clip, reference.asset, rank];
        if let Some(known) = self.measured.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(Some(Arc::clone(known)));
        }
        let measures = Arc::new(at_rank(&skin, clip, &reference.sequence, rank)?);
        self.measured.lock().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::clone(&measures));
        Ok(Some(measures))
    }

    /// The skin of asset `id` and the frames that its clip `clip` is compared with.
    pub fn compared(&self, id: usize, clip: usize) -> Option<(Skin, Reference)> {
        let asset = (*self.references(id).get(clip)?)?;
        let sequence = self.get(asset)?.object.sequence.clone()?;
        Some((self.get(id)?.skin()?, Reference { asset, clip, sequence }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_file_of_an_unknown_kind_is_refused() {
        let gallery = Gallery::default();
        for name in ["../../etc/passwd", "script.exe", "noending", "walk.gltf"] {
            assert!(matches!(gallery.add_upload(name, b""), Err(AddError::Ending(_))), "{name}");
        }
        assert!(matches!(gallery.add_upload("broken.glb", b"no glb"), Err(AddError::Read(_))));
        assert!(gallery.is_empty());
    }
}
