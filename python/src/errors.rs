//! Exceptions. All are `dermis.Error`, with the attributes `hint` (a text or `None`) and `details` (a list).

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::{PyErr, create_exception};

create_exception!(dermis, Error, PyException, "Base of all exceptions of dermis.");
create_exception!(dermis, FileError, Error, "A file cannot be read or written.");
create_exception!(dermis, InputError, Error, "A mesh, a motion, a rig or an option is invalid.");
create_exception!(dermis, WorkError, Error, "A fit, a correction or a simulation failed.");

/// Adds the exceptions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("Error", py.get_type::<Error>())?;
    module.add("FileError", py.get_type::<FileError>())?;
    module.add("InputError", py.get_type::<InputError>())?;
    module.add("WorkError", py.get_type::<WorkError>())?;
    Error::new_err(()).value(py).get_type().setattr("hint", py.None())?;
    Error::new_err(()).value(py).get_type().setattr("details", Vec::<String>::new())
}

/// Exception for an error of the façade, with its causes, details and hint.
pub(crate) fn exception(error: impl Into<dermis::Error>) -> PyErr {
    let error = error.into();
    let mut text = match &error {
        dermis::Error::Io(io) if io.path().is_some() => {
            let location = io.location().map_or_else(String::new, |location| format!(", {location}"));
            format!("{}{location}: {error}", io.path().unwrap_or("".as_ref()).display())
        }
        _ => error.to_string(),
    };
    let mut cause = std::error::Error::source(error.inner());
    while let Some(below) = cause {
        let below_text = below.to_string();
        if !text.contains(&below_text) {
            text = format!("{text}: {below_text}");
        }
        cause = below.source();
    }
    let (details, hint) = (error.details(), error.hint());
    for line in &details {
        text = format!("{text}\n{line}");
    }
    if let Some(hint) = &hint {
        text = format!("{text}\nhint: {hint}");
    }
    use dermis::Error as E;
    let exception = match &error {
        E::Io(_) | E::Body(_) => FileError::new_err(text),
        E::Select(_) | E::FrameRange(_) | E::Evaluate(_) | E::Retarget(_) | E::Pose(_) | E::Sequence(_) => {
            InputError::new_err(text)
        }
        E::Mesh(_) | E::Rig(_) | E::Skin(_) | E::SkinPose(_) | E::Match(_) => InputError::new_err(text),
        _ => WorkError::new_err(text),
    };
    Python::attach(|py| {
        let value = exception.value(py);
        // The text already contains both, so a failure to set the attributes is harmless.
        let _ = value.setattr("hint", hint).and_then(|()| value.setattr("details", details));
    });
    exception
}

/// Exception for an invalid argument.
pub(crate) fn invalid(message: impl Into<String>) -> PyErr {
    InputError::new_err(message.into())
}
