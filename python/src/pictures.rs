//! Pictures.

use std::path::PathBuf;

use dermis::render::{
    Backdrop, Heat, Look, Normals, PanelFrame, PanelInput, PanelOptions, PictureError, Pictures, RenderOptions,
};
use dermis::renderer::Image;
use numpy::{PyArray1, PyArray3, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::errors::{FileError, exception, invalid};
use crate::options::{choice, chosen};
use crate::scene::scene_of;
use crate::work::run;

#[doc = docs!("Picture")]
#[pyclass(module = "dermis", frozen)]
pub(crate) struct Picture {
    image: Image,
}

#[doc = docs!("render")]
#[pyfunction]
#[pyo3(signature = (what, *, look=None, view=None, frame=None, clip=None, reference=None, labels=None, width=None,
    height=None, columns=None, backdrop=None, floor=None, wireframe=None, skeleton=None, shading=None,
    same_scale=None, heat_max=None, progress=None))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn render(
    py: Python<'_>,
    what: &Bound<'_, PyAny>,
    look: Option<&str>,
    view: Option<&str>,
    frame: Option<&Bound<'_, PyAny>>,
    clip: Option<String>,
    reference: Option<&Bound<'_, PyAny>>,
    labels: Option<Vec<String>>,
    width: Option<usize>,
    height: Option<usize>,
    columns: Option<usize>,
    backdrop: Option<&str>,
    floor: Option<bool>,
    wireframe: Option<bool>,
    skeleton: Option<bool>,
    shading: Option<&str>,
    same_scale: Option<bool>,
    heat_max: Option<f64>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Picture> {
    let scenes = match what.cast::<PyList>() {
        Ok(list) => list.iter().map(|item| scene_of(&item)).collect::<PyResult<Vec<_>>>()?,
        Err(_) => vec![scene_of(what)?],
    };
    let labels = labels.unwrap_or_else(|| vec![String::new(); scenes.len()]);
    if labels.len() != scenes.len() {
        return Err(invalid(format!("labels: {} given for {} panels", labels.len(), scenes.len())));
    }
    let reference = reference.map(scene_of).transpose()?;
    let parsed = |option: &str, reason: String| invalid(format!("{option}: {reason}"));
    let panel = PanelOptions {
        look: look.map_or(Ok(Look::default()), look_of)?,
        view: view.map_or(Ok(dermis::renderer::View::default()), |view| {
            view.parse().map_err(|reason| parsed("view", reason))
        })?,
        clip,
        frame: match frame {
            None => PanelFrame::default(),
            Some(frame) => frame.str()?.to_string().parse().map_err(|reason| parsed("frame", reason))?,
        },
        label: String::new(),
    };
    let shadings = [("file", Normals::File), ("smooth", Normals::Smooth), ("flat", Normals::Flat)];
    let defaults = RenderOptions::default();
    let options = RenderOptions {
        width: width.unwrap_or(defaults.width),
        height: height.unwrap_or(defaults.height),
        columns,
        backdrop: backdrop.map_or(Ok(defaults.backdrop), backdrop_of)?,
        floor: floor.unwrap_or(defaults.floor),
        wireframe: wireframe.unwrap_or(defaults.wireframe),
        skeleton: skeleton.unwrap_or(defaults.skeleton),
        normals: chosen("shading", shading, &shadings, defaults.normals)?,
        same_scale: same_scale.unwrap_or(defaults.same_scale),
        heat_max,
        panel: PanelOptions::default(),
    };
    let image = run(py, progress, |progress| {
        let panels: Vec<PanelInput<'_>> = scenes
            .iter()
            .zip(labels)
            .map(|(scene, label)| PanelInput {
                scene,
                reference: reference.as_ref(),
                options: PanelOptions { label, ..panel.clone() },
            })
            .collect();
        Pictures::still(&panels, &options, progress)?.draw(0, progress)
    })?;
    Ok(Picture { image })
}

fn look_of(name: &str) -> PyResult<Look> {
    let looks = ["material", "clay", "normals", "bones"];
    let at: Vec<(&str, usize)> = looks.iter().copied().zip(0..).collect();
    if let Ok(at) = choice("look", name, &at) {
        return Ok([Look::Material, Look::Clay, Look::Normals, Look::Bones][at].clone());
    }
    let heat =
        name.parse::<Heat>().map_err(|reason| invalid(format!("look: '{name}'; {reason}, or {}", looks.join(", "))))?;
    Ok(Look::Heat(heat))
}

fn backdrop_of(name: &str) -> PyResult<Backdrop> {
    let hex = name.strip_prefix('#').filter(|digits| digits.len() == 6);
    if let Some(Ok(hex)) = hex.map(|digits| u32::from_str_radix(digits, 16)) {
        let [_, red, green, blue] = hex.to_be_bytes();
        return Ok(Backdrop::Plain([red, green, blue]));
    }
    let named = [("light", Backdrop::Light), ("dark", Backdrop::Dark), ("transparent", Backdrop::Transparent)];
    choice("backdrop", name, &named)
}

impl Picture {
    fn encoded(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        py.detach(|| self.image.to_png()).map_err(|error| exception(PictureError::from(error)))
    }
}

#[pymethods]
impl Picture {
    #[doc = docs!("Picture.pixels")]
    #[getter]
    fn pixels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<u8>>> {
        let Image { width, height, pixels } = &self.image;
        PyArray1::from_slice(py, pixels.as_flattened()).reshape([*height, *width, 4])
    }

    /// Writes the picture as PNG.
    #[pyo3(signature = (path, *, force=false))]
    fn save(&self, py: Python<'_>, path: PathBuf, force: bool) -> PyResult<()> {
        if !path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("png")) {
            return Err(FileError::new_err(format!("{}: a picture is a PNG file", path.display())));
        }
        let png = self.encoded(py)?;
        run(py, None, |_| {
            let mut output = dermis::io::output::Output::new(force);
            output.write_all(&path, &png)?;
            output.commit()?;
            Ok(())
        })
    }

    /// The picture for notebooks.
    #[pyo3(name = "_repr_png_")]
    fn repr_png<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.encoded(py)?))
    }

    fn __repr__(&self) -> String {
        format!("<dermis.Picture: {} × {}>", self.image.width, self.image.height)
    }
}
