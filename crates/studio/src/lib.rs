//! The workbench in the browser: a server on this machine, and the page that it serves.
//!
//! [`open`] takes a folder of models and [`Opened::serve`] answers requests until the process ends. Everything that is asked goes
//! through [`Studio::answer`], which needs no socket. The page is plain HTML, CSS and JavaScript that are part of the program;
//! the browser is given nothing but what is below the folder, and nobody is given anything without the token ([`mod@guard`]).
//!
//! - `http`: requests and answers
//! - `guard`: who is let in
//! - `assets`: the page
//! - `api`: which call is whose
//! - `models`: models that are looked at, files
//! - `jobs`: checks, two at a time
//! - `news`: what happens, told to who listens
//! - `traces`: runs that were found or opened
//! - `walks`: stepping by hand
//! - `desks`: state-graphs as boxes
//! - `graphs`: the graph of all states
//! - `any`: any number of parts
//! - `directing`: how runs are told, written into models
//! - `neighbour`: a server that runs already

mod any;
mod api;
mod assets;
mod desks;
mod directing;
mod graphs;
mod guard;
mod http;
mod jobs;
mod models;
mod neighbour;
mod news;
mod traces;
mod walks;

use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use shoal::Folder;

pub use http::{Body, Request, Response};

use guard::Guard;
use http::Unread;

/// So many connections are answered at once.
const MOST_CONNECTIONS: usize = 64;

/// So often it is looked whether who asked still waits.
const BREATH: Duration = Duration::from_millis(100);

/// So many ports after one that is taken are tried.
const MORE_PORTS: u16 = 20;

/// How a server is opened.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// The port, or the next that is free; 0 for any.
    pub port: u16,
    /// Nothing is written.
    pub read_only: bool,
    /// The address that it listens at: this machine's own, which others do not reach.
    pub address: IpAddr,
    /// Others may reach the address.
    pub allow_remote: bool,
    /// The page may be shown inside of an editor's window.
    pub embedded: bool,
    /// So many threads are for checks together; as many as there are processors if nothing is said.
    pub threads: Option<usize>,
    /// So much memory is for checks together, in megabytes.
    pub memory_mb: Option<u64>,
    /// The address that opens a file in an editor, with `{path}` and `{line}` in it.
    pub editor: Option<String>,
}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        OpenOptions {
            port: 0,
            read_only: false,
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            allow_remote: false,
            embedded: false,
            threads: None,
            memory_mb: None,
            editor: None,
        }
    }
}

/// What a server knows.
#[derive(Debug)]
pub struct Studio {
    pub(crate) folder: Folder,
    pub(crate) read_only: bool,
    pub(crate) options: OpenOptions,
    guard: Guard,
    pub(crate) news: Arc<news::ServerNews>,
    pub(crate) jobs: jobs::Jobs,
    pub(crate) models: models::Models,
    pub(crate) traces: traces::Traces,
    pub(crate) desks: desks::Desks,
    pub(crate) graphs: graphs::StateGraphs,
}

/// A server that has its port.
#[derive(Debug)]
pub struct Opened {
    listener: TcpListener,
    studio: Arc<Studio>,
    port: u16,
}

