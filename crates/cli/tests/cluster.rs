//! Several processes on this machine search together, over loopback.
#![cfg(unix)]
#![allow(clippy::print_stdout)]

use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::common::Folder;

/// In how much time processes must have ended when something fails.
const SOON: Duration = Duration::from_secs(15);

/// A model of 3^8 states, one of which is bad, eight steps from the start.
const DIALS: &str = r#"
type dial: 0..7;
var x: array [dial] of 0..2;
startstate begin for d: dial do x[d] := 0; end; end;
ruleset d: dial do rule "turn" true ==> begin x[d] := (x[d] + 1) % 3; end; end;
invariant "not all are one" exists d: dial do x[d] != 1 end;
"#;

/// Ports of this machine that were free a moment ago.
fn hosts(folder: &Folder, processes: usize) -> Vec<u16> {
    let listeners: Vec<TcpListener> =
        (0..processes).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let ports: Vec<u16> = listeners.iter().map(|it| it.local_addr().unwrap().port()).collect();
    let lines: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}\n")).collect();
    fs::write(folder.path().join("hosts.txt"), lines.concat()).unwrap();
    secret(folder, "secret", "0123456789abcdef");
    ports
}

fn secret(folder: &Folder, name: &str, text: &str) {
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
}

fn start(folder: &Folder, process: usize, more: &[&str]) -> Child {
    start_in(folder, Command::new(env!("CARGO_BIN_EXE_shoal")), process, more)
}

