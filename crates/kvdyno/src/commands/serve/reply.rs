//! An answer, and the headers that keep a browser from making more of it than it is.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

#[derive(Clone, Debug)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    kind: &'static str,
    /// All who ask for the same page are sent the same bytes.
    body: Bytes,
}

impl Reply {
    pub(super) fn ok(kind: &'static str, body: Vec<u8>) -> Self {
        Self { status: StatusCode::OK, kind, body: body.into() }
    }

    pub(super) fn bytes(&self) -> usize {
        self.body.len()
    }

    /// Words: never markup, whatever is in them.
    pub(super) fn text(status: StatusCode, text: &str) -> Self {
        let body = format!("{text}\n").into();
        Self { status, kind: "text/plain; charset=utf-8", body }
    }

    pub(super) fn into_response(self, policy: &HeaderValue) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(self.body));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_SECURITY_POLICY, policy.clone());
        let others: [(HeaderName, &'static str); 6] = [
            (header::CONTENT_TYPE, self.kind),
            // What a run at work has to show is old in a second.
            (header::CACHE_CONTROL, "no-store"),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::REFERRER_POLICY, "no-referrer"),
            (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
            (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        ];
        for (name, value) in others {
            headers.insert(name, HeaderValue::from_static(value));
        }
        if self.status == StatusCode::METHOD_NOT_ALLOWED {
            headers.insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        response
    }
}

/// The page as it is served, and what it may do there. The policy that stands in the page lets
/// nothing run but its own program, and no network; from here it may also ask this server. It goes
/// into a header, which holds for every answer, and out of the page, where it would forbid that.
pub(super) fn served(template: &str) -> (String, HeaderValue) {
    const OPENING: &str = "<meta http-equiv=\"Content-Security-Policy\" content=\"";
    const CLOSING: &str = "\" />";
    let found = template.split_once(OPENING).and_then(|(before, rest)| {
        let (policy, after) = rest.split_once(CLOSING)?;
        let policy = format!("{policy}; connect-src 'self'; frame-ancestors 'none'");
        Some((format!("{before}{after}"), HeaderValue::from_str(&policy).ok()?))
    });
    found.unwrap_or((template.to_owned(), HeaderValue::from_static("default-src 'none'")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_of_the_page_becomes_a_header_and_the_server_may_be_asked() {
        let template = "<head><meta http-equiv=\"Content-Security-Policy\" \
                        content=\"default-src 'none'; script-src 'sha256-x'\" /></head>";
        let (page, policy) = served(template);
        assert_eq!(page, "<head></head>");
        let wanted = "default-src 'none'; script-src 'sha256-x'; connect-src 'self'; \
                      frame-ancestors 'none'";
        assert_eq!(policy, wanted);
        // A page without one runs nothing at all.
        assert_eq!(served("<html>"), ("<html>".to_owned(), "default-src 'none'".parse().unwrap()));
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
