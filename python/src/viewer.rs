//! The viewer, which serves its page from a thread of this process.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use dermis_view::asset::Asset;
use dermis_view::asset_store::AddError;
use dermis_view::{AssetStore, ServeError, ServeOptions, Server};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use crate::errors::{FileError, WorkError};
use crate::scene::{Model, Object, Scene, scene_of};
use crate::skin::Skin;
use crate::tissue::Body;
use crate::work::run;

/// Interval at which signals are handled while waiting.
const PERIOD: Duration = Duration::from_millis(100);

#[doc = docs!("Viewer")]
#[pyclass(module = "dermis", frozen)]
pub(crate) struct Viewer {
    url: String,
    stop: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<Result<(), ServeError>>>>,
}

#[doc = docs!("serve")]
#[pyfunction]
#[pyo3(signature = (*what, port=0, paint=None, output=None, force=false))]
pub(crate) fn serve(
    py: Python<'_>,
    what: &Bound<'_, PyTuple>,
    port: u16,
    paint: Option<String>,
    output: Option<PathBuf>,
    force: bool,
) -> PyResult<Viewer> {
    if let Some(reason) = dermis_view::missing_page() {
        let hint = "install Node.js 18 or later with npm and build dermis again";
        return Err(WorkError::new_err(format!("this build does not contain the viewer: {reason}\nhint: {hint}")));
    }
    let assets = Arc::new(AssetStore::default());
    for (at, what) in what.iter().enumerate() {
        assets.add(asset(py, &what, at)?);
    }
    let options = ServeOptions { port, paint, output, force, embeddable: true, ..ServeOptions::default() };
    let server = Server::bind(assets, options).map_err(|error| FileError::new_err(error.to_string()))?;
    let (url, stop) = (server.url(), Arc::new(AtomicBool::new(false)));
    let stopped = Arc::clone(&stop);
    let thread = std::thread::spawn(move || server.run(move || stopped.load(Ordering::Relaxed)));
    Ok(Viewer { url, stop, thread: Mutex::new(Some(thread)) })
}

/// The asset of an argument: the path of a file, or an object of dermis.
fn asset(py: Python<'_>, what: &Bound<'_, PyAny>, at: usize) -> PyResult<Asset> {
    let is_path = what.is_instance_of::<PyString>() || what.hasattr("__fspath__")?;
    if is_path {
        let source = what.extract::<PathBuf>()?.to_string_lossy().into_owned();
        return run(py, None, |_| {
            let scene = dermis::read(&source)?;
            AssetStore::asset_of(&source, scene).map_err(added)
        });
    }
    let scene = scene_of(what)?;
    let label = label(what, &scene, at);
    let mut asset = run(py, None, |_| Ok(Asset::new(label, scene)?))?;
    if let Ok(body) = what.cast::<Body>() {
        asset.tissue = Some(Arc::new(body.get().layered.clone()));
    }
    Ok(asset)
}

/// Label on the page: the name of the object and the function that created it.
fn label(what: &Bound<'_, PyAny>, scene: &dermis::mesh::Scene, at: usize) -> String {
    let name = scene.objects.first().map(|object| object.name.clone()).filter(|name| !name.is_empty());
    let name = name.unwrap_or_else(|| format!("object {at}"));
    if let Ok(skin) = what.cast::<Skin>() {
        return format!("{name}, {} bones", skin.get().fit.skin.bone_count());
    }
    let is_plain = what.is_instance_of::<Scene>() || what.is_instance_of::<Object>();
    if what.is_instance_of::<Model>() && !is_plain { format!("{name}, model") } else { name }
}

fn added(error: AddError) -> dermis::Error {
    match error {
        AddError::Read(error) => error.into(),
        AddError::Evaluate(error) => error.into(),
        other => dermis::io::Error::malformed(other.to_string()).into(),
    }
}

#[pymethods]
impl Viewer {
    /// Address of the page.
    #[getter]
    fn url(&self) -> &str {
        &self.url
    }

    #[doc = docs!("Viewer.close")]
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(thread) = thread else { return Ok(()) };
        let result = py.detach(|| thread.join());
        let result = result.map_err(|_| WorkError::new_err("the viewer failed"))?;
        result.map_err(|error| WorkError::new_err(error.to_string()))
    }

    #[doc = docs!("Viewer.wait")]
    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        while !self.stop.load(Ordering::Relaxed) {
            py.detach(|| std::thread::sleep(PERIOD));
            if let Err(interrupt) = py.check_signals() {
                self.close(py)?;
                return Err(interrupt);
            }
        }
        Ok(())
    }

    fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    /// The page for notebooks.
    #[pyo3(name = "_repr_html_")]
    fn repr_html(&self) -> String {
        format!("<iframe src=\"{}\" width=\"100%\" height=\"640\" style=\"border: 0\"></iframe>", self.url)
    }

    fn __repr__(&self) -> String {
        format!("<dermis.Viewer: {}>", self.url)
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