/// Starts a process by a command that the arguments are added to.
fn start_in(folder: &Folder, mut command: Command, process: usize, more: &[&str]) -> Child {
    let process = process.to_string();
    let mut args = vec![
        "check",
        "model.m",
        "--hosts",
        "hosts.txt",
        "--process",
        &process,
        "--json",
        "--profile",
        "--trace",
        "none",
    ];
    if !more.contains(&"--secret-file") {
        args.extend(["--secret-file", "secret"]);
    }
    command
        .args(args)
        .args(more)
        .args(["--time", "60", "--memory", "500MB", "--threads", "1"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn ended(child: Child) -> Output {
    child.wait_with_output().unwrap()
}

/// What the events of a check say that must not depend on the number of processes.
fn told(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    let events = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let told = events.filter(|event| event["event"] == "verdict" || event["event"] == "profile");
    let names = ["name", "verdict", "states", "transitions", "states_full", "depth", "steps", "levels"];
    told.map(|event| names.map(|name| event[name].clone()).into()).collect()
}

#[test]
fn processes_find_what_one_finds() {
    let folder = Folder::with(&[("model.m", DIALS)]);
    let alone =
        folder.shoal(&["check", "model.m", "--storage", "thin", "--json", "--profile", "--trace", "none"]);
    assert_eq!(alone.code, Some(1), "{}", alone.err);
    let expected = told(&of(alone));
    assert!(!expected.is_empty());
    for processes in [2, 3] {
        hosts(&folder, processes);
        let children: Vec<Child> = (0..processes).map(|process| start(&folder, process, &[])).collect();
        let outputs: Vec<Output> = children.into_iter().map(ended).collect();
        for output in &outputs {
            assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
        }
        assert_eq!(told(&outputs[0]), expected, "{processes} processes");
    }
}

#[test]
fn strangers_do_no_harm() {
    let folder = Folder::with(&[("model.m", DIALS)]);
    let ports = hosts(&folder, 2);
    let first = start(&folder, 0, &[]);
    let deadline = Instant::now() + Duration::from_secs(20);
    let connect = || loop {
        match TcpStream::connect(("127.0.0.1", ports[0])) {
            Ok(socket) => return socket,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
        thread::sleep(Duration::from_millis(20));
    };
    // One says nothing, one speaks HTTP, one sends a great number, one begins like one of us and sends zeros.
    let silent = connect();
    connect().write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    connect().write_all(&[0xff; 300]).unwrap();
    let mut liar = connect();
    liar.write_all(&[&b"shoal cluster 1\n"[..], &[0; 105]].concat()).unwrap();
    let mut answer = [0; 64];
    liar.read_exact(&mut answer).unwrap();
    liar.write_all(&[0; 32]).unwrap();
    let second = start(&folder, 1, &[]);
    assert_eq!(ended(first).status.code(), Some(1));
    assert_eq!(ended(second).status.code(), Some(1));
    drop(silent);
}

#[test]
fn who_differs_is_refused() {
    let folder = Folder::with(&[("model.m", DIALS), ("other.m", &DIALS.replace("% 3", "% 2"))]);
    secret(&folder, "wrong", "fedcba9876543210");
    for (more, why) in
        [(["--secret-file", "wrong"], "does not know the secret"), (["--depth", "3"], "something else")]
    {
        hosts(&folder, 2);
        let began = Instant::now();
        let first = start(&folder, 0, &[]);
        let second = ended(start(&folder, 1, &more));
        // Neither waits for another.
        for output in [ended(first), second] {
            let said = String::from_utf8_lossy(&output.stdout);
            assert_eq!(output.status.code(), Some(2), "{said}");
            assert!(said.contains(why), "{said}");
        }
        assert!(began.elapsed() < SOON);
    }
    fs::set_permissions(folder.path().join("secret"), fs::Permissions::from_mode(0o644)).unwrap();
    let open = ended(start(&folder, 0, &[]));
    assert_eq!(open.status.code(), Some(2));
    secret(&folder, "secret", "0123456789abcdef");
    fs::write(folder.path().join("hosts.txt"), "203.0.113.1:7400\n127.0.0.1:7401\n").unwrap();
    let public = ended(start(&folder, 1, &[]));
    assert!(String::from_utf8_lossy(&public.stdout).contains("private"), "{public:?}");
}

#[test]
fn another_program_is_refused() {
    let folder = Folder::with(&[("model.m", DIALS)]);
    hosts(&folder, 2);
    let other = folder.path().join("other-shoal");
    fs::copy(env!("CARGO_BIN_EXE_shoal"), &other).unwrap();
    fs::OpenOptions::new().append(true).open(&other).unwrap().write_all(b"\n").unwrap();
    let began = Instant::now();
    let first = start(&folder, 0, &[]);
    let second = start_in(&folder, Command::new(other), 1, &[]);
    for output in [ended(first), ended(second)] {
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("another program"), "{said}");
    }
    assert!(began.elapsed() < SOON);
}

/// A model of a thousand million states.
const LARGE: &str = r#"
type digit: 0..999;
var x: array [0..2] of digit;
startstate begin for i: 0..2 do x[i] := 0; end; end;
ruleset i: 0..2; d: digit do rule "set" true ==> begin x[i] := d; end; end;
invariant "small" x[0] < 1000;
"#;

#[test]
fn a_process_that_is_killed_ends_the_search_of_all() {
    let folder = Folder::with(&[("model.m", LARGE)]);
    hosts(&folder, 2);
    let first = start(&folder, 0, &SAVING);
    let mut second = start(&folder, 1, &SAVING);
    wait_until_saved(&folder);
    second.kill().unwrap();
    second.wait().unwrap();
    let began = Instant::now();
    let output = ended(first);
    assert!(began.elapsed() < SOON);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let last = String::from_utf8_lossy(&output.stdout);
    assert!(last.contains("\"lost\""), "{last}");
}

/// A process is killed at some moments; what was saved is gone on with by other numbers of processes.
#[test]
fn a_search_of_which_a_process_was_killed_is_gone_on_with() {
    let more = DIALS.replace("0..7", "0..9").replace("exists d: dial do x[d] != 1 end", "x[0] < 3");
    let folder = Folder::with(&[("model.m", &more)]);
    let alone = ["check", "model.m", "--storage", "thin", "--json", "--profile", "--trace", "none"];
    let expected = told(&of(folder.shoal(&alone)));
    for (time, processes) in [(0, 1), (1, 3)] {
        hosts(&folder, 2);
        let first = start(&folder, 0, &SAVING);
        let mut second = start(&folder, 1, &SAVING);
        wait_until_saved(&folder);
        thread::sleep(Duration::from_millis(100 * time));
        let _ = second.kill();
        second.wait().unwrap();
        let code = ended(first).status.code();
        assert!(matches!(code, Some(0 | 3)), "{code:?}");
        assert!(heads(&folder) > 0);
        hosts(&folder, processes);
        let resumed = match processes {
            1 => of(folder.shoal(&[&alone[..], &["--resume", "saved"]].concat())),
            _ => {
                let start = |process| start(&folder, process, &["--resume", "saved"]);
                let children: Vec<Child> = (0..processes).map(start).collect();
                children.into_iter().map(ended).next().unwrap()
            }
        };
        assert_eq!(told(&resumed), expected, "{processes} processes");
        fs::remove_dir_all(folder.path().join("saved")).unwrap();
    }
}

/// Saves after every level.
const SAVING: [&str; 4] = ["--checkpoint", "saved", "--checkpoint-every", "0"];

/// Two processes share the work once both have saved something.
fn wait_until_saved(folder: &Folder) {
    let began = Instant::now();
    while heads(folder) < 2 && began.elapsed() < Duration::from_secs(60) {
        thread::sleep(Duration::from_millis(5));
    }
}

/// How many processes have saved something whole.
fn heads(folder: &Folder) -> usize {
    let files = fs::read_dir(folder.path().join("saved")).into_iter().flatten().flatten();
    files.filter(|file| file.path().extension().is_some_and(|it| it == "head")).count()
}

fn of(ran: crate::common::Ran) -> Output {
    Output { status: Default::default(), stdout: ran.out.into_bytes(), stderr: Vec::new() }
}

/// Two namespaces with a link between them, which nothing else is on. They go when it is dropped.
struct Link([String; 2]);

impl Link {
    /// Nothing where one may not do that, or cannot.
    fn new() -> Option<Link> {
        let name = |end: u32| format!("shoal{}t{end}", std::process::id());
        let link = Link([name(0), name(1)]);
        let [one, two] = &link.0;
        let made = ip(&["netns", "add", one])
            && ip(&["netns", "add", two])
            && ip(&["-n", one, "link", "add", "net", "type", "veth", "peer", "name", "net", "netns", two])
            && ip(&["-n", one, "address", "add", "10.213.78.1/24", "dev", "net"])
            && ip(&["-n", two, "address", "add", "10.213.78.2/24", "dev", "net"])
            && ip(&["-n", one, "link", "set", "net", "up"])
            && ip(&["-n", two, "link", "set", "net", "up"]);
        made.then_some(link)
    }

    /// Starts a process at an end.
    fn start(&self, folder: &Folder, process: usize, more: &[&str]) -> Child {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.0[process], env!("CARGO_BIN_EXE_shoal")]);
        start_in(folder, command, process, more)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        for name in &self.0 {
            ip(&["netns", "delete", name]);
        }
    }
}

fn ip(args: &[&str]) -> bool {
    Command::new("ip").args(args).output().is_ok_and(|output| output.status.success())
}

#[test]
fn a_link_that_is_cut_ends_the_search_of_both() {
    let Some(link) = Link::new() else {
        println!("skipped: no network namespaces");
        return;
    };
    let folder = Folder::with(&[("model.m", LARGE)]);
    fs::write(folder.path().join("hosts.txt"), "10.213.78.1:7400\n10.213.78.2:7400\n").unwrap();
    secret(&folder, "secret", "0123456789abcdef");
    let children = [0, 1].map(|process| link.start(&folder, process, &SAVING));
    wait_until_saved(&folder);
    assert!(ip(&["-n", &link.0[0], "link", "set", "net", "down"]));
    let began = Instant::now();
    for output in children.map(ended) {
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains("\"lost\""), "{said}");
    }
    assert!(began.elapsed() < SOON);
}

