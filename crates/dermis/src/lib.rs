//! dermis learns, corrects and simulates the skin of animated characters.
//!
//! This crate is the interface for programs, the command line, the viewer and Python. It re-exports the other crates,
//! adds workflows across them ([`mod@evaluate`], [`mod@select`], [`mod@retarget`], [`mod@bodies`]), and has a function
//! for each system: [`fit_skin()`], [`fit_rig()`], [`train_envelope()`], [`keep_volume()`], [`wrinkle()`],
//! [`build_body()`] and [`simulate()`]. [`make_levels()`] creates levels of detail of a skin, [`edit()`] edits its rest
//! pose, [`collide()`] finds contacts, [`bake_light()`] precomputes lighting, [`pack()`] creates a small file, and
//! [`render()`] draws a picture.
//!
//! Each takes its input and options and returns a result that can be evaluated, measured and written with [`write()`];
//! the variants `…_with` also take an observer.
//!
//! ```
//! use dermis::prelude::*;
//!
//! // A triangle that rises: one topology, two frames, 24 frames per second.
//! let mesh = Arc::new(TriMesh::new(vec![Vec3::ZERO, Vec3::X, Vec3::Y], vec![[0, 1, 2]])?);
//! let frames = [0.0, 1.0].iter().flat_map(|&z| mesh.points().iter().map(move |&point| point + z * Vec3::Z)).collect();
//! let sequence = MeshSequence::new(mesh, frames, 24.0)?;
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let file = folder.path().join("triangle.npz");
//! # let file = file.to_str().unwrap();
//! # /*
//! let file = "triangle.npz";
//! # */
//! dermis::write(file, &sequence)?;
//!
//! // Only its last frame, as `dermis convert --frames -1:` does.
//! let last = select(dermis::read(file)?, &Selection { frames: Some("-1:".parse()?), ..default() })?;
//! assert_eq!(last.sequence()?.frame(0)?[0], Vec3::Z);
//! # dermis::Result::Ok(())
//! ```

#![forbid(unsafe_code)]

pub mod animations;
pub mod bake;
#[cfg(feature = "light")]
pub mod bake_light;
#[cfg(feature = "batch")]
pub mod batch;
#[cfg(feature = "tissue")]
pub mod bodies;
#[cfg(feature = "tissue")]
pub mod build_body;
#[cfg(feature = "collide")]
pub mod collide;
pub mod corrective_shapes;
pub mod edit;
pub mod engine;
pub mod error;
pub mod evaluate;
pub mod files;
#[cfg(feature = "tissue")]
pub mod fit_beam;
#[cfg(feature = "tissue")]
pub mod fit_report;
pub mod fit_rig;
pub mod fit_skin;
#[cfg(feature = "tissue")]
pub mod fit_tissue;
pub mod fold_file;
pub mod frame_range;
pub mod inspect;
pub mod keep_volume;
#[cfg(feature = "tissue")]
pub mod layered_file;
#[cfg(feature = "lod")]
pub mod make_levels;
pub mod match_meshes;
#[cfg(feature = "gltf")]
pub mod pack;
pub mod pose_model;
#[cfg(feature = "render")]
pub mod render;
pub mod resample;
pub mod retarget;
pub mod select;
#[cfg(feature = "tissue")]
pub mod simulate;
pub mod train_envelope;
pub mod wrinkle;
pub mod wrinkle_files;

pub use dermis_active as active;
pub use dermis_body as body;
#[cfg(feature = "collide")]
pub use dermis_collide as collision;
pub use dermis_io as io;
#[cfg(feature = "light")]
pub use dermis_light as light;
#[cfg(feature = "lod")]
pub use dermis_lod as lod;
pub use dermis_math as math;
pub use dermis_mesh as mesh;
pub use dermis_mesh::names;
#[cfg(feature = "render")]
pub use dermis_render as renderer;
#[cfg(feature = "samples")]
pub use dermis_samples as samples;
pub use dermis_skin as skin;
#[cfg(feature = "tissue")]
pub use dermis_tet as tet;
#[cfg(feature = "tissue")]
pub use dermis_tissue as tissue;

