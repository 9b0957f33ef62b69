//! The conversation between a page and a [`LiveDeformer`].

use axum::extract::ws::{Message, WebSocket};
use serde::Deserialize;

use super::{Hello, LiveDeformer};

/// What the page asks.
#[derive(Debug, Deserialize)]
struct Request {
    frame: Option<usize>,
    set: Option<String>,
    value: Option<f64>,
}

/// Answers until the page leaves or says something that makes no sense.
pub(crate) async fn converse(mut socket: WebSocket, mut deformer: Box<dyn LiveDeformer>, points: usize) {
    let hello =
        Hello { points, frames: deformer.frame_count(), parameters: deformer.parameters(), scalar: deformer.scalar() };
    let Ok(hello) = serde_json::to_string(&hello) else {
        return;
    };
    if socket.send(Message::text(hello)).await.is_err() {
        return;
    }
    while let Some(Ok(message)) = socket.recv().await {
        let Message::Text(text) = message else {
            continue;
        };
        let Some(answer) = tokio::task::block_in_place(|| answer(&mut *deformer, &text)) else {
            return;
        };
        if !answer.is_empty() && socket.send(Message::binary(answer)).await.is_err() {
            return;
        }
    }
}

/// What is sent back, which may be nothing; `None` ends the conversation.
fn answer(deformer: &mut dyn LiveDeformer, text: &str) -> Option<Vec<u8>> {
    let request: Request = serde_json::from_str(text).ok()?;
    if let (Some(name), Some(value)) = (&request.set, request.value)
        && !deformer.set(name, value)
    {
        return None;
    }
    let Some(frame) = request.frame else {
        return Some(Vec::new());
    };
    if frame >= deformer.frame_count() {
        return None;
    }
    deformer.pose(frame).ok().map(|posed| posed.into_bytes(frame))
}
