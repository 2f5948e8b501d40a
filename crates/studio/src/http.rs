//! As much of HTTP/1.1 as a server on the own machine needs: a request and its answer, then the connection is closed.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, TcpStream},
    time::Duration,
};

use shoal::Cancel;

/// A head that is longer is refused.
const LONGEST_HEAD: usize = 16 << 10;
/// A head with more lines is refused.
const MOST_HEADERS: usize = 64;
/// Who says nothing for so long has gone.
const SILENCE: Duration = Duration::from_secs(20);

/// A request.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// `GET`, `POST`, …
    pub method: String,
    /// The path, without the query, as it was sent.
    pub path: String,
    /// What stands behind the path, by name.
    pub query: Vec<(String, String)>,
    /// The lines of the head, names in small letters.
    pub headers: Vec<(String, String)>,
    /// What comes after the head.
    pub body: Vec<u8>,
    /// Cancelled when who asked does not want the answer any more.
    pub cancel: Cancel,
}

impl Request {
    /// A request for a path, with a query behind it if there is one.
    pub fn new(method: &str, target: &str) -> Request {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let pair = |part: &str| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let decoded = |text: &str| percent_decoded(&text.replace('+', " "));
            Some((decoded(name)?, decoded(value)?))
        };
        let query = query.split('&').filter(|part| !part.is_empty()).filter_map(pair).collect();
        Request { method: method.into(), path: path.into(), query, ..Request::default() }
    }

    /// With a line in its head.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Request {
        self.headers.push((name.to_ascii_lowercase(), value.into()));
        self
    }

    /// The value of a line of the head.
    pub fn head(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// A part of the query.
    pub fn asked(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// How long the body is said to be.
    pub(crate) fn length(&self) -> Option<usize> {
        match self.head("content-length") {
            Some(text) => text.trim().parse().ok(),
            None => Some(0),
        }
    }
}

/// An answer.
#[derive(Debug)]
pub struct Response {
    /// The number that says how it went.
    pub status: u16,
    /// The kind of what it holds.
    pub kind: &'static str,
    /// More lines of the head.
    pub headers: Vec<(&'static str, String)>,
    /// What it holds.
    pub body: Body,
}

/// What an answer holds.
pub enum Body {
    /// All of it.
    Whole(Vec<u8>),
    /// One part after the other, as they come, until there is none.
    Parts(Box<dyn FnMut() -> Option<Vec<u8>> + Send>),
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Body::Whole(bytes) => write!(f, "{}", String::from_utf8_lossy(bytes)),
            Body::Parts(_) => write!(f, "…"),
        }
    }
}

impl Response {
    pub(crate) fn new(status: u16, kind: &'static str, body: impl Into<Vec<u8>>) -> Response {
        Response { status, kind, headers: Vec::new(), body: Body::Whole(body.into()) }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Response {
        self.headers.push((name, value.into()));
        self
    }
}

/// A text whose bytes may be written as `%41`; nothing if it is no text.
pub(crate) fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let [high, low, after @ ..] = rest else { return None };
        let digit = |byte: u8| char::from(byte).to_digit(16);
        bytes.push((digit(*high)? * 16 + digit(*low)?) as u8);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

/// Why a request could not be read; an answer if there is somebody to answer.
pub(crate) enum Unread {
    Gone,
    Refused(u16, &'static str),
}

/// Reads the head of a request, and what of the body came with it.
pub(crate) fn read_head(stream: &mut TcpStream) -> Result<(Request, Vec<u8>), Unread> {
    let _ = stream.set_read_timeout(Some(SILENCE));
    let _ = stream.set_write_timeout(Some(SILENCE));
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let count = stream.read(&mut buffer).map_err(|_| Unread::Gone)?;
        if count == 0 {
            return Err(Unread::Gone);
        }
        bytes.extend_from_slice(&buffer[..count]);
        if let Some(read) = parse(&bytes)? {
            return Ok(read);
        }
        if bytes.len() > LONGEST_HEAD {
            return Err(Unread::Refused(431, "the head of the request is too long"));
        }
    }
}

fn parse(bytes: &[u8]) -> Result<Option<(Request, Vec<u8>)>, Unread> {
    let wrong = Unread::Refused(400, "that is no request");
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let Ok(status) = parsed.parse(bytes) else { return Err(wrong) };
    let httparse::Status::Complete(end) = status else { return Ok(None) };
    let (Some(method), Some(target)) = (parsed.method, parsed.path) else { return Err(wrong) };
    let mut request = Request::new(method, target);
    for header in parsed.headers.iter() {
        let Ok(value) = std::str::from_utf8(header.value) else { return Err(wrong) };
        request = request.header(header.name, value);
    }
    if request.head("transfer-encoding").is_some() || request.length().is_none() {
        return Err(Unread::Refused(411, "the length of the body is needed"));
    }
    Ok(Some((request, bytes[end..].to_vec())))
}

/// Reads the rest of a body whose length is allowed.
pub(crate) fn read_body(
    stream: &mut TcpStream,
    mut begun: Vec<u8>,
    length: usize,
) -> Result<Vec<u8>, Unread> {
    let left = length.saturating_sub(begun.len());
    begun.truncate(length);
    stream.take(left as u64).read_to_end(&mut begun).map_err(|_| Unread::Gone)?;
    if begun.len() == length { Ok(begun) } else { Err(Unread::Gone) }
}

/// Whether who asked has hung up: a page that is closed, or a call that was given up.
pub(crate) fn has_hung_up(stream: &TcpStream) -> bool {
    if stream.set_nonblocking(true).is_err() {
        return true;
    }
    let looked = stream.peek(&mut [0]);
    let restored = stream.set_nonblocking(false);
    match looked {
        Ok(count) => count == 0 || restored.is_err(),
        Err(error) => error.kind() != io::ErrorKind::WouldBlock || restored.is_err(),
    }
}

/// Writes an answer and closes the connection.
pub(crate) fn write(stream: &mut TcpStream, response: Response) -> io::Result<()> {
    let mut head = format!(
        "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nConnection: close\r\n",
        response.status,
        reason(response.status),
        response.kind
    );
    for (name, value) in &response.headers {
        head += &format!("{name}: {value}\r\n");
    }
    match response.body {
        Body::Whole(bytes) => {
            head += &format!("Content-Length: {}\r\n\r\n", bytes.len());
            stream.write_all(head.as_bytes())?;
            stream.write_all(&bytes)?;
        }
        Body::Parts(mut next) => {
            stream.write_all(head.as_bytes())?;
            stream.write_all(b"\r\n")?;
            while let Some(part) = next() {
                stream.write_all(&part)?;
                stream.flush()?;
            }
        }
    }
    stream.flush()?;
    stream.shutdown(Shutdown::Write)
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        202 => "Accepted",
        303 => "See Other",
        304 => "Not Modified",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        411 => "Length Required",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        421 => "Misdirected Request",
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    }
}
