//! Sockets between processes. Two are made between each two of them: one for states, one for signs of life.
//!
//! Who connects says who it is and gives a number that was never used before; who listens answers with a proof that it knows the
//! secret, and a number of its own; who connects answers with its proof. A proof covers both numbers, both processes, what the
//! socket is for and what both have to do, so that it is of no use anywhere else. Strangers learn nothing and wait for nobody:
//! each is heard by itself, and for [`HEARING`] only.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::{Membership, pulse::FAREWELL};

const MAGIC: &[u8; 16] = b"shoal cluster 1\n";
/// How long a stranger is heard.
const HEARING: Duration = Duration::from_secs(5);
/// How many are heard at the same time.
const HEARD: usize = 64;
const AGAIN: Duration = Duration::from_millis(50);
/// How often it is seen whether those who came are still there.
const LOOK: Duration = Duration::from_millis(500);

/// What a socket is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Purpose {
    States = 0,
    Life = 1,
}

/// The sockets to another process.
pub(crate) struct PeerSockets {
    pub(crate) states: TcpStream,
    pub(crate) life: TcpStream,
}

/// The first message of who connects.
struct Hello {
    nonce: [u8; 32],
    index: u32,
    processes: u32,
    purpose: Purpose,
    program: [u8; 32],
    job: [u8; 32],
}

const HELLO: usize = 16 + 32 + 4 + 4 + 1 + 32 + 32;

impl Hello {
    fn write(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.nonce);
        bytes.extend(self.index.to_be_bytes());
        bytes.extend(self.processes.to_be_bytes());
        bytes.push(self.purpose as u8);
        bytes.extend(self.program);
        bytes.extend(self.job);
        bytes
    }

    fn read(bytes: &[u8; HELLO]) -> Option<Hello> {
        let mut rest = bytes.strip_prefix(MAGIC)?;
        let mut take = |count: usize| {
            let (taken, left) = rest.split_at_checked(count)?;
            rest = left;
            Some(taken)
        };
        Some(Hello {
            nonce: take(32)?.try_into().ok()?,
            index: u32::from_be_bytes(take(4)?.try_into().ok()?),
            processes: u32::from_be_bytes(take(4)?.try_into().ok()?),
            purpose: match take(1)? {
                [0] => Purpose::States,
                [1] => Purpose::Life,
                _ => return None,
            },
            program: take(32)?.try_into().ok()?,
            job: take(32)?.try_into().ok()?,
        })
    }
}

/// What a proof is made from.
fn mac(
    secret: &[u8],
    role: &[u8],
    hello: &Hello,
    nonce: &[u8; 32],
    listener: u32,
) -> io::Result<Hmac<Sha256>> {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(secret).map_err(|_| io::Error::other("the secret is no key"))?;
    mac.update(role);
    mac.update(&hello.write());
    mac.update(nonce);
    mac.update(&listener.to_be_bytes());
    Ok(mac)
}

fn nonce() -> io::Result<[u8; 32]> {
    let mut nonce = [0; 32];
    getrandom::fill(&mut nonce).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(nonce)
}

/// What happened to somebody who was heard.
enum Heard {
    /// One of us.
    Peer(usize, Purpose, TcpStream),
    /// One who knows the secret and has something else to do: all would wait in vain.
    Differs(String),
    /// A stranger.
    Stranger,
}

/// Connects this process with all others; nothing at its own place.
pub(crate) fn connect(
    of: &Arc<Membership>,
    addresses: &[SocketAddr],
) -> io::Result<Vec<Option<PeerSockets>>> {
    let over = Arc::new(AtomicBool::new(false));
    let sockets = meet(of, addresses, &over);
    // Who still calls or hears ends by itself.
    over.store(true, Relaxed);
    sockets
}

