//! An answer, and the headers that keep a browser from making more of it than it is.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use sha2::{Digest, Sha256};

/// An answer.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    kind: &'static str,
    body: Vec<u8>,
}

impl Reply {
    pub(super) fn page(html: String) -> Self {
        Self { status: StatusCode::OK, kind: "text/html; charset=utf-8", body: html.into_bytes() }
    }

    pub(super) fn json(body: Vec<u8>) -> Self {
        Self { status: StatusCode::OK, kind: "application/json", body }
    }

    /// Words: never markup, whatever is in them.
    pub(super) fn text(status: StatusCode, text: &str) -> Self {
        let body = format!("{text}\n").into_bytes();
        Self { status, kind: "text/plain; charset=utf-8", body }
    }

    pub(super) fn failure(text: &str) -> Self {
        Self::text(StatusCode::INTERNAL_SERVER_ERROR, text)
    }

    pub(super) fn into_response(self, policy: &HeaderValue) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(Bytes::from(self.body)));
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

/// What a page may do: run the one program that was built into it, style itself, and ask this
/// server. Styles stand in attributes as well (the figures are SVG), where no checksum reaches
/// them; pictures are those that the page makes itself when a figure is saved.
pub(super) fn policy(template: &str) -> HeaderValue {
    let scripts: Vec<String> = programs(template)
        .map(|code| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(code))))
        .collect();
    let scripts = if scripts.is_empty() { "'none'".to_owned() } else { scripts.join(" ") };
    let text = format!(
        "default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; \
         img-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'"
    );
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("default-src 'none'"))
}

/// The scripts in the page that a browser runs; data is none.
fn programs(template: &str) -> impl Iterator<Item = &str> {
    const OPENING: &str = "<script type=\"module\">";
    let after = template.split(OPENING).skip(1);
    after.filter_map(|rest| rest.split_once("</script>")).map(|(code, _)| code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_may_run_its_own_program_alone() {
        let template = "<script id=\"data\">%KVDYNO_DATA%</script>\
                        <script type=\"module\">alert(1)</script>";
        let policy = policy(template);
        let text = policy.to_str().unwrap();
        // printf 'alert(1)' | openssl dgst -sha256 -binary | base64
        let sum = "script-src 'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='";
        assert!(text.contains(sum), "{text}");
        assert!(text.starts_with("default-src 'none'; "), "{text}");
        assert!(!text.contains("unsafe-eval"));
    }

    #[test]
    fn every_answer_is_shut_in() {
        let reply = Reply::text(StatusCode::METHOD_NOT_ALLOWED, "no").into_response(&policy(""));
        let header = |name: &str| reply.headers().get(name).map(|value| value.to_str().unwrap());
        assert_eq!(header("x-content-type-options"), Some("nosniff"));
        assert_eq!(header("cross-origin-resource-policy"), Some("same-origin"));
        assert_eq!(header("cache-control"), Some("no-store"));
        assert_eq!(header("allow"), Some("GET, HEAD"));
        assert_eq!(header("access-control-allow-origin"), None);
        assert!(header("content-security-policy").unwrap().contains("script-src 'none'"));
    }
}
