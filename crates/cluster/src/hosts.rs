//! Where the processes are.

use std::{
    io,
    net::{IpAddr, SocketAddr, ToSocketAddrs},
};

/// The port of a process of which nothing is said.
const PORT: u16 = 7400;

/// Where a process is, and what it may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// The machine, by name or address.
    pub name: String,
    /// The port it listens on.
    pub port: u16,
    /// How many threads it has, if that is said.
    pub threads: Option<u32>,
}

impl Host {
    /// Reads `host[:port] [threads=N]`.
    pub fn parse(line: &str) -> Result<Host, String> {
        let mut words = line.split_whitespace();
        let place = words.next().ok_or("an empty line")?;
        let (name, port) = match place.rsplit_once(':') {
            // An address of the sixth version has colons of its own, and is written in brackets if a port follows.
            Some((name, port)) if !name.contains(':') || name.ends_with(']') => {
                (name, port.parse().map_err(|_| format!("`{port}` is no port"))?)
            }
            _ => (place, PORT),
        };
        let name = name.trim_start_matches('[').trim_end_matches(']').to_string();
        if name.is_empty() || name.starts_with('-') {
            return Err(format!("`{place}` is no host"));
        }
        let mut host = Host { name, port, threads: None };
        for word in words {
            match word.split_once('=') {
                Some(("threads", number)) => {
                    let threads =
                        number.parse().map_err(|_| format!("`{number}` is no number of threads"))?;
                    host.threads = Some(threads);
                }
                _ => return Err(format!("`{word}` is not understood: threads=N")),
            }
        }
        Ok(host)
    }

    /// As it is written.
    pub fn place(&self) -> String {
        if self.name.contains(':') {
            format!("[{}]:{}", self.name, self.port)
        } else {
            format!("{}:{}", self.name, self.port)
        }
    }

    /// Its address. One that others could reach from outside is refused unless that is wanted.
    pub(crate) fn address(&self, public: bool) -> io::Result<SocketAddr> {
        let place = self.place();
        let found = (self.name.as_str(), self.port)
            .to_socket_addrs()
            .map_err(|error| io::Error::other(format!("{place}: {error}")))?;
        let all: Vec<SocketAddr> = found.collect();
        match all.iter().find(|address| public || is_private(address.ip())) {
            Some(address) => Ok(*address),
            None => Err(io::Error::other(format!(
                "{place} is not an address of a private network, and nothing is encrypted"
            ))),
        }
    }
}

/// Reads a file of hosts: one a line; what follows `#` is a comment.
pub fn parse_hosts(text: &str) -> Result<Vec<Host>, String> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or("").trim());
    let hosts: Vec<Host> =
        lines.filter(|line| !line.is_empty()).map(Host::parse).collect::<Result<_, _>>()?;
    match hosts.len() {
        0 => Err("there is no host".into()),
        1..=4096 => Ok(hosts),
        _ => Err("there are more than 4,096 hosts".into()),
    }
}

/// Whether an address is of a network that is not the internet.
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_loopback() || address.is_private() || address.is_link_local(),
        IpAddr::V6(address) => {
            address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_read() {
        let hosts = parse_hosts("a:1\n# nobody\nb threads=3 # the large one\n[::1]:5\n").unwrap();
        let places: Vec<String> = hosts.iter().map(Host::place).collect();
        assert_eq!(places, ["a:1", "b:7400", "[::1]:5"]);
        assert_eq!(hosts[1].threads, Some(3));
        for wrong in ["", "a:x", "a cores=3", ":1", "a threads=many", "-oProxyCommand=x"] {
            assert!(parse_hosts(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn addresses_of_the_internet_are_refused() {
        for (place, private) in [
            ("127.0.0.1", true),
            ("10.1.2.3", true),
            ("192.168.1.1", true),
            ("8.8.8.8", false),
            ("[2001:db8::1]:1", false),
        ] {
            let host = Host::parse(place).unwrap();
            assert_eq!(host.address(false).is_ok(), private, "{place}");
            assert!(host.address(true).is_ok());
        }
    }
}
