//! Routes of the server, documented in `docs/view.md`.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{DefaultBodyLimit, Path, Query, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use dermis::evaluate::{self, EvaluateError};
use dermis::io::single_file_extensions;
use dermis::mesh::{Object, SequenceError, UpAxis};
use dermis::tissue::layered::LayeredBody;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use crate::asset::{Asset, AssetInfo, clip_bundle, frames_bundle, mesh_bundle};
use crate::asset_store::{AddError, AssetStore};
use crate::guard::{Access, guard};
use crate::live::{
    BouncingBalls, LitMotion, LiveDeformer, PosedSkin, RecordedFrames, SimulatedBody, Stored, VolumeDeformer,
    WrinkleDeformer, converse,
};
use crate::measures::{FrameErrors, MeasureError, errors_by_frame, point_errors};
use crate::page;
use crate::pages::Pages;
use crate::save::{self, SaveError, Written};
use crate::surface::{self, SurfaceInfo};

/// Maximum size of a response with recorded frames in bytes; pages request the next frames afterwards.
const MAX_FRAME_BYTES: usize = 64 << 20;
/// Maximum size of a message from a page to a live deformer.
const MAX_MESSAGE_BYTES: usize = 4096;

/// Maximum number of live deformers at a time: each has its own simulation.
const MAX_LIVE: usize = 24;

/// Live deformers.
const LIVE_KINDS: [&str; 8] = ["pose", "recorded", "layers", "volume", "wrinkle", "tissue", "balls", "light"];

/// Options of [`Server::bind`](crate::serve::Server::bind).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServeOptions {
    /// Port; 0 selects a free one.
    pub port: u16,
    /// Name of the attribute that the brush paints, if any.
    pub paint: Option<String>,
    /// File for edits; if absent, the page offers them as a download.
    pub output: Option<PathBuf>,
    /// Replaces `output` if it exists.
    pub force: bool,
    /// Maximum size of a request body in bytes: a dropped file or an edit.
    pub upload_limit: usize,
    /// Maximum total size of the dropped files in bytes.
    pub upload_budget: u64,
    /// Permits notebooks on this machine to embed the page in a frame.
    pub embeddable: bool,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            port: 0,
            paint: None,
            output: None,
            force: false,
            upload_limit: 512 << 20,
            upload_budget: 2 << 30,
            embeddable: false,
        }
    }
}

/// State shared by all requests.
#[derive(Debug, Clone)]
pub(crate) struct App(Arc<Shared>);

/// Contents of the output.
#[derive(Debug, Default)]
struct Saved {
    asset: Option<usize>,
    /// Number of saves by all pages.
    revision: u64,
}

#[derive(Debug)]
struct Shared {
    assets: Arc<AssetStore>,
    options: ServeOptions,
    /// Asset that was saved to the output, which it can replace again.
    saved: Mutex<Saved>,
    /// Pages that are open.
    pages: Pages,
    /// Permits of live deformers.
    live: Arc<Semaphore>,
}

impl App {
    pub(crate) fn new(assets: Arc<AssetStore>, options: ServeOptions) -> Self {
        let live = Arc::new(Semaphore::new(MAX_LIVE));
        Self(Arc::new(Shared { assets, options, saved: Mutex::default(), pages: Pages::new(), live }))
    }

    fn asset(&self, id: usize) -> Result<Arc<Asset>, Failure> {
        self.0.assets.get(id).ok_or_else(|| Failure::unknown("asset"))
    }

    /// Calls `write` with permission to replace the output if that is allowed or the output contains asset `id`.
    /// Fails if the output has been saved since `revision`, so that no edits of another page are replaced by accident.
    /// Returns the files written and the new revision.
    fn replacing(
        &self,
        id: usize,
        revision: Option<u64>,
        write: impl FnOnce(bool) -> Result<Vec<PathBuf>, SaveError>,
    ) -> Result<Written, SaveError> {
        let mut saved = self.0.saved.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = revision.filter(|known| *known != saved.revision) {
            return Err(SaveError::SavedByOther { known, found: saved.revision });
        }
        let files = write(self.0.options.force || saved.asset == Some(id))?;
        *saved = Saved { asset: Some(id), revision: saved.revision + 1 };
        let written = files.iter().map(|file| file.display().to_string()).collect();
        Ok(Written { written, revision: saved.revision })
    }

    fn revision(&self) -> u64 {
        self.0.saved.lock().unwrap_or_else(PoisonError::into_inner).revision
    }

