//! The part of HTTP/1.1 that a web page on the same machine needs: one request and one response for
//! each connection. The crate `httparse` checks the syntax. All sizes and times have limits.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use httparse::Status;

use crate::output::with_format_version;

/// Maximum size of a request line with its headers, in bytes. [`BODY_BYTES_MAX`] is the limit for a
/// body.
const HEAD_BYTES_MAX: usize = 8 << 10;
const BODY_BYTES_MAX: usize = 4 << 10;

/// Maximum number of headers in a request.
const HEADERS_MAX: usize = 64;

/// Maximum time until a whole request has arrived.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum time until a client has read a response, or a part of a stream. It is longer if that has
/// many bytes: a client may read as slowly as [`READ_BYTES_PER_SECOND_MIN`].
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
const READ_BYTES_PER_SECOND_MIN: u32 = 64 << 10;

/// Maximum number of bytes of a request that are read and ignored after the response was written.
/// More data of the client is not read.
const IGNORED_REQUEST_BYTES_MAX: usize = 1 << 20;
/// Maximum time for which data of the client is read and ignored after the response was written.
const IGNORE_TIME_MAX: Duration = Duration::from_secs(1);

/// The headers that every response contains.
///
/// The Content-Security-Policy lets the page load only files of this server and connect only to
/// this server, and lets no script turn text into HTML.
const COMMON_HEADERS: &str = "Connection: close\r\n\
    Cache-Control: no-store\r\n\
    Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; \
    connect-src 'self'; img-src 'self' blob:; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'\r\n\
    Cross-Origin-Opener-Policy: same-origin\r\n\
    Cross-Origin-Resource-Policy: same-origin\r\n\
    Referrer-Policy: no-referrer\r\n\
    X-Content-Type-Options: nosniff\r\n\
    X-Frame-Options: DENY\r\n";

/// An HTTP request that has been read: the request line, the headers and the body.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: String,
    /// The path of the requested URL, without the query.
    pub(super) path: String,
    query: Vec<(String, String)>,
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

/// An HTTP response: a status, headers and a body.
#[derive(Debug)]
pub(super) struct Response {
    status: u16,
    content_type: &'static str,
    /// The headers of this response, in addition to [`COMMON_HEADERS`]. Each ends with `\r\n`.
    headers: String,
    body: Cow<'static, [u8]>,
}

impl Request {
    /// Reads a request from the connection. Blocks for [`READ_TIMEOUT`] at most.
    ///
    /// # Errors
    ///
    /// The response to send if the request is invalid. `None` if the connection is closed or idle,
    /// so that no response must be sent.
    pub(super) fn read(connection: &mut TcpStream) -> Result<Self, Option<Response>> {
        let due = Instant::now() + READ_TIMEOUT;
        let mut bytes = Vec::new();
        let (mut request, head) = loop {
            receive_bytes(connection, &mut bytes, due)?;
            if let Some(found) = parse_head(&bytes)? {
                break found;
            }
            if bytes.len() >= HEAD_BYTES_MAX {
                let text = format!("the headers are longer than {HEAD_BYTES_MAX} bytes");
                return Err(Some(Response::error(431, &text)));
            }
        };
        let length = request.body_bytes()?;
        while bytes.len() < head + length {
            receive_bytes(connection, &mut bytes, due)?;
        }
        request.body = bytes[head..head + length].to_vec();
        Ok(request)
    }