/// Opens a server for the models below a folder: on this machine only, unless more is allowed.
pub fn open(root: &Path, options: OpenOptions) -> io::Result<Opened> {
    let folder = Folder::new(root)?;
    if !options.address.is_loopback() && !options.allow_remote {
        let message = format!("{} can be reached by others, and that was not allowed", options.address);
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    let listener = listen(options.address, options.port)?;
    let port = listener.local_addr()?.port();
    let studio = Arc::new(Studio::new(folder, port, options)?);
    Ok(Opened { listener, studio, port })
}

/// The address of a server that this user has for the same folder already, with the same rights; see [`Opened::announce`].
pub fn running(root: &Path, read_only: bool) -> Option<String> {
    neighbour::Notice::of(root)?.running(read_only)
}

/// At a port, or at the next one that nobody has.
fn listen(address: IpAddr, port: u16) -> io::Result<TcpListener> {
    let first = TcpListener::bind((address, port));
    let is_taken = |error: &io::Error| error.kind() == io::ErrorKind::AddrInUse;
    if port == 0 || !first.as_ref().is_err_and(is_taken) {
        return first;
    }
    let next = (1..=MORE_PORTS).filter_map(|more| TcpListener::bind((address, port.checked_add(more)?)).ok());
    next.into_iter().next().map_or(first, Ok)
}

impl Opened {
    /// Where to find it, with the token that opens it.
    pub fn address(&self) -> String {
        let address = self.studio.options.address;
        let here = if address.is_unspecified() { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { address };
        format!("http://{}/?t={}", SocketAddr::new(here, self.port), self.studio.token())
    }

    /// Lets other processes of this user know that it is there. A server for others, or inside of an editor, is not for everybody.
    pub fn announce(&self) {
        let options = &self.studio.options;
        if !options.address.is_loopback() || options.embedded {
            return;
        }
        let at = SocketAddr::new(options.address, self.port);
        if let Some(notice) = neighbour::Notice::of(self.studio.folder.root()) {
            // Who is not told starts a server of his own.
            let _ = notice.put_up(at, &self.address(), self.studio.token());
        }
    }

    /// What answers.
    pub fn studio(&self) -> &Arc<Studio> {
        &self.studio
    }

    /// Answers everybody, each in a thread, until the process ends.
    pub fn serve(self) -> io::Result<()> {
        let busy = Arc::new(AtomicUsize::new(0));
        for stream in self.listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            if busy.fetch_add(1, Ordering::Relaxed) >= MOST_CONNECTIONS {
                busy.fetch_sub(1, Ordering::Relaxed);
                let _ = http::write(&mut stream, Response::new(503, "text/plain", "too many at once\n"));
                continue;
            }
            let (studio, own) = (self.studio.clone(), busy.clone());
            let started = thread::Builder::new().name("studio".into()).spawn(move || {
                // Who has hung up does not want an answer.
                let _ = studio.converse(&mut stream);
                own.fetch_sub(1, Ordering::Relaxed);
            });
            if started.is_err() {
                busy.fetch_sub(1, Ordering::Relaxed);
            }
        }
        Ok(())
    }
}

impl Studio {
    /// What answers for a folder, under the names of a port.
    pub fn new(folder: Folder, port: u16, options: OpenOptions) -> io::Result<Studio> {
        let news = Arc::new(news::ServerNews::default());
        Ok(Studio {
            folder,
            read_only: options.read_only,
            guard: Guard::new(port, options.address, options.embedded)?,
            jobs: jobs::Jobs::new(&options, news.clone()),
            news,
            options,
            models: models::Models::default(),
            traces: traces::Traces::default(),
            desks: desks::Desks::default(),
            graphs: graphs::StateGraphs::default(),
        })
    }

    /// The token that lets a client in.
    pub fn token(&self) -> &str {
        self.guard.token()
    }

    /// Reads a request, answers it.
    fn converse(self: &Arc<Self>, stream: &mut TcpStream) -> io::Result<()> {
        let (mut request, begun) = match http::read_head(stream) {
            Ok(read) => read,
            Err(unread) => return self.refuse(stream, unread),
        };
        // Who is not let in need not send the rest.
        if let Err(refusal) = self.guard.admit(&request) {
            return http::write(stream, self.guard.sealed(api::refused(refusal)));
        }
        let length = request.length().unwrap_or(0);
        request.body = match http::read_body(stream, begun, length) {
            Ok(body) => body,
            Err(unread) => return self.refuse(stream, unread),
        };
        let response = self.answer_while(request, &|| !http::has_hung_up(stream));
        http::write(stream, response)
    }

    fn refuse(&self, stream: &mut TcpStream, unread: Unread) -> io::Result<()> {
        match unread {
            Unread::Gone => Ok(()),
            Unread::Refused(status, why) => {
                let refused = Response::new(status, "text/plain; charset=utf-8", why);
                http::write(stream, self.guard.sealed(refused))
            }
        }
    }

    /// The answer to a request.
    pub fn answer(self: &Arc<Self>, request: Request) -> Response {
        self.answer_while(request, &|| true)
    }

    /// The answer to a request, as long as somebody wants it.
    pub fn answer_while(self: &Arc<Self>, request: Request, wanted: &dyn Fn() -> bool) -> Response {
        self.guard.sealed(match self.guard.admit(&request) {
            Err(refusal) => api::refused(refusal),
            Ok(()) if request.path.starts_with("/api/") => self.call(request, wanted),
            Ok(()) => self.page(&request),
        })
    }

    fn page(&self, request: &Request) -> Response {
        match (request.method.as_str(), request.path.as_str(), request.asked("t")) {
            ("GET", "/", Some(token)) => self.guard.greet(token),
            ("GET", path, _) => assets::find(path)
                .map(|(kind, bytes)| Response::new(200, kind, bytes.into_owned()))
                .unwrap_or_else(|| {
                    Response::new(404, "text/plain; charset=utf-8", "there is nothing here\n")
                }),
            _ => Response::new(405, "text/plain; charset=utf-8", "a page is only read\n"),
        }
    }

    /// Answers a call in a thread whose stack holds the deepest models; a mistake of ours ends only that. What nobody wants any
    /// more is cancelled.
    fn call(self: &Arc<Self>, request: Request, wanted: &dyn Fn() -> bool) -> Response {
        let (studio, cancel) = (self.clone(), request.cancel.clone());
        let (tell, told) = mpsc::channel();
        let started = shoal::on_large_stack(move || {
            let _ = tell.send(api::answer(&studio, request));
        });
        if let Err(error) = started {
            return api::refused((503, "busy", format!("there is no thread: {error}")));
        }
        loop {
            match told.recv_timeout(BREATH) {
                Ok(response) => return response,
                Err(RecvTimeoutError::Timeout) => {
                    if !wanted() {
                        cancel.cancel();
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let message = "a mistake in Shoal: please report it with the model";
                    return api::refused((500, "internal", message.into()));
                }
            }
        }
    }
}

/// A mutex that a thread has left in the middle holds nothing half done: entries are put in and taken out whole.
pub(crate) fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