    /// The object (level 0), or one of its levels of detail.
    fn object(&self, id: usize, level: usize) -> Result<Object, Failure> {
        let asset = self.asset(id)?;
        match level.checked_sub(1) {
            None => Ok(asset.object.clone()),
            Some(lod) => asset.lods.get(lod).cloned().ok_or_else(|| Failure::unknown("level of detail")),
        }
    }
}

/// All routes, behind the guard.
pub(crate) fn router(app: App, port: u16) -> Router {
    let access = Access::of_port(port, app.0.options.embeddable);
    let limit = app.0.options.upload_limit;
    Router::new()
        .route("/api/scene", get(scene))
        .route("/api/alive", get(alive))
        .route("/api/assets/{id}/levels/{level}/mesh", get(mesh))
        .route("/api/assets/{id}/levels/{level}/clips/{clip}", get(clip))
        .route("/api/assets/{id}/frames", get(frames))
        .route("/api/assets/{id}/measures", get(measures))
        .route("/api/assets/{id}/points/{point}", get(point))
        .route("/api/assets/{id}/errors", get(errors))
        .route("/api/assets/{id}/surface", get(surface))
        .route("/api/assets/{id}/vertices", get(vertices))
        .route("/api/assets/{id}/images/{image}", get(image))
        .route("/api/assets/{id}/live/{kind}", get(live))
        .route("/api/assets/{id}/edit", post(save_edit))
        .route("/api/drop", post(drop_file))
        .fallback(get(page_file))
        .layer(DefaultBodyLimit::max(limit))
        .layer(axum::middleware::from_fn_with_state(limit, check_length))
        .layer(axum::middleware::from_fn_with_state(access, guard))
        .layer(axum::middleware::map_response(error_as_json))
        .with_state(app)
}

/// Rejects a request by its stated length before its body is read.
async fn check_length(State(limit): State<usize>, request: Request, next: Next) -> Response {
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    if length.and_then(|length| length.parse::<u64>().ok()).is_some_and(|length| length > limit as u64) {
        let message = format!("the request is larger than the limit of {limit} bytes");
        return Failure { status: StatusCode::PAYLOAD_TOO_LARGE, message }.into_response();
    }
    next.run(request).await
}

/// Error response.
#[derive(Debug)]
struct Failure {
    status: StatusCode,
    message: String,
}

impl Failure {
    fn unknown(what: &str) -> Self {
        Self { status: StatusCode::NOT_FOUND, message: format!("unknown {what}") }
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
unusable!(AddError, EvaluateError, MeasureError, SequenceError);

impl From<SaveError> for Failure {
    fn from(error: SaveError) -> Self {
        match error {
            SaveError::SavedByOther { .. } => Self { status: StatusCode::CONFLICT, message: error.to_string() },
            _ => Self::unusable(&error),
        }
    }
}

/// Converts all errors to JSON, including those of the framework for invalid addresses and for bodies that are invalid
/// or too large.
async fn error_as_json(response: Response) -> Response {
    let json = |kind: &HeaderValue| kind.as_bytes() == b"application/json";
    if !response.status().is_client_error() || response.headers().get(header::CONTENT_TYPE).is_some_and(json) {
        return response;
    }
    let (head, body) = response.into_parts();
    let text = axum::body::to_bytes(body, MAX_MESSAGE_BYTES).await.unwrap_or_default();
    let reason = head.status.canonical_reason().unwrap_or("rejected");
    let message = if text.is_empty() { reason.into() } else { String::from_utf8_lossy(&text).into_owned() };
    let mut converted = Failure { status: head.status, message }.into_response();
    for (name, value) in &head.headers {
        if name != header::CONTENT_TYPE && name != header::CONTENT_LENGTH {
            converted.headers_mut().insert(name, value.clone());
        }
    }
    converted
}

/// Runs long `work` outside of the asynchronous threads.
async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Failure::unusable(&"internal server error")))
}

async fn page_file(uri: axum::http::Uri) -> Response {
    match page::file(uri.path().trim_start_matches('/')) {
        Some((bytes, media_type)) => ([(header::CONTENT_TYPE, media_type)], bytes).into_response(),
        None => Failure::unknown("page").into_response(),
    }
}

/// Response of `/api/scene`.
#[derive(Debug, Serialize)]
struct SceneInfo {
    version: &'static str,
    assets: Vec<AssetInfo>,
    /// Name of the attribute that the brush paints.
    paint: Option<String>,
    /// File for edits; if absent, edits are downloads.
    output: Option<String>,
    droppable: Vec<&'static str>,
    upload_limit: usize,
    /// Identifies this run of the server.
    session: String,
    /// Number of saves by all pages.
    revision: u64,
}