    /// Returns the value of the header `name`, which must be in lower case; `None` if the request
    /// does not have that header.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the values of all parameters with the name `name` in the query of the URL.
    pub(super) fn parameters<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let found = self.query.iter().filter(move |(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the length of the request's body in bytes, which the header `Content-Length` states.
    /// Without that header, the length is 0. Returns the error response if the length is invalid or
    /// too large.
    fn body_bytes(&self) -> Result<usize, Response> {
        if self.header("transfer-encoding").is_some() {
            let text = "bodies in chunks are not supported; send a Content-Length";
            return Err(Response::error(411, text));
        }
        let length = self.header("content-length").unwrap_or("0");
        let is_number = length.bytes().all(|byte| byte.is_ascii_digit());
        match length.parse::<usize>() {
            Ok(length) if is_number && length <= BODY_BYTES_MAX => Ok(length),
            Ok(_) if is_number => Err(Response::error(413, "the body is too long")),
            _ => Err(Response::error(400, "the Content-Length is not a number")),
        }
    }
}

/// Appends the next bytes that arrive on the connection to `bytes`. Fails if no bytes arrive before
/// the time `due`.
fn receive_bytes(
    connection: &mut TcpStream,
    bytes: &mut Vec<u8>,
    due: Instant,
) -> Result<(), Option<Response>> {
    let left = due.saturating_duration_since(Instant::now());
    let is_set = connection.set_read_timeout(Some(time_until(due)));
    let mut buffer = [0; 4096];
    match is_set.and_then(|()| connection.read(&mut buffer)) {
        Ok(0) => Err(None),
        Ok(_) if left.is_zero() => Err(Some(Response::error(408, "the request is too slow"))),
        Ok(count) => {
            bytes.extend_from_slice(&buffer[..count]);
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
        Err(error) if is_timeout(&error) => {
            // A browser opens connections in advance: without a request, there is no response.
            let response = Response::error(408, "the request is too slow");
            Err((!bytes.is_empty()).then_some(response))
        }
        Err(_) => Err(None),
    }
}

/// Returns true if `error` means that a read or write has timed out or was interrupted by a signal.
pub(super) fn is_timeout(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

/// Parses the request line and the headers. Returns the request without its body, and the number of
/// bytes parsed; `None` if the headers are not complete yet.
pub(super) fn parse_head(bytes: &[u8]) -> Result<Option<(Request, usize)>, Response> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut headers);
    let head = match parsed.parse(bytes) {
        Ok(Status::Complete(head)) => head,
        Ok(Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => {
            let text = format!("there are more than {HEADERS_MAX} headers");
            return Err(Response::error(431, &text));
        }
        Err(error) => {
            let text = format!("the request is not HTTP/1.1: {error}");
            return Err(Response::error(400, &text));
        }
    };
    let mut known: Vec<(String, String)> = Vec::new();
    for header in parsed.headers.iter() {
        let name = header.name.to_ascii_lowercase();
        // WHY: two servers, or a server and a proxy, could take different ones.
        if known.iter().any(|(other, _)| *other == name) {
            let text = format!("the header '{name}' comes twice");
            return Err(Response::error(400, &text));
        }
        let value = str::from_utf8(header.value);
        let value = value.map_err(|_| Response::error(400, "a header is not UTF-8"))?;
        known.push((name, value.to_owned()));
    }
    let target = parsed.path.unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    if !path.starts_with('/') {
        return Err(Response::error(400, "the path does not begin with '/'"));
    }
    let query = parse_query(query).ok_or_else(|| {
        let text = "the query is not made of name=value, in UTF-8 with %XX";
        Response::error(400, text)
    })?;
    let request = Request {
        method: parsed.method.unwrap_or_default().to_owned(),
        path: path.to_owned(),
        query,
        headers: known,
        body: Vec::new(),
    };
    Ok(Some((request, head)))
}

fn parse_query(query: &str) -> Option<Vec<(String, String)>> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| {
        let (name, value) = pair.split_once('=')?;
        Some((percent_decoded(name)?, percent_decoded(value)?))
    });
    pairs.collect()
}

/// Replaces each `%XX` in `text` by the byte that it encodes. Returns `None` if an escape is
/// invalid or the result is not UTF-8.
fn percent_decoded(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let digits = part.get(..2)?;
        // WHY: the parser of numbers also takes a sign.
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok()
}

impl Response {
    pub(super) fn new(content_type: &'static str, body: impl Into<Cow<'static, [u8]>>) -> Self {
        Self {
            status: 200,
            content_type,
            headers: String::new(),
            body: body.into(),
        }
    }

    /// Returns a response without a body.
    pub(super) fn empty() -> Self {
        let mut response = Self::new("application/json", Vec::new());
        response.status = 204;
        response
    }

