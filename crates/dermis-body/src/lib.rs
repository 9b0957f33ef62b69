//! Body models in the layout of SMPL (Kim et al. 2017, §3; Loper et al. 2015): a template, shapes of people, shapes of
//! poses, and a skeleton whose joints follow the shape.
//!
//! | file | what it does |
//! |---|---|
//! | `model` | the data of a model, checked |
//! | `pose` | Eq. 1 and 2: from shape coefficients and joint angles to skin |
//! | `motion` | clips of a rig ↔ joint angles over time |
//! | `convert` | rigged objects ↔ models |
//! | `bone` | bones as segments between joints |
//! | `rigging` | skeletons for skins that have none |
//! | `sample` | the model behind `sample:body` |

#![forbid(unsafe_code)]

mod bone;
mod convert;
mod model;
mod motion;
mod pose;
pub mod rigging;
mod sample;

pub use bone::{Bone, along_nearest_bone, bones_between_joints};
pub use convert::from_object;
pub use model::{BodyError, BodyJoint, BodyModel, BodyParts, JointPlacement, PoseShape, expect_count};
pub use motion::{BodyMotion, motion_of_clip};
pub use pose::{BodyPose, PosedBody, ShapedBody};
pub use sample::sample;
