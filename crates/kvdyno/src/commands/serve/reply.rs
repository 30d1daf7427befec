//! A reply, with the headers that restrict what a browser does with it.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

#[derive(Clone, Debug)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    kind: &'static str,
    /// All requests for the same page share its bytes.
    body: Bytes,
    /// The path that the browser should request instead; none: no redirect.
    location: Option<HeaderValue>,
}

impl Reply {
    pub(super) fn ok(kind: &'static str, body: Vec<u8>) -> Self {
        Self { status: StatusCode::OK, kind, body: body.into(), location: None }
    }

    /// Sends the browser to another path.
    pub(super) fn redirect(path: &str) -> Self {
        let location = HeaderValue::from_str(path).ok();
        Self { location, ..Self::text(StatusCode::FOUND, path) }
    }

    pub(super) fn bytes(&self) -> usize {
        self.body.len()
    }

    /// Plain text: never interpreted as markup.
    pub(super) fn text(status: StatusCode, text: &str) -> Self {
        let body = format!("{text}\n").into();
        Self { status, kind: "text/plain; charset=utf-8", body, location: None }
    }

    pub(super) fn into_response(self, policy: &HeaderValue) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(self.body));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_SECURITY_POLICY, policy.clone());
        let others: [(HeaderName, &'static str); 6] = [
            (header::CONTENT_TYPE, self.kind),
            // The data of a live run is outdated after a second.
            (header::CACHE_CONTROL, "no-store"),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::REFERRER_POLICY, "no-referrer"),
            (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
            (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        ];
        for (name, value) in others {
            headers.insert(name, HeaderValue::from_static(value));
        }
        if let Some(location) = self.location {
            headers.insert(header::LOCATION, location);
        }
        if self.status == StatusCode::METHOD_NOT_ALLOWED {
            headers.insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        response
    }
}

/// The served page, and its policy. The policy inside of the page permits only its own program, and
/// no network; a served page may also send requests to this server. The policy moves into a header,
/// which applies to every reply, and is removed from the page, where it would forbid that.
pub(super) fn split_policy(template: &str) -> (String, HeaderValue) {
    const OPENING: &str = "<meta http-equiv=\"Content-Security-Policy\" content=\"";
    const CLOSING: &str = "\" />";
    let parts = template.split_once(OPENING).and_then(|(before, rest)| {
        let (policy, after) = rest.split_once(CLOSING)?;
        let policy = format!("{policy}; connect-src 'self'; frame-ancestors 'none'");
        Some((format!("{before}{after}"), HeaderValue::from_str(&policy).ok()?))
    });
    parts.unwrap_or((template.to_owned(), HeaderValue::from_static("default-src 'none'")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_of_the_page_becomes_a_header_and_the_server_may_be_asked() {
        let template = "<head><meta http-equiv=\"Content-Security-Policy\" \
                        content=\"default-src 'none'; script-src 'sha256-x'\" /></head>";
        let (page, policy) = split_policy(template);
        assert_eq!(page, "<head></head>");
        let expected = "default-src 'none'; script-src 'sha256-x'; connect-src 'self'; \
                      frame-ancestors 'none'";
        assert_eq!(policy, expected);
        // A page without a policy runs no program.
        assert_eq!(
            split_policy("<html>"),
            ("<html>".to_owned(), "default-src 'none'".parse().unwrap())
        );
    }

    #[test]
    fn every_answer_is_shut_in() {
        let policy = HeaderValue::from_static("default-src 'none'");
        let reply = Reply::text(StatusCode::METHOD_NOT_ALLOWED, "no").into_response(&policy);
        let header = |name: &str| reply.headers().get(name).map(|value| value.to_str().unwrap());
        assert_eq!(header("content-security-policy"), Some("default-src 'none'"));
        assert_eq!(header("x-content-type-options"), Some("nosniff"));
        assert_eq!(header("cross-origin-resource-policy"), Some("same-origin"));
        assert_eq!(header("cache-control"), Some("no-store"));
        assert_eq!(header("allow"), Some("GET, HEAD"));
        assert_eq!(header("access-control-allow-origin"), None);
    }
}
