//! Access control. Any page in any tab of the same browser can send requests to this machine: only
//! requests meant for this server get a reply, and none changes anything.

use super::reply::Reply;
use hyper::header::HOST;
use hyper::{Method, Request, StatusCode};

/// The reason to refuse a request. A foreign host name that resolves to 127.0.0.1 is refused: its
/// pages would have the same origin as this server (DNS rebinding).
pub(super) fn refusal(request: &Request<()>, port: u16) -> Option<Reply> {
    let mut hosts = request.headers().get_all(HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().unwrap_or_default(),
        // The header is missing, or occurs twice.
        _ => "",
    };
    // `GET http://other/ HTTP/1.1` contains a host of its own.
    let contradicts = request.uri().authority().is_some_and(|authority| authority.as_str() != host);
    let is_ours = ["127.0.0.1", "localhost", "[::1]"].iter().any(|name| {
        // Browsers leave out HTTP's default port.
        let plain = port == 80 && host.eq_ignore_ascii_case(name);
        plain || host.eq_ignore_ascii_case(&format!("{name}:{port}"))
    });
    if contradicts || !is_ours {
        let text = format!("this server's names are 127.0.0.1:{port} and localhost:{port}");
        return Some(Reply::text(StatusCode::MISDIRECTED_REQUEST, &text));
    }
    // A header about the requesting page, which browsers set and pages cannot change.
    if request.headers().get("sec-fetch-site").is_some_and(|site| site == "cross-site") {
        let text =
            "the request comes from another site's page: type the address, or follow a link here";
        return Some(Reply::text(StatusCode::FORBIDDEN, text));
    }
    let reads = [Method::GET, Method::HEAD].contains(request.method());
    (!reads).then(|| Reply::text(StatusCode::METHOD_NOT_ALLOWED, "expected GET or HEAD"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(method: &str, uri: &str, hosts: &[&str], port: u16) -> Option<u16> {
        let mut request = Request::builder().method(method).uri(uri);
        for host in hosts {
            request = request.header(HOST, *host);
        }
        refusal(&request.body(()).unwrap(), port).map(|reply| reply.status.as_u16())
    }

    #[test]
    fn only_names_of_this_machine_are_answered() {
        for host in ["127.0.0.1:7333", "localhost:7333", "LocalHost:7333", "[::1]:7333"] {
            assert_eq!(status("GET", "/", &[host], 7333), None, "{host}");
        }
        let others = [
            "evil.example:7333",
            "127.0.0.1",
            "localhost",
            "127.0.0.1:7334",
            "127.0.0.1:7333.evil.example",
            "localhost.evil.example:7333",
            "0.0.0.0:7333",
            "",
        ];
        for host in others {
            assert_eq!(status("GET", "/", &[host], 7333), Some(421), "{host}");
        }
        assert_eq!(status("GET", "/", &[], 7333), Some(421));
        let twice = ["127.0.0.1:7333", "evil.example"];
        assert_eq!(status("GET", "/", &twice, 7333), Some(421));
        let hosts = ["127.0.0.1:7333"];
        assert_eq!(status("GET", "http://evil.example/", &hosts, 7333), Some(421));
        assert_eq!(status("GET", "http://127.0.0.1:7333/", &hosts, 7333), None);
        assert_eq!(status("GET", "/", &["localhost"], 80), None);
    }

    #[test]
    fn pages_of_other_sites_are_not_answered() {
        for (site, refused) in
            [("cross-site", Some(403)), ("same-origin", None), ("same-site", None), ("none", None)]
        {
            let request = Request::get("/").header(HOST, "localhost:7333");
            let request = request.header("Sec-Fetch-Site", site).body(()).unwrap();
            let status = refusal(&request, 7333).map(|reply| reply.status.as_u16());
            assert_eq!(status, refused, "{site}");
        }
    }

    #[test]
    fn nothing_but_reading_is_answered() {
        let hosts = ["localhost:7333"];
        assert_eq!(status("HEAD", "/", &hosts, 7333), None);
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"] {
            assert_eq!(status(method, "/", &hosts, 7333), Some(405), "{method}");
        }
    }
}