fn meet(
    of: &Arc<Membership>,
    addresses: &[SocketAddr],
    over: &Arc<AtomicBool>,
) -> io::Result<Vec<Option<PeerSockets>>> {
    let deadline = Instant::now() + of.patience;
    let listener = TcpListener::bind(addresses[of.index])
        .map_err(|error| io::Error::other(format!("{}: {error}", addresses[of.index])))?;
    listener.set_nonblocking(true)?;
    let mut sockets: Vec<[Option<TcpStream>; 2]> = addresses.iter().map(|_| [None, None]).collect();
    let (found, finds): (Sender<io::Result<Heard>>, Receiver<io::Result<Heard>>) = channel();
    for (peer, address) in addresses.iter().copied().enumerate().take(of.index) {
        for purpose in [Purpose::States, Purpose::Life] {
            let (of, over, found) = (of.clone(), over.clone(), found.clone());
            thread::spawn(move || {
                let socket = call(&of, peer, address, purpose, deadline, &over);
                let _ = found.send(socket.map(|socket| Heard::Peer(peer, purpose, socket)));
            });
        }
    }
    let mut hearing = 0;
    let mut looked = Instant::now();
    loop {
        while let Ok(heard) = finds.try_recv() {
            match heard? {
                Heard::Peer(peer, purpose, socket) => {
                    hearing -= usize::from(peer > of.index);
                    let place = &mut sockets[peer][purpose as usize];
                    if place.is_some() {
                        return Err(io::Error::other(format!("process {peer} was started twice")));
                    }
                    *place = Some(socket);
                }
                Heard::Differs(why) => return Err(io::Error::other(why)),
                Heard::Stranger => hearing -= 1,
            }
        }
        let missing = |peer: &usize| *peer != of.index && sockets[*peer].iter().any(Option::is_none);
        let Some(missing) = (0..addresses.len()).find(missing) else { break };
        if Instant::now() >= deadline {
            let place = of.hosts[missing].place();
            let seconds = of.patience.as_secs();
            return Err(io::Error::other(format!(
                "process {missing} ({place}) did not come within {seconds} s"
            )));
        }
        if looked.elapsed() > LOOK {
            looked = Instant::now();
            // Nobody else would come either.
            if let Some(gone) = sockets.iter().position(is_gone) {
                let place = of.hosts[gone].place();
                return Err(io::Error::other(format!("process {gone} ({place}) came and has ended")));
            }
        }
        match listener.accept() {
            Ok((socket, _)) if hearing < HEARD => {
                hearing += 1;
                let (of, found) = (of.clone(), found.clone());
                thread::spawn(move || found.send(Ok(hear(&of, socket).unwrap_or(Heard::Stranger))));
            }
            // More are not heard now.
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::sleep(AGAIN / 10),
            Err(error) => return Err(error),
        }
    }
    let sockets =
        sockets.into_iter().map(|[states, life]| Some(PeerSockets { states: states?, life: life? }));
    Ok(sockets.collect())
}

/// Whether a process that came has ended without a farewell.
fn is_gone([states, life]: &[Option<TcpStream>; 2]) -> bool {
    let seen = |socket: &Option<TcpStream>| socket.as_ref().and_then(|socket| unread(socket).ok());
    let ended = |socket| seen(socket).is_some_and(|bytes| bytes.is_empty());
    let left = || seen(life).is_some_and(|bytes| bytes.contains(&FAREWELL));
    (ended(states) || ended(life)) && !left()
}

/// What has come through a socket and was not read: nothing at all if it has ended, an error if it is quiet.
fn unread(socket: &TcpStream) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; 64];
    socket.set_nonblocking(true)?;
    let count = match socket.peek(&mut bytes) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(0),
        count => count,
    };
    socket.set_nonblocking(false)?;
    bytes.truncate(count?);
    Ok(bytes)
}

fn limit(socket: &TcpStream, time: Option<Duration>) -> io::Result<()> {
    socket.set_read_timeout(time)?;
    socket.set_write_timeout(time)
}

