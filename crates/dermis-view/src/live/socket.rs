//! The conversation between a page and a [`LiveDeformer`].

use axum::extract::ws::{Message, WebSocket};
use dermis::mesh::Object;
use serde::Deserialize;
use serde_json::json;

use super::{Hello, LiveDeformer};
use crate::asset::mesh_bundle;

/// What the page asks.
#[derive(Debug, Deserialize)]
struct Request {
    frame: Option<usize>,
    set: Option<String>,
    value: Option<f64>,
}

/// Answers until the page leaves or says something that makes no sense. `made` is the deformer of a surface of `points`
/// points, or why there is none, which the page shows.
pub(crate) async fn converse(
    mut socket: WebSocket,
    made: impl FnOnce() -> Result<Box<dyn LiveDeformer>, String> + Send,
    points: usize,
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
        let Some(answers) = tokio::task::block_in_place(|| answers(&mut *deformer, &text)) else {
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
    let hello = Hello {
        points: surface.as_ref().map_or(points, |mesh| mesh.point_count()),
        frames: deformer.frame_count(),
        surface: surface.is_some(),
        parameters: deformer.parameters(),
        scalar: deformer.scalar(),
    };
    let hello = Message::text(json!(hello).to_string());
    let surface = surface.map(|mesh| Message::binary(mesh_bundle(&Object::of_mesh("", mesh), false)));
    std::iter::once(hello).chain(surface).collect()
}

/// What is sent back, which may be nothing; `None` ends the conversation.
fn answers(deformer: &mut dyn LiveDeformer, text: &str) -> Option<Vec<Message>> {
    let request: Request = serde_json::from_str(text).ok()?;
    if let (Some(name), Some(value)) = (&request.set, request.value)
        && !(value.is_finite() && deformer.set(name, value))
    {
        return None;
    }
    let Some(frame) = request.frame else {
        return Some(Vec::new());
    };
    if frame >= deformer.frame_count() {
        return None;
    }
    let posed = deformer.pose(frame).ok()?;
    let status = Message::text(json!({ "status": posed.status }).to_string());
    Some(vec![status, Message::binary(posed.to_bytes(frame))])
}
