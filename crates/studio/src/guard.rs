//! Who is let in: a page of ours on this machine, and whoever knows the token.
//!
//! A page of somebody else's that the same browser shows can send requests here, and a name of somebody else's can be made to mean
//! this machine. The first is told by `Origin` and `Sec-Fetch-Site`, the second by `Host`, and without the token nothing is told.

use std::net::{IpAddr, SocketAddr};

use crate::http::{Request, Response};

/// Bodies that are longer are refused; a run that is sent may be long.
const LONGEST_BODY: usize = 8 << 20;
const LONGEST_RUN: usize = 64 << 20;

/// What is said where the token is missing or wrong.
const CLOSED: &str = "open the address that `shoal studio` printed: it has the token in it";

/// Whom a server lets in.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    token: String,
    port: u16,
    address: IpAddr,
    /// The page is shown inside of an editor's window, which is another site to the browser.
    embedded: bool,
}

/// A refusal: the status, a code and a sentence.
pub(crate) type HttpRefusal = (u16, &'static str, String);

impl Guard {
    /// With a token of 128 bits of the system's randomness.
    pub(crate) fn new(port: u16, address: IpAddr, embedded: bool) -> std::io::Result<Guard> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|error| std::io::Error::other(error.to_string()))?;
        let token = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Guard { token, port, address, embedded })
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    fn cookie(&self) -> String {
        format!("shoal-{}", self.port)
    }

    /// Whether a name is one that this server has. A server for others has numbers, too, and no names: a name can be made to mean
    /// any machine, a number cannot.
    fn is_own_name(&self, name: &str) -> bool {
        let own = ["127.0.0.1", "localhost", "[::1]"].map(|own| format!("{own}:{}", self.port));
        let reached = |at: SocketAddr| {
            at.port() == self.port && (at.ip() == self.address || self.address.is_unspecified())
        };
        own.iter().any(|own| own.eq_ignore_ascii_case(name)) || name.parse().is_ok_and(reached)
    }

    /// Whether a request is to be looked at; everything but its body is known.
    pub(crate) fn admit(&self, request: &Request) -> Result<(), HttpRefusal> {
        if !request.head("host").is_some_and(|host| self.is_own_name(host)) {
            return Err((421, "host", "this server has no such name".into()));
        }
        let is_own = |origin: &str| origin.strip_prefix("http://").is_some_and(|name| self.is_own_name(name));
        let origin = request.head("origin");
        if origin.is_some_and(|origin| !is_own(origin)) {
            return Err((403, "origin", "that page is not one of this server".into()));
        }
        let most = if request.path == "/api/v1/traces" { LONGEST_RUN } else { LONGEST_BODY };
        if request.length().is_none_or(|length| length.max(request.body.len()) > most) {
            return Err((413, "too-large", format!("at most {} MiB are taken", most >> 20)));
        }
        match request.path.starts_with("/api/") {
            true => self.admit_call(request, origin.is_some()),
            false => Ok(()),
        }
    }

    fn admit_call(&self, request: &Request, from_own_page: bool) -> Result<(), HttpRefusal> {
        let site = request.head("sec-fetch-site");
        if site.is_some_and(|site| site != "same-origin") {
            return Err((403, "origin", "that page is not one of this server".into()));
        }
        let bearer = request.head("authorization").and_then(|it| it.strip_prefix("Bearer "));
        let known = match bearer {
            Some(token) => self.is_token(token),
            None => self.cookies(request).any(|token| self.is_token(token)),
        };
        if !known {
            return Err((401, "token", CLOSED.into()));
        }
        if request.method == "GET" {
            return Ok(());
        }
        // A cookie comes along by itself: who changes something shows that it is our page.
        if bearer.is_none() && !from_own_page && site.is_none() {
            return Err((403, "origin", "it is not known which page this comes from".into()));
        }
        let kind = request.head("content-type").unwrap_or_default();
        if request.length() != Some(0)
            && kind.split(';').next().unwrap_or_default().trim() != "application/json"
        {
            return Err((415, "content-type", "only application/json is taken".into()));
        }
        Ok(())
    }

    fn cookies<'r>(&self, request: &'r Request) -> impl Iterator<Item = &'r str> + use<'r> {
        let name = self.cookie();
        let pairs = request.head("cookie").unwrap_or_default().split(';');
        pairs.filter_map(move |pair| {
            pair.trim().split_once('=').filter(|(known, _)| *known == name).map(|it| it.1)
        })
    }

    /// Compares in a time that does not tell how much is right.
    fn is_token(&self, given: &str) -> bool {
        let differs = self.token.bytes().zip(given.bytes()).fold(0, |sum, (own, other)| sum | (own ^ other));
        given.len() == self.token.len() && differs == 0
    }

    /// Answers who comes with the token in the address: it is put where the address does not show it.
    pub(crate) fn greet(&self, token: &str) -> Response {
        if !self.is_token(token) {
            return Response::new(401, "text/plain; charset=utf-8", CLOSED);
        }
        // Inside of a window of another site a cookie is sent only if it says so; `Origin` still tells whose page asks.
        let site = if self.embedded { "SameSite=None; Secure; Partitioned" } else { "SameSite=Strict" };
        let cookie = format!("{}={}; HttpOnly; {site}; Path=/", self.cookie(), self.token);
        Response::new(303, "text/plain; charset=utf-8", "").with("Location", "/").with("Set-Cookie", cookie)
    }

    /// What every answer says: nothing is fetched from elsewhere, run from elsewhere or shown elsewhere.
    pub(crate) fn sealed(&self, response: Response) -> Response {
        let shown_in = if self.embedded { "vscode-webview:" } else { "'none'" };
        response
            .with(
                "Content-Security-Policy",
                format!(
                    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                     base-uri 'none'; form-action 'none'; frame-ancestors {shown_in}"
                ),
            )
            .with("X-Content-Type-Options", "nosniff")
            .with("Referrer-Policy", "no-referrer")
            .with("Cross-Origin-Opener-Policy", "same-origin")
            .with("Cross-Origin-Resource-Policy", "same-origin")
            .with("Cache-Control", "no-store")
    }
}