    /// Returns a response with the status code `status`. Its body is a JSON object that contains
    /// `text`, the text of an error.
    pub(super) fn error(status: u16, text: &str) -> Self {
        let body = with_format_version(serde_json::json!({ "error": text }));
        // A text and a number are always JSON.
        let mut response = Self::new("application/json", to_json(body));
        response.status = status;
        response
    }

    /// Adds a header with this name and value to the response, and returns the response.
    pub(super) fn with_header(mut self, name: &str, value: impl Display) -> Self {
        self.headers += &format!("{name}: {value}\r\n");
        self
    }

    /// Writes the response to the connection, and closes the connection.
    pub(super) fn write(&self, connection: &mut TcpStream) -> io::Result<()> {
        let length = format!("Content-Length: {}\r\n", self.body.len());
        let headers = self.headers.clone() + &length;
        let mut bytes = response_head(self.status, self.content_type, &headers);
        bytes.extend_from_slice(&self.body);
        write_bytes(connection, &bytes)?;
        connection.shutdown(Shutdown::Write)?;
        // WHY: closing with unread input resets the connection, and the response may be lost.
        let due = Instant::now() + IGNORE_TIME_MAX;
        let mut ignored = [0; 4096];
        let mut left = IGNORED_REQUEST_BYTES_MAX;
        while left > 0 && Instant::now() < due {
            connection.set_read_timeout(Some(time_until(due)))?;
            match connection.read(&mut ignored)? {
                0 => break,
                count => left = left.saturating_sub(count),
            }
        }
        Ok(())
    }
}

/// Writes the status line and the headers of a response that consists of server-sent events. The
/// response states no length: its body ends when the connection is closed.
pub(super) fn write_event_stream_head(connection: &mut TcpStream) -> io::Result<()> {
    write_bytes(connection, &response_head(200, "text/event-stream", ""))
}

/// Writes `bytes` to the connection. Fails if the client does not read them in time, see
/// [`WRITE_TIMEOUT`].
pub(super) fn write_bytes(connection: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    let seconds = bytes.len() as f64 / f64::from(READ_BYTES_PER_SECOND_MIN);
    let time = WRITE_TIMEOUT + Duration::from_secs_f64(seconds);
    write_until(connection, bytes, Instant::now() + time)
}

/// Writes `bytes` to the connection. Fails if the client has not read them by the time `due`.
fn write_until(connection: &mut TcpStream, mut bytes: &[u8], due: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        if Instant::now() >= due {
            return Err(io::ErrorKind::TimedOut.into());
        }
        connection.set_write_timeout(Some(time_until(due)))?;
        match connection.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Returns the time from now until `due`, for the time limit of a read or a write. WHY never 0:
/// that would be no limit at all.
fn time_until(due: Instant) -> Duration {
    let left = due.saturating_duration_since(Instant::now());
    left.max(Duration::from_millis(1))
}

/// Returns `body` as JSON text.
pub(super) fn to_json(body: impl serde::Serialize) -> Vec<u8> {
    // WHY no error: it would come from a key that is no string, and these are names of fields.
    serde_json::to_vec(&body).unwrap_or_default()
}

fn response_head(status: u16, content_type: &str, headers: &str) -> Vec<u8> {
    let reason = reason_phrase(status);
    let kind = format!("Content-Type: {content_type}\r\n");
    format!("HTTP/1.1 {status} {reason}\r\n{kind}{headers}{COMMON_HEADERS}\r\n").into_bytes()
}

const fn reason_phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        411 => "Length Required",
        413 => "Content Too Large",
        421 => "Misdirected Request",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Error",
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};
    use std::thread;

    use super::*;