/// Calls a process that listens.
fn call(
    of: &Membership,
    peer: usize,
    address: SocketAddr,
    purpose: Purpose,
    deadline: Instant,
    over: &AtomicBool,
) -> io::Result<TcpStream> {
    let place = of.hosts[peer].place();
    let mut last = String::from("it does not answer");
    while Instant::now() < deadline && !over.load(Relaxed) {
        let attempt = TcpStream::connect_timeout(&address, HEARING)
            .and_then(|socket| introduce(of, peer, purpose, socket));
        match attempt {
            Ok(Ok(socket)) => return Ok(socket),
            Ok(Err(why)) => return Err(io::Error::other(format!("process {peer} ({place}) {why}"))),
            Err(error) => last = error.to_string(),
        }
        thread::sleep(AGAIN);
    }
    let seconds = of.patience.as_secs();
    Err(io::Error::other(format!("process {peer} ({place}) did not come within {seconds} s: {last}")))
}

/// Says who we are; what speaks against the other, if it answers at all.
fn introduce(
    of: &Membership,
    peer: usize,
    purpose: Purpose,
    mut socket: TcpStream,
) -> io::Result<Result<TcpStream, &'static str>> {
    limit(&socket, Some(HEARING))?;
    socket.set_nodelay(true)?;
    let (index, processes) = (of.index as u32, of.hosts.len() as u32);
    let hello = Hello { nonce: nonce()?, index, processes, purpose, program: of.program, job: of.job };
    socket.write_all(&hello.write())?;
    let mut theirs = [0; 32];
    socket.read_exact(&mut theirs)?;
    let mut proof = [0; 32];
    socket.read_exact(&mut proof)?;
    if mac(&of.secret, b"listens", &hello, &theirs, peer as u32)?.verify_slice(&proof).is_err() {
        // No proof: so that the other does not wait either.
        socket.write_all(&[0; 32])?;
        return Ok(Err("does not know the secret"));
    }
    let own = mac(&of.secret, b"connects", &hello, &theirs, peer as u32)?.finalize().into_bytes();
    socket.write_all(&own)?;
    let mut verdict = [0];
    socket.read_exact(&mut verdict)?;
    limit(&socket, None)?;
    Ok(match verdict[0] {
        1 => Ok(socket),
        2 => Err("is another program, or another version of it"),
        3 => Err("searches something else: another model, or other options"),
        _ => Err("does not take part: another number of processes, or this one is there already"),
    })
}

/// Hears somebody who has connected.
fn hear(of: &Membership, mut socket: TcpStream) -> io::Result<Heard> {
    socket.set_nonblocking(false)?;
    limit(&socket, Some(HEARING))?;
    socket.set_nodelay(true)?;
    let mut bytes = [0; HELLO];
    socket.read_exact(&mut bytes)?;
    let Some(hello) = Hello::read(&bytes) else { return Ok(Heard::Stranger) };
    let nonce = nonce()?;
    let listener = of.index as u32;
    socket.write_all(&nonce)?;
    socket.write_all(&mac(&of.secret, b"listens", &hello, &nonce, listener)?.finalize().into_bytes())?;
    let mut proof = [0; 32];
    socket.read_exact(&mut proof)?;
    let index = hello.index as usize;
    if mac(&of.secret, b"connects", &hello, &nonce, listener)?.verify_slice(&proof).is_err() {
        // Who has the same program and the same work is no stranger.
        let same = hello.program == of.program && hello.job == of.job;
        let why = || Heard::Differs(format!("process {index} does not know the secret"));
        return Ok(if same { why() } else { Heard::Stranger });
    }
    let (verdict, differs) = if hello.program != of.program {
        (2, Some("is another program, or another version of it"))
    } else if hello.job != of.job {
        (3, Some("searches something else: another model, or other options"))
    } else if hello.processes as usize != of.hosts.len() || !(of.index + 1..of.hosts.len()).contains(&index) {
        (4, Some("counts other processes"))
    } else {
        (1, None)
    };
    socket.write_all(&[verdict])?;
    limit(&socket, None)?;
    Ok(match differs {
        None => Heard::Peer(index, hello.purpose, socket),
        Some(why) => Heard::Differs(format!("process {index} {why}")),
    })
}
