//! The viewer and the report of dermis: a local server whose page shows, compares and edits what files hold, and one
//! self-contained HTML file that shows fits to others.
//!
//! [`Gallery`] holds what was named on the command line or dropped on the page; [`Server`] gives it to a browser on this
//! machine and to nobody else; [`mod@report`] writes it down. All numbers that either shows are computed here.

#![forbid(unsafe_code)]

pub mod asset;
pub mod bundle;
pub mod gallery;
mod guard;
pub mod live;
mod matching;
pub mod measures;
mod page;
pub mod report;
mod routes;
mod save;
pub mod serve;
pub mod text;

pub use gallery::Gallery;
pub use page::missing as missing_page;
pub use save::check_output;
pub use serve::{ServeError, ServeOptions, Server};
