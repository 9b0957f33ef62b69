//! The page, as the build made it and put it into the binary.

include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// Why there is no page in this build, if there is none.
pub fn missing() -> Option<&'static str> {
    MISSING
}

/// The file of the page at `path` and its media type.
pub(crate) fn file(path: &str) -> Option<(&'static [u8], &'static str)> {
    let name = if path.is_empty() { "index.html" } else { path };
    let (name, bytes) = FILES.iter().find(|(known, _)| *known == name)?;
    Some((bytes, media_type(name)))
}

/// The script of the report; empty where there is no page.
pub(crate) fn report_script() -> &'static str {
    REPORT
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}
