//! Access control: only requests from the page on this machine are accepted.
//!
//! Web pages can send requests to loopback addresses, even under a host name that resolves to them (DNS rebinding).
//! Therefore `Host` must be a name of this server, and `Origin`, if present, must be that of the page.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// Sources that the page can load; it loads no external resources.
const SOURCES: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:";
/// Pages that can embed this one in a frame: none, or notebooks on this machine.
const NO_FRAMES: &str = "frame-ancestors 'none'";
const FRAMES_OF_NOTEBOOKS: &str = "frame-ancestors http://localhost:* http://127.0.0.1:* vscode-webview:";

/// Further headers of every response.
const SECURITY_HEADERS: [(HeaderName, &str); 3] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Host names of this server, and its policy on frames.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    names: Arc<Vec<String>>,
    policy: HeaderValue,
}

impl Access {
    /// Access to a server on `port`, whose page notebooks of this machine can embed if `embeddable`.
    pub(crate) fn of_port(port: u16, embeddable: bool) -> Self {
        let names = ["127.0.0.1", "localhost", "[::1]"].iter().map(|host| format!("{host}:{port}")).collect();
        let ancestors = if embeddable { FRAMES_OF_NOTEBOOKS } else { NO_FRAMES };
        let policy = HeaderValue::try_from(format!("{SOURCES}; {ancestors}")).expect("the policy is plain text");
        Self { names: Arc::new(names), policy }
    }

    fn allow(&self, headers: &HeaderMap) -> bool {
        let known = |host: &str| self.names.iter().any(|name| name.eq_ignore_ascii_case(host));
        let one = |name: HeaderName| {
            let mut values = headers.get_all(name).iter();
            let first = values.next().map(|value| value.to_str().unwrap_or(""));
            (first, values.next().is_some())
        };
        let host = matches!(one(header::HOST), (Some(host), false) if known(host));
        let origin = match one(header::ORIGIN) {
            (None, _) => true,
            (Some(origin), false) => origin.strip_prefix("http://").is_some_and(known),
            (Some(_), true) => false,
        };
        host && origin
    }
}

/// Passes a request on or rejects it.
pub(crate) async fn guard(State(access): State<Access>, request: Request, next: Next) -> Response {
    let mut response = if access.allow(request.headers()) {
        next.run(request).await
    } else {
        (StatusCode::FORBIDDEN, "forbidden: only requests from the dermis page are accepted").into_response()
    };
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, access.policy);
    for (name, value) in SECURITY_HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
