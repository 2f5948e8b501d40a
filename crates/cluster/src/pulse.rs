//! Signs of life: each process sends one to each other every second. Where none comes for a while, or the connection ends without a
//! farewell, the process is lost.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, TcpStream},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant},
};

/// How often a sign is sent.
const EVERY: Duration = Duration::from_secs(1);
/// How long one is waited for.
const SILENCE: Duration = Duration::from_secs(10);
/// How long after a farewell something may still come.
const REST: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(50);

const ALIVE: u8 = 1;
pub(crate) const FAREWELL: u8 = 2;

/// Whether the processes are all there.
#[derive(Default)]
pub(crate) struct Fate {
    lost: OnceLock<String>,
    /// When the first of the others said farewell, and which it was.
    left: OnceLock<(Instant, usize)>,
    /// Whether this process has all it wants of the others.
    done: AtomicBool,
    /// The connections, which end when a process is lost.
    sockets: Mutex<Vec<TcpStream>>,
}

impl Fate {
    pub(crate) fn new(sockets: Vec<TcpStream>) -> Arc<Fate> {
        Arc::new(Fate { sockets: Mutex::new(sockets), ..Fate::default() })
    }

    /// Why the processes cannot go on, if they cannot.
    pub(crate) fn lost(&self) -> Option<&str> {
        self.lost.get().map(String::as_str)
    }

    /// A process has said farewell a while ago: all that it sent has come, and more will not.
    pub(crate) fn is_left_alone(&self) -> Option<usize> {
        self.left.get().filter(|(since, _)| since.elapsed() > REST).map(|(_, peer)| *peer)
    }

    /// A process is lost: nobody waits for it any more.
    pub(crate) fn lose(&self, why: String) {
        if self.done.load(SeqCst) {
            return;
        }
        // The first reason is the one.
        let _ = self.lost.set(why);
        for socket in self.sockets.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// This process needs the others no more.
    pub(crate) fn end(&self) {
        self.done.store(true, SeqCst);
    }

    pub(crate) fn is_done(&self) -> bool {
        self.done.load(SeqCst)
    }
}

/// A process that signs of life come from.
struct PulsePeer {
    index: usize,
    place: String,
    socket: TcpStream,
    heard: Instant,
    left: bool,
}

impl PulsePeer {
    /// Reads what has come; the error says why it is lost.
    fn listen(&mut self) -> Result<(), String> {
        let mut bytes = [0; 64];
        loop {
            match self.socket.read(&mut bytes) {
                Ok(0) => return Err("its connection ended".into()),
                Ok(count) => {
                    self.heard = Instant::now();
                    self.left |= bytes[..count].contains(&FAREWELL);
                    if self.left {
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        match self.heard.elapsed() > SILENCE {
            true => Err(format!("nothing was heard of it for {} s", SILENCE.as_secs())),
            false => Ok(()),
        }
    }
}

/// Sends and hears signs of life until this process or one of the others is done.
pub(crate) fn watch(peers: Vec<(usize, String, TcpStream)>, fate: &Fate) {
    let mut peers: Vec<PulsePeer> = peers
        .into_iter()
        .map(|(index, place, socket)| PulsePeer { index, place, socket, heard: Instant::now(), left: false })
        .collect();
    if peers.iter().any(|peer| peer.socket.set_nonblocking(true).is_err()) {
        fate.lose("a connection cannot be listened to".into());
    }
    let mut said: Option<Instant> = None;
    loop {
        if fate.is_done() || fate.lost().is_some() {
            let word = if fate.lost().is_some() { ALIVE } else { FAREWELL };
            peers.iter_mut().for_each(|peer| drop(peer.socket.write(&[word])));
            return;
        }
        if said.is_none_or(|said| said.elapsed() >= EVERY) {
            said = Some(Instant::now());
            // Who cannot be written to is soon not heard either.
            peers.iter_mut().filter(|peer| !peer.left).for_each(|peer| drop(peer.socket.write(&[ALIVE])));
        }
        for peer in peers.iter_mut().filter(|peer| !peer.left) {
            if let Err(why) = peer.listen() {
                fate.lose(format!("process {} ({}) is lost: {why}", peer.index, peer.place));
            }
            if peer.left {
                let _ = fate.left.set((Instant::now(), peer.index));
            }
        }
        thread::sleep(LOOK);
    }
}
