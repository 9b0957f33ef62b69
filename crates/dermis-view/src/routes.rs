//! What the server answers; `docs/view.md` lists it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Bytes;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use dermis::mesh::{Object, SequenceError};
use serde::{Deserialize, Serialize};

use crate::asset::{Asset, AssetInfo, clip_bundle, frames_bundle, mesh_bundle};
use crate::gallery::{AddError, DROPPABLE, Gallery};
use crate::guard::{Names, guard};
use crate::live::{LiveDeformer, PosedSkin, RecordedFrames, converse};
use crate::measures::{MeasureError, point_errors};
use crate::page;
use crate::save::{self, SaveError};
use crate::serve::ServeOptions;

/// The largest answer of recorded frames in bytes; a page asks for the next ones when it has these.
const MOST_FRAME_BYTES: usize = 64 << 20;
/// Messages of a page to a live deformer are a few words.
const MOST_MESSAGE_BYTES: usize = 4096;

/// What the answers are made from.
#[derive(Debug, Clone)]
pub(crate) struct App(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    gallery: Arc<Gallery>,
    options: ServeOptions,
    /// Whether the output is one of ours, which a second save may replace.
    saved: AtomicBool,
}

impl App {
    pub(crate) fn new(gallery: Arc<Gallery>, options: ServeOptions) -> Self {
        Self(Arc::new(Shared { gallery, options, saved: AtomicBool::new(false) }))
    }

    fn asset(&self, id: usize) -> Result<Arc<Asset>, Failure> {
        self.0.gallery.get(id).ok_or_else(|| Failure::absent("asset"))
    }

    /// The object itself (level 0), or one of its coarser versions.
    fn object(&self, id: usize, level: usize) -> Result<Object, Failure> {
        let asset = self.asset(id)?;
        match level.checked_sub(1) {
            None => Ok(asset.object.clone()),
            Some(lod) => asset.lods.get(lod).cloned().ok_or_else(|| Failure::absent("level of detail")),
        }
    }
}

/// All routes, behind the guard.
pub(crate) fn router(app: App, names: Names) -> Router {
    let limit = app.0.options.upload_limit;
    Router::new()
        .route("/api/scene", get(scene))
        .route("/api/assets/{id}/levels/{level}/mesh", get(mesh))
        .route("/api/assets/{id}/levels/{level}/clips/{clip}", get(clip))
        .route("/api/assets/{id}/frames", get(frames))
        .route("/api/assets/{id}/measures", get(measures))
        .route("/api/assets/{id}/points/{point}", get(point))
        .route("/api/assets/{id}/live/{kind}", get(live))
        .route("/api/assets/{id}/rest", post(save_rest))
        .route("/api/assets/{id}/attributes/{name}", post(save_attribute))
        .route("/api/drop", post(drop_file))
        .fallback(get(page_file))
        .layer(DefaultBodyLimit::max(limit))
        .layer(axum::middleware::from_fn_with_state(names, guard))
        .with_state(app)
}

/// Why a request has no answer.
#[derive(Debug)]
struct Failure {
    status: StatusCode,
    message: String,
}

impl Failure {
    fn absent(what: &str) -> Self {
        Self { status: StatusCode::NOT_FOUND, message: format!("there is no such {what}") }
    }

    fn unusable(error: &dyn std::fmt::Display) -> Self {
        Self { status: StatusCode::UNPROCESSABLE_ENTITY, message: error.to_string() }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        (self.status, Json(serde_json::json!({ "error": self.message }))).into_response()
    }
}

macro_rules! unusable {
    ($($error:ty),*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::unusable(&error)
            }
        }
    )*};
}
unusable!(AddError, MeasureError, SaveError, SequenceError);

/// Runs `work`, which takes longer than other requests should wait.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> Result<T, Failure> + Send + 'static) -> Result<T, Failure> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Failure::unusable(&"the server failed at this request")))
}

async fn page_file(uri: axum::http::Uri) -> Response {
    match page::file(uri.path().trim_start_matches('/')) {
        Some((bytes, media_type)) => ([(header::CONTENT_TYPE, media_type)], bytes).into_response(),
        None => Failure::absent("page").into_response(),
    }
}

