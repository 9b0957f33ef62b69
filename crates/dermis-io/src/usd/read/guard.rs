//! Conversion of panics of the `openusd` crate into errors.
//!
//! The crate panics on some broken files: unchecked indices, unwraps and unfinished branches. [`super::crate_check`]
//! and [`super::text_check`] reject files that would exhaust memory or the stack; remaining panics are caught here. The
//! panic hook would print the message before unwinding starts, so a hook is installed, once, that prints nothing on a
//! thread inside [`contain`] and forwards all other panics to the previous hook.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use crate::error::Error;

thread_local! {
    static CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` and reports a panic as a malformed file.
pub(super) fn contain<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    install_hook();
    let outer = CONTAINED.replace(true);
    // Data owned by `work` is dropped with it, so no inconsistent state remains.
    let outcome = catch_unwind(AssertUnwindSafe(work));
    CONTAINED.set(outer);
    outcome.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        let error = Error::malformed("the USD file is truncated or malformed");
        Err(error.detail(text.unwrap_or("there are no further details").to_owned()))
    })
}

fn install_hook() {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            if !CONTAINED.get() {
                before(info);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error() {
        let error = contain::<()>(|| panic!("index {} out of range", 7)).unwrap_err();
        assert_eq!(error.details(), ["index 7 out of range"]);
        assert_eq!(contain(|| Ok(3)).unwrap(), 3);
    }
}
