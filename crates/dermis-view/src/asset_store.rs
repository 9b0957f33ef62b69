//! Store of all assets by index, in the order in which they were added.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use dermis::evaluate::{self, EvaluateError};
use dermis::io::{ReadOptions, single_file_extensions};
use dermis::mesh::{MeshSequence, Scene};
use dermis::skin::Skin;

use crate::asset::{Asset, AssetInfo};
use crate::matching::{Motion, matched};
use crate::measures::{MeasureError, RankMeasures, at_rank};

/// Error of adding a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddError {
    /// The file cannot be read.
    #[error("{0}")]
    Read(#[from] dermis::io::Error),
    /// The file cannot be evaluated.
    #[error("{0}")]
    Evaluate(#[from] EvaluateError),
    /// The file cannot be stored.
    #[error("the file cannot be stored: {0}")]
    Io(#[from] std::io::Error),
    /// The dropped files would exceed the budget.
    #[error(
        "the dropped files have {total} bytes in total, more than the limit of {budget}; restart the viewer to drop more"
    )]
    Full {
        /// Size of all dropped files with this one.
        total: u64,
        /// Maximum size.
        budget: u64,
    },
    /// The format is unknown or consists of several files.
    #[error("unsupported file '{0}': drop a file of type {known}", known = single_file_extensions().join(" "))]
    Extension(String),
}

/// For each clip of an asset, the asset whose recorded frames it is compared with.
pub type References = Arc<Vec<Option<usize>>>;

/// Store of all assets.
#[derive(Debug, Default)]
pub struct AssetStore {
    assets: RwLock<Vec<Arc<Asset>>>,
    /// Measures by asset, clip, reference and rank.
    measured: Mutex<BTreeMap<[usize; 4], Arc<RankMeasures>>>,
    /// References of the clips of an asset, by asset and number of assets at that time.
    references: Mutex<BTreeMap<[usize; 2], References>>,
}

/// Recorded frames that a clip is compared with.
#[derive(Debug, Clone)]
pub struct Reference {
    /// Asset of the frames.
    pub asset: usize,
    /// Clip that reproduces them.
    pub clip: usize,
    /// The frames.
    pub sequence: MeshSequence,
}

impl AssetStore {
    /// Adds an asset and returns its index.
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
    /// layers. A scene without motion is added unchanged.
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

    /// Converts a scene read from `source` to an asset.
    pub fn asset_of(source: &str, scene: Scene) -> Result<Asset, AddError> {
        let path = Path::new(source);
        let label = path.file_name().map_or_else(|| source.to_owned(), |name| name.to_string_lossy().into_owned());
        let mut asset = Asset::new(label, scene)?.with_tissue(path)?;
        asset.file_bytes = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file).map(|file| file.len());
        Ok(asset)
    }

    /// Adds a dropped file. The extension of `name` determines the format; `bytes` are the contents, which together
    /// with other dropped files may have `budget` bytes.
    pub fn add_upload(&self, name: &str, bytes: &[u8], budget: u64) -> Result<usize, AddError> {
        // Only the file name without directories and control characters is used.
        let name: String = name.rsplit(['/', '\\']).next().unwrap_or("").chars().filter(|c| !c.is_control()).collect();
        let extension = Path::new(&name).extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
        let Some(extension) = extension.filter(|extension| single_file_extensions().contains(&extension.as_str()))
        else {
            return Err(AddError::Extension(name));
        };
        let total = self.uploaded_bytes() + bytes.len() as u64;
        if total > budget {
            return Err(AddError::Full { total, budget });
        }
        let folder = tempfile::Builder::new().prefix("dermis-drop-").tempdir()?;
        let path = folder.path().join(format!("dropped.{extension}"));
        std::fs::write(&path, bytes)?;
        let scene = dermis::io::read(&path.to_string_lossy(), &ReadOptions::default())?;
        let mut asset = Asset::new(name, scene)?.with_tissue(&path)?;
        asset.file_bytes = Some(bytes.len() as u64);
        asset.upload = Some(folder);
        Ok(self.add(asset))
    }

    /// Size of all dropped files.
    fn uploaded_bytes(&self) -> u64 {
        let assets = self.assets.read().unwrap_or_else(PoisonError::into_inner);
        assets.iter().filter(|asset| asset.upload.is_some()).filter_map(|asset| asset.file_bytes).sum()
    }

    /// Number of assets.
    pub fn len(&self) -> usize {
        self.assets.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Returns true if there are no assets.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Asset with index `id`.
    pub fn get(&self, id: usize) -> Option<Arc<Asset>> {
        self.assets.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    /// Descriptions of all assets for the page.
    pub fn infos(&self) -> Result<Vec<AssetInfo>, EvaluateError> {
        (0..self.len()).filter_map(|id| Some(self.get(id)?.info(id, &self.references(id)))).collect()
    }

    /// References of the clips of asset `id`. Of equally suitable motions, its own are preferred.
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

    /// Measures of clip `clip` of asset `id` at `rank`, cached; `None` if the clip has no reference.
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

    /// Skin of asset `id` and the frames that its clip `clip` is compared with.
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
    fn rejects_dropped_files_of_unknown_formats() {
        let assets = AssetStore::default();
        for name in ["../../etc/passwd", "script.exe", "noending", "walk.gltf"] {
            assert!(matches!(assets.add_upload(name, b"", 1000), Err(AddError::Extension(_))), "{name}");
        }
        assert!(matches!(assets.add_upload("broken.glb", b"no glb", 1000), Err(AddError::Read(_))));
        assert!(assets.is_empty());
    }
}
