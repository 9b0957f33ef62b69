//! HTML file of the report: a page with embedded script and data.

use serde_json::json;

use super::{Embedded, Facts};

/// Contents of the HTML file.
pub(super) fn page(facts: &Facts, view: &[Embedded]) -> Result<String, serde_json::Error> {
    let title = escaped(&facts.title);
    let data = serde_json::to_string(&json!({ "facts": facts, "view": view }))?;
    // A "<" could begin markup that ends the script element or hides its end; it occurs in strings only.
    let data = data.replace('<', "\\u003c");
    let script = crate::page::report_script().replace("</script", "<\\/script");
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; \
         style-src 'unsafe-inline'; img-src data: blob:\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{title}</title>\n</head>\n<body>\n\
         <div id=\"report\"><noscript>This report needs JavaScript.</noscript></div>\n\
         <script type=\"application/json\" id=\"data\">{data}</script>\n<script>{script}</script>\n</body>\n</html>\n"
    ))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
