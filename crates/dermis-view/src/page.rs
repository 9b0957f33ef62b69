//! Files of the page, embedded in the binary by the build.

include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// Reason why this build has no page; `None` if it has one.
pub fn missing() -> Option<&'static str> {
    MISSING
}

/// File of the page at `path` with its media type.
pub(crate) fn file(path: &str) -> Option<(&'static [u8], &'static str)> {
    let name = if path.is_empty() { "index.html" } else { path };
    let (name, bytes) = FILES.iter().find(|(known, _)| *known == name)?;
    Some((bytes, media_type(name)))
}

/// Script of the report; empty if the build has no page.
pub(crate) fn report_script() -> &'static str {
    REPORT
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("woff2") => "font/woff2",
        _ => "application/octet-stream",
    }
}
