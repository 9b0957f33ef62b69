//! The module `dermis._dermis`: the façade for Python. Input arrays are not copied, work runs without the interpreter
//! lock, and errors become exceptions. `dermis/_dermis.pyi` documents the functions for users.

#![allow(clippy::needless_pass_by_value, reason = "arguments of Python are converted to values")]
#![allow(
    clippy::doc_lazy_continuation,
    clippy::doc_link_with_quotes,
    clippy::doc_markdown,
    reason = "examples of Python"
)]

/// Documentation of a function, class or method, from the type stubs.
macro_rules! docs {
    ($name:literal) => {
        include_str!(concat!(env!("OUT_DIR"), "/", $name))
    };
}

mod arrays;
mod contacts;
mod editing;
mod errors;
mod levels;
mod lighting;
mod options;
mod packing;
mod pictures;
mod posing;
mod rigs;
mod scene;
mod sequence;
mod skin;
mod tissue;
mod training;
mod viewer;
mod volume;
mod work;
mod wrinkles;

use pyo3::prelude::*;

#[pymodule]
fn _dermis(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    errors::register(module)?;
    module.add_class::<scene::Scene>()?;
    module.add_class::<scene::Object>()?;
    module.add_class::<scene::Model>()?;
    module.add_class::<sequence::MeshSequence>()?;
    module.add_class::<skin::Skin>()?;
    module.add_class::<packing::Packed>()?;
    module.add_class::<pictures::Picture>()?;
    module.add_class::<tissue::Body>()?;
    module.add_class::<tissue::Simulation>()?;
    module.add_class::<viewer::Viewer>()?;
    module.add_function(wrap_pyfunction!(options::defaults, module)?)?;
    module.add_function(wrap_pyfunction!(scene::load, module)?)?;
    module.add_function(wrap_pyfunction!(scene::save, module)?)?;
    module.add_function(wrap_pyfunction!(scene::select, module)?)?;
    module.add_function(wrap_pyfunction!(scene::inspect, module)?)?;
    module.add_function(wrap_pyfunction!(skin::fit_skin, module)?)?;
    module.add_function(wrap_pyfunction!(skin::fit_rig, module)?)?;
    module.add_function(wrap_pyfunction!(training::train_envelope, module)?)?;
    module.add_function(wrap_pyfunction!(rigs::rigged_mesh, module)?)?;
    module.add_function(wrap_pyfunction!(rigs::corrective_shapes, module)?)?;
    module.add_function(wrap_pyfunction!(rigs::factor_transforms, module)?)?;
    module.add_function(wrap_pyfunction!(volume::keep_volume, module)?)?;
    module.add_function(wrap_pyfunction!(wrinkles::wrinkle, module)?)?;
    module.add_function(wrap_pyfunction!(levels::make_levels, module)?)?;
    module.add_function(wrap_pyfunction!(editing::edit, module)?)?;
    module.add_function(wrap_pyfunction!(posing::pose_model, module)?)?;
    module.add_function(wrap_pyfunction!(contacts::collide, module)?)?;
    module.add_function(wrap_pyfunction!(lighting::bake_light, module)?)?;
    module.add_function(wrap_pyfunction!(packing::pack, module)?)?;
    module.add_function(wrap_pyfunction!(pictures::render, module)?)?;
    module.add_function(wrap_pyfunction!(tissue::build_body, module)?)?;
    module.add_function(wrap_pyfunction!(tissue::simulate, module)?)?;
    module.add_function(wrap_pyfunction!(tissue::sample_scans, module)?)?;
    module.add_function(wrap_pyfunction!(tissue::fit_tissue, module)?)?;
    module.add_function(wrap_pyfunction!(tissue::validate_tissue, module)?)?;
    module.add_function(wrap_pyfunction!(tissue::fit_beam, module)?)?;
    module.add_function(wrap_pyfunction!(viewer::serve, module)?)?;
    Ok(())
}
