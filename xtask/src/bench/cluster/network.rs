//! A network of this machine that nobody else is on: a namespace for each process, all at one bridge in a namespace of its own.

use std::{net::TcpListener, process::Command};

/// Nothing outside of the namespaces has an address of these.
const NETWORK: &str = "10.213.77";
const PORT: u16 = 7400;

/// Where processes run.
pub(super) enum HostPlace {
    /// All at the loopback of this machine.
    Loopback,
    /// Each in a namespace.
    Namespaces(Network),
}

impl HostPlace {
    /// A line of a file of hosts for each process.
    pub(super) fn hosts(&self, processes: usize) -> Result<String, String> {
        match self {
            HostPlace::Loopback => {
                let failed = |error: std::io::Error| error.to_string();
                let free = (0..processes).map(|_| TcpListener::bind("127.0.0.1:0"));
                let listeners: Vec<TcpListener> = free.collect::<Result<_, _>>().map_err(failed)?;
                let line = |it: &TcpListener| it.local_addr().map(|address| format!("{address}\n"));
                listeners.iter().map(line).collect::<Result<String, _>>().map_err(failed)
            }
            HostPlace::Namespaces(network) if processes <= network.processes => {
                Ok((0..processes).map(|process| format!("{NETWORK}.{}:{PORT}\n", process + 1)).collect())
            }
            HostPlace::Namespaces(_) => Err("there are fewer namespaces than processes".into()),
        }
    }

    /// How the program of a process is started.
    pub(super) fn command(&self, process: usize, program: &std::path::Path) -> Command {
        match self {
            HostPlace::Loopback => Command::new(program),
            HostPlace::Namespaces(network) => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", &network.name(process)]).arg(program);
                command
            }
        }
    }
}

/// Namespaces with a link each to the bridge. They go when it is dropped.
pub(super) struct Network {
    prefix: String,
    processes: usize,
}

impl Network {
    /// Makes it; who may not, or has no `ip`, hears why.
    pub(super) fn new(processes: usize) -> Result<Network, String> {
        let network = Network { prefix: format!("shoal{}", std::process::id()), processes };
        let hub = network.hub();
        ip(&["netns", "add", &hub])?;
        ip(&["-n", &hub, "link", "add", "bridge", "type", "bridge"])?;
        ip(&["-n", &hub, "link", "set", "bridge", "up"])?;
        for process in 0..processes {
            let (name, link) = (network.name(process), link(process));
            let address = format!("{NETWORK}.{}/24", process + 1);
            ip(&["netns", "add", &name])?;
            ip(&["-n", &hub, "link", "add", &link, "type", "veth", "peer", "name", "net", "netns", &name])?;
            ip(&["-n", &hub, "link", "set", &link, "master", "bridge", "up"])?;
            ip(&["-n", &name, "address", "add", &address, "dev", "net"])?;
            ip(&["-n", &name, "link", "set", "net", "up"])?;
            ip(&["-n", &name, "link", "set", "lo", "up"])?;
        }
        Ok(network)
    }

    fn hub(&self) -> String {
        format!("{}hub", self.prefix)
    }

    fn name(&self, process: usize) -> String {
        format!("{}p{process}", self.prefix)
    }

    /// Cuts the link of a process, or mends it.
    pub(super) fn set_link(&self, process: usize, is_up: bool) -> Result<(), String> {
        ip(&["-n", &self.hub(), "link", "set", &link(process), if is_up { "up" } else { "down" }])
    }

    /// Lets every process send so much only, as `tc` writes rates; nothing means as much as it can.
    pub(super) fn set_rate(&self, rate: Option<&str>) -> Result<(), String> {
        for process in 0..self.processes {
            let name = self.name(process);
            let at = ["-n", &name, "qdisc"];
            match rate {
                Some(rate) => {
                    let filter =
                        ["dev", "net", "root", "tbf", "rate", rate, "burst", "64kb", "latency", "50ms"];
                    run("tc", &[&at[..], &["replace"], &filter].concat())?;
                }
                None => run("tc", &[&at[..], &["delete", "dev", "net", "root"]].concat())?,
            }
        }
        Ok(())
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        // One that was not made cannot be removed.
        let _ = ip(&["netns", "delete", &self.hub()]);
        (0..self.processes).for_each(|process| drop(ip(&["netns", "delete", &self.name(process)])));
    }
}

/// The end at the bridge of a process's link.
fn link(process: usize) -> String {
    format!("link{process}")
}

fn ip(args: &[&str]) -> Result<(), String> {
    run("ip", args)
}

fn run(program: &str, args: &[&str]) -> Result<(), String> {
    let output = Command::new(program)
        .args(args)
        .output()
        .map_err(|error| format!("cannot run {program}: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            Err(format!("{program} {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr).trim()))
        }
    }
}
