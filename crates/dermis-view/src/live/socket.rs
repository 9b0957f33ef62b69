//! Protocol between a page and a [`LiveDeformer`].

use axum::extract::ws::{Message, WebSocket};
use dermis::mesh::Object;
use dermis::tissue::layered::LayeredBody;
use serde::{Deserialize, Deserializer};
use serde_json::json;

use super::{Ball, Dab, Greeting, Grip, LiveDeformer, Touch};
use crate::asset::mesh_bundle;
use crate::save::{SaveError, Written};

/// Message of the page.
#[derive(Debug, Deserialize)]
struct Request {
    frame: Option<f64>,
    set: Option<String>,
    value: Option<f64>,
    #[serde(default)]
    pull: TouchState<Grip>,
    #[serde(default)]
    poke: TouchState<Ball>,
    paint: Option<Dab>,
    #[serde(default)]
    reset: bool,
    #[serde(default)]
    save: bool,
    /// Number of saves at the last request of the page.
    revision: Option<u64>,
    /// Discards all painted changes.
    #[serde(default)]
    restore: bool,
}

/// Optional touch of a message: if absent, the touch is unchanged; `null` ends it.
#[derive(Debug, Clone, Copy, Default)]
enum TouchState<T> {
    #[default]
    Unchanged,
    Changed(Option<T>),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for TouchState<T> {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        Option::deserialize(value).map(Self::Changed)
    }
}

impl<T> TouchState<T> {
    fn touch(self, kind: impl Fn(Option<T>) -> Touch) -> Option<Touch> {
        match self {
            Self::Unchanged => None,
            Self::Changed(to) => Some(kind(to)),
        }
    }
}

impl Request {
    fn touches(&self) -> impl Iterator<Item = Touch> {
        let hand = [self.pull.touch(Touch::Pull), self.poke.touch(Touch::Poke), self.paint.map(Touch::Paint)];
        let restore = self.restore.then_some(Touch::Restore);
        restore.into_iter().chain(hand.into_iter().flatten()).chain(self.reset.then_some(Touch::Reset))
    }
}

/// Result of saving a body.
#[derive(Debug)]
pub(crate) enum Stored {
    /// Files written.
    Files(Written),
    /// Contents of a file, for a download.
    Download(Vec<u8>),
}

/// Responds until the page disconnects or sends an invalid message. `made` creates the deformer of a surface of
/// `points` points, or returns an error, which the page shows; `store` saves its body.
pub(crate) async fn converse(
    mut socket: WebSocket,
    made: impl FnOnce() -> Result<Box<dyn LiveDeformer>, String> + Send,
    points: usize,
    store: impl Fn(&LayeredBody, Option<u64>) -> Result<Stored, SaveError> + Send,
) {
    let mut deformer = match tokio::task::block_in_place(made) {
        Ok(deformer) => deformer,
        Err(error) => {
            let _ = socket.send(Message::text(json!({ "error": error }).to_string())).await;
            return;
        }
    };
    for message in greeting(&*deformer, points) {
        if socket.send(message).await.is_err() {
            return;
        }
    }
    while let Some(Ok(message)) = socket.recv().await {
        let Message::Text(text) = message else {
            continue;
        };
        let Some(answers) = tokio::task::block_in_place(|| answers(&mut *deformer, &text, &store)) else {
            return;
        };
        for answer in answers {
            if socket.send(answer).await.is_err() {
                return;
            }
        }
    }
}

fn greeting(deformer: &dyn LiveDeformer, points: usize) -> Vec<Message> {
    let surface = deformer.surface();
    let greeting = Greeting {
        points: surface.as_ref().map_or(points, |mesh| mesh.point_count()),
        frames: deformer.frame_count(),
        surface: surface.is_some(),
        continuous: deformer.continuous(),
        parameters: deformer.parameters(),
        scalar: deformer.scalar(),
    };
    let greeting = Message::text(json!(greeting).to_string());
    let surface = surface.map(|mesh| Message::binary(mesh_bundle(&Object::of_mesh("", mesh), false)));
    std::iter::once(greeting).chain(surface).collect()
}

/// Messages to be sent, possibly none; `None` ends the connection.
fn answers(
    deformer: &mut dyn LiveDeformer,
    text: &str,
    store: &impl Fn(&LayeredBody, Option<u64>) -> Result<Stored, SaveError>,
) -> Option<Vec<Message>> {
    let request: Request = serde_json::from_str(text).ok()?;
    if let (Some(name), Some(value)) = (&request.set, request.value)
        && !(value.is_finite() && deformer.set(name, value))
    {
        return None;
    }
    if !request.touches().all(|touch| deformer.touch(touch)) {
        return None;
    }
    let mut answers = if request.save { saved(store(deformer.model()?, request.revision)) } else { Vec::new() };
    if let Some(at) = request.frame {
        answers.extend(posed(deformer, at)?);
    }
    Some(answers)
}

fn posed(deformer: &mut dyn LiveDeformer, at: f64) -> Option<Vec<Message>> {
    if !(at >= 0.0 && at < deformer.frame_count() as f64) {
        return None;
    }
    let frame = at as usize;
    let posed = match deformer.pose_between(frame, at.fract()) {
        Ok(posed) => posed,
        // The file of the frames can have been changed by another program; the page shows it.
        Err(error) => return Some(vec![Message::text(json!({ "error": error_chain(&error) }).to_string())]),
    };
    let status = json!({ "status": posed.status, "scalar": deformer.scalar() });
    Some(vec![Message::text(status.to_string()), Message::binary(posed.to_bytes(at))])
}

/// Message of an error and of its causes.
fn error_chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

fn saved(result: Result<Stored, SaveError>) -> Vec<Message> {
    let text = |value: serde_json::Value| Message::text(value.to_string());
    match result {
        Ok(Stored::Files(written)) => vec![text(json!(written))],
        Ok(Stored::Download(bytes)) => vec![text(json!({ "download": bytes.len() })), Message::binary(bytes)],
        Err(error) => {
            let conflict = matches!(error, SaveError::SavedByOther { .. });
            vec![text(json!({ "error": error.to_string(), "conflict": conflict }))]
        }
    }
}
