//! Hints on the training of multi-weights.

use dermis::skin::envelope::{ExamplesError, TrainError};
use dermis::train_envelope::EnvelopeError;

pub(super) fn examples(error: &ExamplesError) -> Option<&'static str> {
    match error {
        ExamplesError::Length { .. } => {
            Some("provide one shape per frame of the clip, set their times with --pose-times, or select another --clip")
        }
        ExamplesError::OtherMesh { .. } | ExamplesError::OtherTriangles => {
            Some("export shapes and rig from the same mesh, with the same order of points")
        }
        ExamplesError::OtherSkeleton { .. } => Some("use a clip of the same skeleton"),
        _ => None,
    }
}

pub(super) fn training(error: &TrainError) -> Option<&'static str> {
    match error {
        TrainError::NoInfluence { .. } => {
            Some("add skin weights, paint a map, widen the maps with --widen, or use --maps auto")
        }
        TrainError::NoPoses => Some("set the weight of at least one pose above 0"),
        _ => None,
    }
}

pub(super) fn training_set(error: &EnvelopeError) -> Option<String> {
    match error {
        EnvelopeError::NoJoints => Some("use a rigged file, or create one with 'dermis skin'".to_owned()),
        EnvelopeError::NoShapes => Some("provide the shapes of the frames with --targets FILE".to_owned()),
        EnvelopeError::PoseTimes { .. } => {
            Some("list one time per shape in --pose-times, in the order of the shapes".to_owned())
        }
        EnvelopeError::NoSuchPose { .. } => {
            Some("set --pose-weight for a frame that --frames selects, counted from 0".to_owned())
        }
        EnvelopeError::NoMultiWeights => Some("train a model with 'dermis envelope train'".to_owned()),
        error => error.hint(),
    }
}