async fn scene(State(app): State<App>) -> Result<Json<SceneInfo>, Failure> {
    in_background(move || {
        let options = &app.0.options;
        Ok(Json(SceneInfo {
            version: env!("CARGO_PKG_VERSION"),
            assets: app.0.assets.infos()?,
            paint: options.paint.clone(),
            output: options.output.as_ref().map(|path| path.display().to_string()),
            droppable: single_file_extensions(),
            upload_limit: options.upload_limit,
            session: app.0.pages.session().to_owned(),
            revision: app.revision(),
        }))
    })
    .await
}

#[derive(Debug, Deserialize)]
struct Visitor {
    page: String,
}

/// Response of `/api/alive`.
#[derive(Debug, Serialize)]
struct Alive {
    session: String,
    /// Number of pages that are open.
    pages: usize,
    assets: usize,
    revision: u64,
}

async fn alive(State(app): State<App>, Query(Visitor { page }): Query<Visitor>) -> Json<Alive> {
    let pages = app.0.pages.visited_by(&page);
    let session = app.0.pages.session().to_owned();
    Json(Alive { session, pages, assets: app.0.assets.len(), revision: app.revision() })
}

async fn mesh(State(app): State<App>, Path((id, level)): Path<(usize, usize)>) -> Result<Vec<u8>, Failure> {
    in_background(move || Ok(mesh_bundle(&app.object(id, level)?, false))).await
}

