//! Decides which HTTP requests are answered. All other requests get an error before the server
//! reads any topic.

use super::http::{Request, Response};

/// The default port of HTTP.
const HTTP_PORT: u16 = 80;

/// The rules that decide which requests are answered. A request for data must contain the token. A
/// browser may send requests only for pages of this server.
#[derive(Debug)]
pub(super) struct AccessRules {
    /// The values that the header `Host` of a request may have: two names of this server, each with
    /// its port. For the default port of HTTP, also the names alone.
    hosts: Vec<String>,
    token: String,
    allows_control: bool,
}

impl AccessRules {
    pub(super) fn new(port: u16, token: String, allows_control: bool) -> Self {
        let names = ["127.0.0.1", "localhost"];
        let mut hosts = names.map(|name| format!("{name}:{port}")).to_vec();
        // WHY: browsers leave the default port out, in `Host` and in `Origin`.
        if port == HTTP_PORT {
            hosts.extend(names.map(str::to_owned));
        }
        Self {
            hosts,
            token,
            allows_control,
        }
    }

    /// Checks that, if a browser sent the request, a page of this server caused it. Returns the
    /// error response if another page did.
    ///
    /// WHY it checks the header `Host`: another website can make its host name resolve to
    /// 127.0.0.1, and then the request contains that name. WHY it checks the header `Origin`: a
    /// page of another website can send requests to this server, but the browser adds the origin of
    /// that page.
    pub(super) fn check_origin(&self, request: &Request) -> Result<(), Response> {
        let host = request.header("host").unwrap_or_default();
        if !self.hosts.iter().any(|known| *known == host) {
            let wanted = self.hosts.join(" or ");
            let text = format!("the host is '{host}'; this server is {wanted}");
            return Err(Response::error(421, &text));
        }
        let origin = request.header("origin");
        if origin.is_some_and(|origin| origin.strip_prefix("http://") != Some(host)) {
            let text = "the request comes from a page of another server";
            return Err(Response::error(403, text));
        }
        Ok(())
    }

    /// Checks that the request contains the token. Returns the error response if it does not.
    pub(super) fn check_token(&self, request: &Request) -> Result<(), Response> {
        let authorization = request.header("authorization").unwrap_or_default();
        let token = authorization.strip_prefix("Bearer ").unwrap_or_default();
        if is_equal_in_constant_time(token.as_bytes(), self.token.as_bytes()) {
            return Ok(());
        }
        let text = "the token is missing or wrong; open the address that `horus monitor` printed";
        Err(Response::error(401, text).with_header("WWW-Authenticate", "Bearer"))
    }

    /// Checks that the monitor was started with commands enabled. Otherwise returns the response
    /// that refuses the request.
    pub(super) fn check_control_is_allowed(&self) -> Result<(), Response> {
        if self.allows_control {
            return Ok(());
        }
        let text = "this page changes nothing; start `horus monitor --allow-control` for that";
        Err(Response::error(403, text))
    }
}

/// Returns true if `a` and `b` are equal. The duration does not depend on the number of equal
/// bytes, so an attacker cannot use it to guess the token.
fn is_equal_in_constant_time(a: &[u8], b: &[u8]) -> bool {
    let differences = a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b));
    a.len() == b.len() && std::hint::black_box(differences) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::http::parse_head;

    /// Returns true if a server on `port` answers a request with the header `Host: {host}` and, if
    /// there is an `origin`, the header `Origin: {origin}`.
    fn is_answered(port: u16, host: &str, origin: Option<&str>) -> bool {
        let origin = origin.map(|origin| format!("Origin: {origin}\r\n"));
        let origin = origin.unwrap_or_default();
        let text = format!("GET / HTTP/1.1\r\nHost: {host}\r\n{origin}\r\n");
        let (request, _) = parse_head(text.as_bytes()).unwrap().unwrap();
        let access = AccessRules::new(port, String::new(), false);
        access.check_origin(&request).is_ok()
    }

    #[test]
    fn names_without_a_port_stand_for_the_default_port() {
        for name in ["127.0.0.1", "localhost"] {
            for port in [80, 8080] {
                let host = format!("{name}:{port}");
                let origin = format!("http://{host}");
                assert!(is_answered(port, &host, None));
                assert!(is_answered(port, &host, Some(&origin)));
            }
            let origin = format!("http://{name}");
            assert!(is_answered(80, name, None));
            assert!(is_answered(80, name, Some(&origin)));
            assert!(!is_answered(80, name, Some("http://example.org")));
            assert!(!is_answered(8080, name, None));
        }
        assert!(!is_answered(80, "example.org", None));
        assert!(!is_answered(80, "127.0.0.1", Some("http://localhost")));
    }
}
