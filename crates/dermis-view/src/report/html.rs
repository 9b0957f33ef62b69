//! The file itself: a page whose script and data stand within it.

use serde_json::json;

use super::{Embedded, Facts};

/// The whole HTML file.
pub(super) fn page(facts: &Facts, view: &[Embedded]) -> Result<String, serde_json::Error> {
    let title = escaped(&facts.title);
    let data = serde_json::to_string(&json!({ "facts": facts, "view": view }))?;
    // Inside a script element only the text "</" could end it early; both languages know another way to write it.
    let data = data.replace("</", "<\\/");
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
