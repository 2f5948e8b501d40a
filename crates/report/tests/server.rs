//! The example of a server is used as a browser would use it.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
};

#[path = "../examples/server.rs"]
mod example;

fn started() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || example::serve(&listener));
    address
}

fn ask(address: SocketAddr, head: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "{head} HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

const COUNTER: &str = "var x: 0..9; startstate x := 0; end; rule \"up\" x < 9 ==> x := x + 1; end;
    invariant \"small\" x < 5; invariant \"in range\" x < 10;";

#[test]
fn a_server_of_a_hundred_lines_shows_a_check() {
    let address = started();
    assert!(ask(address, "GET /", "").contains("<textarea"));
    let answer = ask(address, "POST /check?name=counter.m", COUNTER);
    for wanted in [
        r#""event":"started""#,
        r#""event":"phase""#,
        r#""event":"decided","file":"counter.m","name":"small","kind":"invariant","verdict":"violated""#,
        r#""event":"verdict","file":"counter.m","name":"in range","kind":"invariant","verdict":"holds""#,
        "✗ violated  invariant \"small\"",
    ] {
        assert!(answer.contains(wanted), "{wanted} is not in {answer}");
    }
    let wrong = ask(address, "POST /check?name=wrong.m", "var x: 0..9; rule y ==> end;");
    assert!(wrong.contains(r#""event":"diagnostic""#), "{wrong}");
    let lines = include_str!("../examples/server.rs").lines().filter(|line| !line.trim().is_empty()).count();
    assert!(lines <= 115, "{lines}");
}

/// A model cannot make a server show its files, and two checks run at once.
#[test]
fn a_server_shows_no_files_and_checks_two_models_at_once() {
    let address = started();
    let secret = "#include \"/etc/passwd\"\nactive proctype p() { skip }";
    let asked: Vec<_> =
        (0..2).map(|_| thread::spawn(move || ask(address, "POST /check?name=x.pml", secret))).collect();
    for answer in asked {
        let answer = answer.join().unwrap();
        assert!(!answer.contains("root:"), "{answer}");
        assert!(answer.contains("/etc/passwd"), "{answer}");
    }
}