/// The answer to `/api/scene`.
#[derive(Debug, Serialize)]
struct SceneInfo {
    version: &'static str,
    assets: Vec<AssetInfo>,
    /// The attribute that the brush paints.
    paint: Option<String>,
    /// Where edits go; a download where it is absent.
    output: Option<String>,
    droppable: [&'static str; DROPPABLE.len()],
    upload_limit: usize,
}

async fn scene(State(app): State<App>) -> Result<Json<SceneInfo>, Failure> {
    aside(move || {
        let options = &app.0.options;
        Ok(Json(SceneInfo {
            version: env!("CARGO_PKG_VERSION"),
            assets: app.0.gallery.infos()?,
            paint: options.paint.clone(),
            output: options.output.as_ref().map(|path| path.display().to_string()),
            droppable: DROPPABLE,
            upload_limit: options.upload_limit,
        }))
    })
    .await
}

async fn mesh(State(app): State<App>, Path((id, level)): Path<(usize, usize)>) -> Result<Vec<u8>, Failure> {
    aside(move || Ok(mesh_bundle(&app.object(id, level)?, false))).await
}

async fn clip(
    State(app): State<App>,
    Path((id, level, clip)): Path<(usize, usize, usize)>,
) -> Result<Vec<u8>, Failure> {
    aside(move || {
        let object = app.object(id, level)?;
        match (&object.rig, object.clips.get(clip)) {
            (Some(rig), Some(clip)) => Ok(clip_bundle(rig, clip)),
            _ => Err(Failure::absent("clip")),
        }
    })
    .await
}

#[derive(Debug, Deserialize)]
struct FrameSpan {
    first: usize,
    count: usize,
}

async fn frames(
    State(app): State<App>,
    Path(id): Path<usize>,
    Query(FrameSpan { first, count }): Query<FrameSpan>,
) -> Result<Vec<u8>, Failure> {
    aside(move || {
        let asset = app.asset(id)?;
        let sequence = asset.object.sequence.as_ref().ok_or_else(|| Failure::absent("recorded motion"))?;
        let most = (MOST_FRAME_BYTES / (12 * sequence.point_count()).max(1)).max(1);
        let count = count.min(most).min(sequence.frame_count().saturating_sub(first));
        Ok(frames_bundle(sequence, first, count, false)?)
    })
    .await
}

#[derive(Debug, Deserialize)]
struct AtRank {
    rank: usize,
}

async fn measures(
    State(app): State<App>,
    Path(id): Path<usize>,
    Query(AtRank { rank }): Query<AtRank>,
) -> Result<Response, Failure> {
    aside(move || match app.0.gallery.measures(id, rank)? {
        Some(measures) => Ok(Json(&*measures).into_response()),
        None => Err(Failure::absent("sequence to compare with")),
    })
    .await
}

async fn point(
    State(app): State<App>,
    Path((id, point)): Path<(usize, usize)>,
    Query(AtRank { rank }): Query<AtRank>,
) -> Result<Json<Vec<f32>>, Failure> {
    aside(move || {
        let compared = app.0.gallery.compared(id);
        let (skin, reference) = compared.ok_or_else(|| Failure::absent("sequence to compare with"))?;
        if point >= skin.mesh().point_count() {
            return Err(Failure::absent("point"));
        }
        Ok(Json(point_errors(&skin, reference.clip, &reference.sequence, rank, point)?))
    })
    .await
}

#[derive(Debug, Deserialize)]
struct LiveOptions {
    #[serde(default)]
    clip: usize,
}

async fn live(
    State(app): State<App>,
    Path((id, kind)): Path<(usize, String)>,
    Query(options): Query<LiveOptions>,
    upgrade: WebSocketUpgrade,
) -> Result<Response, Failure> {
    let asset = app.asset(id)?;
    let points = asset.object.mesh.point_count();
    let unit = asset.info(id, None)?.unit;
    let deformer: Option<Box<dyn LiveDeformer>> = match kind.as_str() {
        "pose" => asset.skin().and_then(|skin| PosedSkin::new(skin, options.clip)).map(|posed| Box::new(posed) as _),
        "recorded" => asset.object.sequence.clone().map(|frames| Box::new(RecordedFrames::new(frames, &unit)) as _),
        _ => None,
    };
    let deformer = deformer.ok_or_else(|| Failure::absent("live deformer"))?;
    let upgrade = upgrade.max_message_size(MOST_MESSAGE_BYTES);
    Ok(upgrade.on_upgrade(move |socket| converse(socket, deformer, points)))
}

async fn save_rest(State(app): State<App>, Path(id): Path<usize>, body: Bytes) -> Result<Response, Failure> {
    aside(move || {
        let asset = app.asset(id)?;
        let object = save::with_rest(&asset, &floats(&body))?;
        save(&app, &asset, object)
    })
    .await
}

async fn save_attribute(
    State(app): State<App>,
    Path((id, name)): Path<(usize, String)>,
    body: Bytes,
) -> Result<Response, Failure> {
    aside(move || {
        let asset = app.asset(id)?;
        let object = save::with_attribute(&asset, &name, &floats(&body))?;
        save(&app, &asset, object)
    })
    .await
}

/// Writes to the output that the user has named; without one, the answer is the file itself.
fn save(app: &App, asset: &Asset, object: Object) -> Result<Response, Failure> {
    let Some(target) = &app.0.options.output else {
        let bytes = save::glb_bytes(asset, object)?;
        return Ok(([(header::CONTENT_TYPE, "model/gltf-binary")], bytes).into_response());
    };
    let force = app.0.options.force || app.0.saved.load(Ordering::SeqCst);
    let files = save::write(asset, object, target, force)?;
    app.0.saved.store(true, Ordering::SeqCst);
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    Ok(Json(serde_json::json!({ "written": files })).into_response())
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect()
}

#[derive(Debug, Deserialize)]
struct Dropped {
    name: String,
}

async fn drop_file(
    State(app): State<App>,
    Query(Dropped { name }): Query<Dropped>,
    body: Bytes,
) -> Result<Json<serde_json::Value>, Failure> {
    aside(move || Ok(Json(serde_json::json!({ "asset": app.0.gallery.add_upload(&name, &body)? })))).await
}
