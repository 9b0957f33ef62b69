//! Body models in the layout of SMPL (Kim et al. 2017, §3; Loper et al. 2015): a template, blend shapes for body shape
//! and pose, and a skeleton whose joints follow the shape.
//!
//! | file | content |
//! |---|---|
//! | `model` | validated data of a model |
//! | `pose` | Eq. 1 and 2: skin from shape coefficients and joint angles |
//! | `motion` | conversion between clips of a rig and joint angles over time |
//! | `convert` | conversion of rigged objects to models |
//! | `bone` | bones as segments between joints |
//! | `rigging` | skeletons for skins without a rig |
//! | `human_skeleton` | names and hierarchy of the joints of a human |

#![forbid(unsafe_code)]

mod bone;
mod convert;
pub mod human_skeleton;
mod model;
mod motion;
mod pose;
pub mod rigging;

pub use bone::{Bone, along_nearest_bone, bones_between_joints};
pub use convert::from_object;
pub use model::{BodyError, BodyJoint, BodyModel, BodyParts, JointPlacement, PoseShape, expect_count};
pub use motion::{BodyMotion, motion_of_clip};
pub use pose::{BodyPose, PosedBody, ShapedBody};
