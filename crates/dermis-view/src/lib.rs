//! Viewer and report of dermis: a local server with a page that shows, compares and edits assets, and a self-contained
//! HTML file that compares fits.
//!
//! [`AssetStore`] contains the assets given on the command line or dropped on the page, [`Server`] serves them to a
//! browser on this machine only, and [`mod@report`] writes a report of them. All numbers shown are computed here.

#![forbid(unsafe_code)]

pub mod asset;
pub mod asset_store;
pub mod bones;
pub mod bundle;
pub mod formatting;
mod guard;
pub mod light;
pub mod live;
mod matching;
pub mod measures;
mod page;
mod pages;
pub mod report;
mod rigs;
mod routes;
mod save;
pub mod serve;
pub mod surface;

pub use asset_store::AssetStore;
pub use page::missing as missing_page;
pub use save::check_output;
pub use serve::{ServeError, ServeOptions, Server};
