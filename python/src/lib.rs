//! The module `dermis._dermis`: the façade for Python. Input arrays are not copied, work runs without the interpreter
//! lock, and errors become exceptions. `dermis/_dermis.pyi` documents the functions for users.

#![allow(clippy::needless_pass_by_value, reason = "arguments of Python are converted to values")]

mod arrays;
mod errors;
mod levels;
mod scene;
mod sequence;
mod skin;
mod tissue;
mod training;
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
    module.add_class::<tissue::Body>()?;
    module.add_class::<tissue::Simulation>()?;
    module.add_function(wrap_pyfunction!(scene::load, module)?)?;
    module.add_function(wrap_pyfunction!(scene::save, module)?)?;
    module.add_function(wrap_pyfunction!(skin::fit_skin, module)?)?;
    module.add_function(wrap_pyfunction!(training::train_envelope, module)?)?;
    module.add_function(wrap_pyfunction!(volume::keep_volume, module)?)?;
    module.add_function(wrap_pyfunction!(wrinkles::wrinkle, module)?)?;
    module.add_function(wrap_pyfunction!(levels::make_levels, module)?)?;
    module.add_function(wrap_pyfunction!(tissue::build_body, module)?)?;
    module.add_function(wrap_pyfunction!(tissue::simulate, module)?)
}
