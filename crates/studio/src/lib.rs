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
//! - `traces`: runs that were found or opened
//! - `walks`: stepping by hand
//! - `desks`: state-graphs as boxes
//! - `graphs`: the graph of all states
//! - `any`: any number of parts

mod any;
mod api;
mod assets;
mod desks;
mod graphs;
mod guard;
mod http;
mod jobs;
mod models;
mod traces;
mod walks;

use std::{
    io,
    net::{Ipv4Addr, TcpListener, TcpStream},
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

/// How a server is opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenOptions {
    /// The port; 0 for any that is free.
    pub port: u16,
    /// Nothing is written.
    pub read_only: bool,
}

/// What a server knows.
#[derive(Debug)]
pub struct Studio {
    pub(crate) folder: Folder,
    pub(crate) read_only: bool,
    guard: Guard,
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

/// Opens a server for the models below a folder, on this machine only.
pub fn open(root: &Path, options: OpenOptions) -> io::Result<Opened> {
    let folder = Folder::new(root)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port))?;
    let port = listener.local_addr()?.port();
    let studio = Arc::new(Studio::new(folder, port, options.read_only)?);
    Ok(Opened { listener, studio, port })
}

impl Opened {
    /// Where to find it, with the token that opens it.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/?t={}", self.port, self.studio.token())
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
    pub fn new(folder: Folder, port: u16, read_only: bool) -> io::Result<Studio> {
        Ok(Studio {
            folder,
            read_only,
            guard: Guard::new(port)?,
            jobs: jobs::Jobs::default(),
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
            Err(unread) => return refuse(stream, unread),
        };
        // Who is not let in need not send the rest.
        if let Err(refusal) = self.guard.admit(&request) {
            return http::write(stream, guard::sealed(api::refused(refusal)));
        }
        let length = request.length().unwrap_or(0);
        request.body = match http::read_body(stream, begun, length) {
            Ok(body) => body,
            Err(unread) => return refuse(stream, unread),
        };
        let response = self.answer_while(request, &|| !http::has_hung_up(stream));
        http::write(stream, response)
    }

    /// The answer to a request.
    pub fn answer(self: &Arc<Self>, request: Request) -> Response {
        self.answer_while(request, &|| true)
    }

    /// The answer to a request, as long as somebody wants it.
    pub fn answer_while(self: &Arc<Self>, request: Request, wanted: &dyn Fn() -> bool) -> Response {
        guard::sealed(match self.guard.admit(&request) {
            Err(refusal) => api::refused(refusal),
            Ok(()) if request.path.starts_with("/api/") => self.call(request, wanted),
            Ok(()) => self.page(&request),
        })
    }

    fn page(&self, request: &Request) -> Response {
        match (request.method.as_str(), request.path.as_str(), request.asked("t")) {
            ("GET", "/", Some(token)) => self.guard.greet(token),
            ("GET", path, _) => {
                assets::find(path).map(|(kind, bytes)| Response::new(200, kind, bytes.into_owned())).unwrap_or_else(|| {
                    Response::new(404, "text/plain; charset=utf-8", "there is nothing here\n")
                })
            }
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

fn refuse(stream: &mut TcpStream, unread: Unread) -> io::Result<()> {
    match unread {
        Unread::Gone => Ok(()),
        Unread::Refused(status, why) => {
            http::write(stream, guard::sealed(Response::new(status, "text/plain; charset=utf-8", why)))
        }
    }
}

/// A mutex that a thread has left in the middle holds nothing half done: entries are put in and taken out whole.
pub(crate) fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
