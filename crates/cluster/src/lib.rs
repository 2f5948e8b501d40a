//! Several processes, on one machine or on many, that search together: who they are, how they know each other, and how they
//! exchange states.
//!
//! - `hosts`: where the processes are.
//! - `hello`: sockets between each two of them, with proof that both know the secret and have the same work.
//! - `pulse`: a sign of life every second, so that a process that is gone is noticed.
//! - `probe`: what the network between them can do.
//! - `exchange`: rounds of packets, on timely dataflow. The only place that knows timely.
//!
//! Nothing is encrypted, and after the hello what comes through a socket is believed: this is for networks where nobody else can
//! write into a connection.

mod exchange;
mod hello;
mod hosts;
mod probe;
mod pulse;

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use sha2::{Digest, Sha256};

pub use exchange::Cluster;
pub use hosts::{Host, parse_hosts};
pub use probe::{Probe, probe};

/// What the processes of a search must have in common, and which of them this one is.
#[derive(Clone)]
pub struct Membership {
    /// Where they are, in their order.
    pub hosts: Vec<Host>,
    /// Which one this is.
    pub index: usize,
    /// What only they know: sixteen bytes at least.
    pub secret: Vec<u8>,
    /// The program and the work; see [`digest`].
    pub program: [u8; 32],
    /// What is to be searched.
    pub job: [u8; 32],
    /// Whether addresses may be used that are not private.
    pub public: bool,
    /// How long to wait until all are there.
    pub patience: Duration,
}

/// The digest of some bytes.
pub fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Finds the other processes: all are there and know the secret, or it says which is not, and why.
pub fn join(membership: &Membership) -> io::Result<Cluster> {
    if membership.secret.len() < 16 {
        return Err(io::Error::other("the secret has less than 16 bytes"));
    }
    let addresses: Vec<SocketAddr> =
        membership.hosts.iter().map(|host| host.address(membership.public)).collect::<io::Result<_>>()?;
    if membership.index >= addresses.len() {
        return Err(io::Error::other(format!("there is no process {}", membership.index)));
    }
    let sockets = hello::connect(&Arc::new(membership.clone()), &addresses)?;
    Cluster::new(membership, sockets)
}