    #[test]
    fn requests_are_parsed_or_refused() {
        let parsed = |text: &str| parse_head(text.as_bytes());
        let text = "GET /a?b=c%20d&b=%C3%A4 HTTP/1.1\r\nHost: x:1\r\n\r\n";
        let (request, head) = parsed(&format!("{text}body")).unwrap().unwrap();
        assert_eq!((request.path.as_str(), head), ("/a", text.len()));
        assert_eq!(request.parameters("b").collect::<Vec<_>>(), ["c d", "ä"]);
        assert_eq!(request.header("host"), Some("x:1"));
        assert!(parsed("GET / HTTP/1.1\r\nHost: x").unwrap().is_none());
        let many = "a: b\r\n".repeat(HEADERS_MAX + 1);
        let table = [
            ("GET http://a/ HTTP/1.1\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nHOST: a\r\n\r\n", 400),
            ("GET /?a HTTP/1.1\r\n\r\n", 400),
            ("GET /?a=%4 HTTP/1.1\r\n\r\n", 400),
            ("GET /?a=%+1 HTTP/1.1\r\n\r\n", 400),
            ("GET /?a=%ff HTTP/1.1\r\n\r\n", 400),
            ("nonsense\r\n\r\n", 400),
            (&format!("GET / HTTP/1.1\r\n{many}\r\n"), 431),
        ];
        for (text, status) in table {
            assert_eq!(parsed(text).unwrap_err().status, status, "{text}");
        }
    }

    #[test]
    fn a_client_that_reads_slowly_does_not_block_for_ever() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut connection, _) = listener.accept().unwrap();
        let reader = thread::spawn(move || {
            // A part is read again and again, at most 100 kB each second.
            while client.read(&mut [0; 1000]).is_ok_and(|count| count > 0) {
                thread::sleep(Duration::from_millis(10));
            }
        });
        let bytes = vec![0; 64 << 20];
        let due = Instant::now() + Duration::from_millis(200);
        write_until(&mut connection, &bytes, due).unwrap_err();
        // WHY: otherwise the reader reads all that waits in the connection.
        connection.shutdown(Shutdown::Both).unwrap();
        drop((connection, reader));
    }

    /// For any bytes, parsing returns a request, `None` for an incomplete request, or an error.
    #[test]
    fn damaged_requests_do_no_harm() {
        let good = "GET /api/stream?plot=imu:a%5B0%5D HTTP/1.1\r\nHost: 127.0.0.1:8844\r\n\
             Authorization: Bearer 0123456789abcdef\r\nContent-Length: 4\r\n\r\n";
        let mut random = fastrand::Rng::with_seed(7);
        let mut outcomes = [0; 3];
        for _ in 0..20_000 {
            let mut bytes = good.as_bytes().to_vec();
            for _ in 0..random.usize(0..4) {
                let index = random.usize(0..bytes.len());
                match random.u8(0..3) {
                    0 => bytes[index] = random.u8(..),
                    1 => drop(bytes.remove(index)),
                    _ => bytes.insert(index, *random.choice(b"% \r\n:?&=\0\xff/").unwrap()),
                }
            }
            let outcome = match parse_head(&bytes) {
                Ok(Some((request, head))) => {
                    assert!(head <= bytes.len() && request.path.starts_with('/'));
                    let _ = request.body_bytes();
                    0
                }
                Ok(None) => 1,
                Err(response) => {
                    assert!((400..=499).contains(&response.status));
                    2
                }
            };
            outcomes[outcome] += 1;
        }
        assert!(outcomes.iter().all(|count| *count > 0), "{outcomes:?}");
    }

    #[test]
    fn the_length_of_a_body_is_a_number() {
        let bytes = |header: &str| {
            let text = format!("POST / HTTP/1.1\r\n{header}\r\n\r\n");
            let (request, _) = parse_head(text.as_bytes()).unwrap().unwrap();
            request.body_bytes().map_err(|response| response.status)
        };
        assert_eq!(bytes("Content-Length: 7"), Ok(7));
        assert_eq!(bytes("A: b"), Ok(0));
        assert_eq!(bytes("Content-Length: +7"), Err(400));
        assert_eq!(bytes("Content-Length: 5000"), Err(413));
        assert_eq!(bytes("Content-Length: 99999999999999999999"), Err(400));
        assert_eq!(bytes("Transfer-Encoding: chunked"), Err(411));
    }
}