async fn clip(
    State(app): State<App>,
    Path((id, level, clip)): Path<(usize, usize, usize)>,
) -> Result<Vec<u8>, Failure> {
    in_background(move || {
        let object = app.object(id, level)?;
        match (&object.rig, object.clips.get(clip)) {
            (Some(rig), Some(clip)) => Ok(clip_bundle(rig, clip)),
            _ => Err(Failure::unknown("clip")),
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
    in_background(move || {
        let asset = app.asset(id)?;
        let sequence = asset.object.sequence.as_ref().ok_or_else(|| Failure::unknown("recorded motion"))?;
        let most = (MAX_FRAME_BYTES / (12 * sequence.point_count()).max(1)).max(1);
        let count = count.min(most).min(sequence.frame_count().saturating_sub(first));
        Ok(frames_bundle(sequence, first, count, false)?)
    })
    .await
}

#[derive(Debug, Deserialize)]
struct AtRank {
    rank: usize,
    #[serde(default)]
    clip: usize,
}

async fn measures(
    State(app): State<App>,
    Path(id): Path<usize>,
    Query(AtRank { rank, clip }): Query<AtRank>,
) -> Result<Response, Failure> {
    in_background(move || match app.0.assets.measures(id, clip, rank)? {
        Some(measures) => Ok(Json(&*measures).into_response()),
        None => Err(Failure::unknown("sequence to compare with")),
    })
    .await
}

async fn point(
    State(app): State<App>,
    Path((id, point)): Path<(usize, usize)>,
    Query(AtRank { rank, clip }): Query<AtRank>,
) -> Result<Json<Vec<f32>>, Failure> {
    in_background(move || {
        let compared = app.0.assets.compared(id, clip);
        let (skin, reference) = compared.ok_or_else(|| Failure::unknown("sequence to compare with"))?;
        if point >= skin.mesh().point_count() {
            return Err(Failure::unknown("point"));
        }
        Ok(Json(point_errors(&skin, clip, &reference.sequence, rank, point)?))
    })
    .await
}

async fn errors(
    State(app): State<App>,
    Path(id): Path<usize>,
    Query(AtRank { rank, clip }): Query<AtRank>,
) -> Result<Json<FrameErrors>, Failure> {
    in_background(move || {
        let compared = app.0.assets.compared(id, clip);
        let (skin, reference) = compared.ok_or_else(|| Failure::unknown("sequence to compare with"))?;
        Ok(Json(errors_by_frame(&skin, clip, &reference.sequence, rank)?))
    })
    .await
}

async fn surface(State(app): State<App>, Path(id): Path<usize>) -> Result<Json<SurfaceInfo>, Failure> {
    in_background(move || {
        let asset = app.asset(id)?;
        Ok(Json(surface::surface_info(&asset.object, &asset.parts)))
    })
    .await
}

/// Bundle of the vertices; empty if the mesh has no layout.
async fn vertices(State(app): State<App>, Path(id): Path<usize>) -> Result<Vec<u8>, Failure> {
    in_background(move || Ok(surface::surface_bundle(&app.asset(id)?.object).unwrap_or_default())).await
}

async fn image(State(app): State<App>, Path((id, image)): Path<(usize, usize)>) -> Result<Response, Failure> {
    in_background(move || {
        let (kind, image) = surface::image(&app.asset(id)?.object, image).ok_or_else(|| Failure::unknown("image"))?;
        Ok(([(header::CONTENT_TYPE, kind)], image.bytes.clone()).into_response())
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
    if !LIVE_KINDS.contains(&kind.as_str()) {
        return Err(Failure::unknown("live deformer"));
    }
    let busy = |_| Failure {
        status: StatusCode::SERVICE_UNAVAILABLE,
        message: format!("{MAX_LIVE} live deformers are running; close another page first"),
    };
    let permit = Arc::clone(&app.0.live).try_acquire_owned().map_err(busy)?;
    let points = asset.object.mesh.point_count();
    let made = move || live_deformer(&asset, &kind, options.clip);
    let store = move |body: &LayeredBody, revision: Option<u64>| save_body(&app, id, revision, body);
    let upgrade = upgrade.max_message_size(MAX_MESSAGE_BYTES);
    Ok(upgrade.on_upgrade(move |socket| async move {
        converse(socket, made, points, store).await;
        drop(permit);
    }))
}

fn live_deformer(asset: &Asset, kind: &str, clip: usize) -> Result<Box<dyn LiveDeformer>, String> {
    let unit = asset.unit();
    let up = asset.units.up_axis.unwrap_or(UpAxis::Y);
    Ok(match kind {
        "volume" => Box::new(VolumeDeformer::new(&asset.object, clip, &unit)?),
        "tissue" => {
            let body = asset.tissue.as_ref().ok_or("the asset is not a layered body")?;
            Box::new(SimulatedBody::new(LayeredBody::clone(body), clip)?)
        }
        "wrinkle" => Box::new(WrinkleDeformer::new(&asset.object, clip)?),
        "balls" => Box::new(BouncingBalls::new(&asset.object, clip, up, &unit)?),
        "light" => {
            let light = asset.light.clone().ok_or("the asset has no stored light")?;
            let motion = evaluate::motion_of_clip(&asset.object, clip).map_err(|error| error.to_string())?;
            Box::new(LitMotion::new(motion.sequence, clip, light, up)?)
        }
        "layers" => {
            let motion = evaluate::motion_of_clip(&asset.object, clip).map_err(|error| error.to_string())?;
            Box::new(RecordedFrames::new(motion.sequence, &unit))
        }
        "recorded" => {
            let frames = asset.object.sequence.clone().ok_or("the asset has no recorded frames")?;
            Box::new(RecordedFrames::new(frames, &unit))
        }
        _ => {
            let skin = asset.skin().ok_or("the asset has no bones")?;
            Box::new(PosedSkin::new(skin, clip).ok_or("the asset has no such clip")?)
        }
    })
}

/// Contents of an edit.
#[derive(Debug, Deserialize)]
struct Edit {
    #[serde(default)]
    rest: bool,
    attribute: Option<String>,
    /// Number of saves at the last request of the page; if it is absent, the output is replaced in any case.
    revision: Option<u64>,
}

/// Saves a rest pose, an attribute, or both; the body contains their numbers in this order.
async fn save_edit(
    State(app): State<App>,
    Path(id): Path<usize>,
    Query(Edit { rest, attribute, revision }): Query<Edit>,
    body: Bytes,
) -> Result<Response, Failure> {
    in_background(move || {
        let asset = app.asset(id)?;
        let object = save::edited(&asset.object, rest, attribute.as_deref(), &floats(&body))?;
        save(&app, id, revision, &asset, object)
    })
    .await
}

/// Writes to the output given by the user; without one, the response is the file.
fn save(app: &App, id: usize, revision: Option<u64>, asset: &Asset, object: Object) -> Result<Response, Failure> {
    let Some(target) = &app.0.options.output else {
        let bytes = save::glb_bytes(asset, object)?;
        return Ok(([(header::CONTENT_TYPE, "model/gltf-binary")], bytes).into_response());
    };
    let written = app.replacing(id, revision, |force| save::write(asset, object, target, force))?;
    Ok(Json(written).into_response())
}

/// Writes a layered body to the output given by the user; without one, it is a download.
fn save_body(app: &App, id: usize, revision: Option<u64>, body: &LayeredBody) -> Result<Stored, SaveError> {
    match &app.0.options.output {
        Some(target) => app.replacing(id, revision, |force| save::write_body(body, target, force)).map(Stored::Files),
        None => save::body_bytes(body).map(Stored::Download),
    }
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
    in_background(move || {
        Ok(Json(serde_json::json!({ "asset": app.0.assets.add_upload(&name, &body, app.0.options.upload_budget)? })))
    })
    .await
}