#[cfg(feature = "light")]
pub use bake_light::{bake_light, bake_light_with};
#[cfg(feature = "tissue")]
pub use bodies::read_body;
#[cfg(feature = "tissue")]
pub use build_body::{build_body, build_body_with};
#[cfg(feature = "collide")]
pub use collide::{collide, collide_with};
pub use edit::{edit, edit_with};
pub use engine::{Engine, EngineProfile};
pub use error::{Error, Result};
pub use evaluate::{EvaluateError, Motion};
pub use files::{ToScene, ToSequence, Writable, read, read_with, write, write_with};
#[cfg(feature = "tissue")]
pub use fit_beam::{fit_beam, read_beam};
pub use fit_rig::{FitRigOptions, fit_rig, fit_rig_with};
pub use fit_skin::{fit_skin, fit_skin_with};
#[cfg(feature = "tissue")]
pub use fit_tissue::{fit_tissue, fit_tissue_with, read_scans, sample_scans, sample_scans_with};
pub use frame_range::{FrameRange, FrameRangeError};
pub use keep_volume::{keep_volume, keep_volume_with};
#[cfg(feature = "lod")]
pub use make_levels::{make_levels, make_levels_with};
#[cfg(feature = "gltf")]
pub use pack::{pack, pack_frames, pack_with};
pub use pose_model::pose_model;
#[cfg(feature = "render")]
pub use render::{render, render_with};
pub use retarget::{RetargetError, RetargetOptions, retarget};
pub use select::{SelectError, Selection, find_clip, select};
#[cfg(feature = "tissue")]
pub use simulate::simulate;
pub use train_envelope::{train_envelope, train_envelope_with, validate_envelope};
pub use wrinkle::{train_wrinkles, train_wrinkles_with, wrinkle, wrinkle_learned, wrinkle_learned_with, wrinkle_with};

/// The names that most programs need, for `use dermis::prelude::*`.
pub mod prelude {
    pub use std::sync::Arc;

    pub use crate::active::volume::VolumeOptions;
    pub use crate::active::wrinkle::ClothOptions;
    #[cfg(feature = "light")]
    pub use crate::bake_light::BakeLightOptions;
    #[cfg(feature = "tissue")]
    pub use crate::bodies::BodyOptions;
    #[cfg(feature = "tissue")]
    pub use crate::build_body::BuildBodyOptions;
    #[cfg(feature = "collide")]
    pub use crate::collide::CollideOptions;
    pub use crate::edit::{DisplacementMap, EditOptions, RestEdit};
    pub use crate::files::{ToScene, ToSequence, Writable};
    #[cfg(feature = "tissue")]
    pub use crate::fit_tissue::{FitTissueOptions, SampleScansOptions};
    pub use crate::frame_range::FrameRange;
    pub use crate::io::{ReadOptions, WriteOptions};
    #[cfg(feature = "lod")]
    pub use crate::lod::LodOptions;
    pub use crate::math::progress::{NoProgress, Progress};
    pub use crate::mesh::glam::{DAffine3, Vec2, Vec3};
    pub use crate::mesh::{
        Clip, Joint, MeshSequence, Note, Object, Rig, Scene, Shape, SkinWeights, TetMesh, TriMesh, Units, UpAxis,
    };
    #[cfg(feature = "gltf")]
    pub use crate::pack::{PackBudget, PackOptions};
    pub use crate::pose_model::PoseOptions;
    pub use crate::retarget::RetargetOptions;
    pub use crate::select::{Selection, select};
    pub use crate::skin::{BoneModel, Bones, FitOptions, RigOptions, Skin};
    #[cfg(feature = "tissue")]
    pub use crate::tissue::layered::SimulateOptions;
    pub use crate::train_envelope::{EnvelopeOptions, ExampleOptions, TrainingSet};

    /// The default value of a type, for the remaining fields of an options struct: `Options { field, ..default() }`.
    pub fn default<T: Default>() -> T {
        T::default()
    }
}