/// A command in place of ssh, which starts what it is given on this machine.
fn launcher(folder: &Folder) -> String {
    let path = folder.path().join("here");
    fs::write(&path, "#!/bin/sh\nshift\nexec \"$@\"\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

#[test]
fn machines_are_started_and_measured() {
    let folder = Folder::with(&[("model.m", DIALS)]);
    let ports = hosts(&folder, 2);
    let places = format!("127.0.0.1:{},127.0.0.1:{}", ports[0], ports[1]);
    let shoal = Path::new(env!("CARGO_BIN_EXE_shoal")).display().to_string();
    let ssh = launcher(&folder);
    let with = ["--hosts", &places, "--ssh", &ssh, "--shoal", &shoal];
    let ran =
        folder.shoal(&[&["cluster", "run"], &with[..], &["--quiet", "--trace", "none", "model.m"]].concat());
    assert_eq!(ran.code, Some(1), "{} {}", ran.out, ran.err);
    assert!(ran.out.contains("not all are one"), "{}", ran.out);
    let measured = folder.shoal(&[&["cluster", "check"], &with[..]].concat());
    assert_eq!(measured.code, Some(0), "{} {}", measured.out, measured.err);
    assert!(measured.out.contains("2 processes of the same program"), "{}", measured.out);
}
