//! Levels of detail of a scene: coarser meshes for every object, and their error in the poses of the clips.

use dermis_lod::{LodError, LodOptions, PosedError, posed_error, simplify};
use dermis_math::progress::{NoProgress, Progress};
use dermis_mesh::{Note, Object, RigError, Scene};
use serde::Serialize;

use crate::error::Result;
use crate::files::ToScene;

/// Maximum number of frames in which the error of a level is measured.
const MEASURED_FRAMES: usize = 24;

/// A scene with levels of detail.
#[derive(Debug, Clone)]
pub struct LeveledScene {
    /// The scene; its objects have levels of detail.
    pub scene: Scene,
    /// Measures of each object that has levels.
    pub objects: Vec<ObjectLevels>,
    /// Assumptions and omissions.
    pub warnings: Vec<Note>,
}

/// Levels of detail of one object.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ObjectLevels {
    /// Name of the object.
    pub name: String,
    /// Number of triangles of the full mesh.
    pub triangles: usize,
    /// Number of key poses over which the error was minimized.
    pub key_poses: usize,
    /// The levels, from fine to coarse.
    pub levels: Vec<LevelMeasures>,
}

/// Size and error of a level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LevelMeasures {
    /// Requested fraction of the triangles.
    pub ratio: f64,
    /// Number of triangles.
    pub triangles: usize,
    /// Number of points.
    pub points: usize,
    /// Root mean square distance to the full mesh over the poses, in percent of the diagonal of the rest pose.
    pub rms_percent: f64,
    /// Largest distance to the full mesh over the poses, in percent of the diagonal of the rest pose.
    pub max_percent: f64,
}

impl LeveledScene {
    /// The scene with one of the levels in place of the full meshes; objects without levels are unchanged.
    pub fn at_level(&self, level: usize) -> std::result::Result<Scene, RigError> {
        let object =
            |object: &Object| if object.levels.is_empty() { Ok(object.clone()) } else { object.at_level(level) };
        let objects = self.scene.objects.iter().map(object).collect::<std::result::Result<_, _>>()?;
        Ok(Scene { objects, ..self.scene.clone() })
    }
}

impl ToScene for LeveledScene {
    fn to_scene(&self) -> Scene {
        self.scene.clone()
    }
}

/// Adds levels of detail to every object of a scene.
///
/// ```no_run
/// use dermis::prelude::*;
///
/// let leveled = dermis::make_levels(&dermis::read("hero.glb")?, &LodOptions { ratios: vec![0.5, 0.1], ..default() })?;
/// println!("{:.3} % from the full mesh", leveled.objects[0].levels[0].rms_percent);
/// dermis::write("levels.glb", &leveled)?;
/// # dermis::Result::Ok(())
/// ```
pub fn make_levels(input: &(impl ToScene + ?Sized), options: &LodOptions) -> Result<LeveledScene> {
    make_levels_with(input, options, &NoProgress)
}

/// [`make_levels`] with an observer.
pub fn make_levels_with(
    input: &(impl ToScene + ?Sized),
    options: &LodOptions,
    progress: &dyn Progress,
) -> Result<LeveledScene> {
    let mut scene = input.to_scene();
    let (mut objects, mut warnings) = (Vec::new(), Vec::new());
    let mut ratios = options.ratios.clone();
    ratios.sort_by(|a, b| b.total_cmp(a));
    let has_triangles = scene.objects.iter().any(|object| object.mesh.triangle_count() > 0);
    for object in &mut scene.objects {
        if object.mesh.triangle_count() == 0 && has_triangles {
            warnings.push(Note::at(&object.name, "an object without triangles has no levels of detail"));
            continue;
        }
        if object.rig.as_ref().is_none_or(|rig| rig.joints().is_empty() && rig.shapes().is_empty()) {
            warnings.push(Note::at(&object.name, "the object has no skin; only its rest pose is simplified"));
        }
        let made = simplify(object, options, progress)?;
        warnings.extend(made.warnings);
        object.levels = made.levels;
        let mut levels = Vec::with_capacity(ratios.len());
        for (number, &ratio) in ratios.iter().enumerate() {
            let level = object.at_level(number)?;
            let PosedError { rms_percent, max_percent, .. } = posed_error(object, &level, MEASURED_FRAMES);
            let (triangles, points) = (level.mesh.triangle_count(), level.mesh.point_count());
            levels.push(LevelMeasures { ratio, triangles, points, rms_percent, max_percent });
        }
        let (name, triangles) = (object.name.clone(), object.mesh.triangle_count());
        objects.push(ObjectLevels { name, triangles, key_poses: made.pose_count, levels });
    }
    if objects.is_empty() {
        return Err(LodError::NoTriangles("the scene".to_owned()).into());
    }
    Ok(LeveledScene { scene, objects, warnings })
}
