//! A web server that checks the models it is given and shows how it goes: what a page needs of Shoal, in a hundred lines.
//!
//! `cargo run -p shoal-report --example server` and open <http://127.0.0.1:8017>. `GET /` is a page to type a model into; `POST
//! /check?name=x.m` takes a text, answers with one JSON object a line as they come (plan, phases, progress, verdicts), and ends
//! with the report as text. A reader who hangs up ends the check. Nothing is read from the disk, whatever a model includes.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    thread,
    time::Duration,
};

use shoal::{CheckOptions, Error, Limits, LoadOptions, Session, Sources, Watch, syntax::Advice};
use shoal_report::{Palette, Run, diagnostic_event, error_event, session_event, verdict_event, write_run};

const PAGE: &str = r#"<!doctype html><meta charset="utf-8"><title>Shoal</title>
<form><input name="name" value="x.m"> <button>check</button><br><textarea rows="20" cols="80"></textarea></form><pre></pre>
<script>
document.forms[0].onsubmit = async (e) => {
  e.preventDefault();
  const [name, , text] = document.forms[0].elements, out = document.querySelector("pre");
  const answer = await fetch("/check?name=" + encodeURIComponent(name.value), { method: "POST", body: text.value });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  out.textContent = "";
  for (let part; !(part = await reader.read()).done; ) out.textContent += part.value;
};
</script>"#;

/// Answers everybody who comes, each in a thread.
pub(crate) fn serve(listener: &TcpListener) {
    for stream in listener.incoming().flatten() {
        thread::spawn(move || answer(stream));
    }
}

fn answer(mut stream: TcpStream) -> io::Result<()> {
    let (request, body) = read(&stream)?;
    let mut words = request.split_whitespace();
    match (words.next(), words.next()) {
        (Some("GET"), Some("/")) => {
            head(&mut stream, "200 OK", "text/html; charset=utf-8")?.write_all(PAGE.as_bytes())
        }
        (Some("POST"), Some(path)) if path.starts_with("/check") => {
            let name = path.split_once("name=").map_or("model.m", |(_, name)| name);
            check(head(&mut stream, "200 OK", "application/x-ndjson; charset=utf-8")?, name, &body)
        }
        _ => head(&mut stream, "404 Not Found", "text/plain")?.write_all(b"there is nothing here\n"),
    }
}

/// The first line of a request, and its body: of a megabyte at most.
fn read(stream: &TcpStream) -> io::Result<(String, String)> {
    let mut reader = BufReader::new(stream).take(1 << 20);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first)?;
    for line in reader.by_ref().lines() {
        let line = line?.to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(size) = line.strip_prefix("content-length:") {
            length = size.trim().parse().unwrap_or(0);
        }
    }
    let mut body = String::new();
    reader.take(length).read_to_string(&mut body)?;
    Ok((first, body))
}

fn head<'s>(stream: &'s mut TcpStream, status: &str, kind: &str) -> io::Result<&'s mut TcpStream> {
    write!(stream, "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n")?;
    Ok(stream)
}

fn check(out: &mut TcpStream, name: &str, text: &str) -> io::Result<()> {
    let limits = Limits { time: Some(Duration::from_secs(60)), memory: Some(1 << 30), ..Limits::default() };
    let watch = Watch::start(limits);
    let load = LoadOptions { watch: watch.clone(), ..LoadOptions::default() };
    let session = match Session::load(&Sources::text(name, text), &load) {
        Ok(session) => session,
        Err(Error::Source(rejected)) => {
            return rejected.diagnostics.iter().try_for_each(|it| {
                writeln!(out, "{}", diagnostic_event(name, &rejected.sources, it, Advice::to_string))
            });
        }
        Err(error) => return writeln!(out, "{}", error_event(Some(name), &error.to_string())),
    };
    let loaded = session.loaded();
    let running = match session.start(CheckOptions { watch, ..CheckOptions::default() }) {
        Ok(running) => running,
        Err(error) => return writeln!(out, "{}", error_event(Some(name), &error.to_string())),
    };
    for event in running.events().filter_map(|event| session_event(name, loaded, &event)) {
        // Who has hung up gets an error here, `running` is dropped, and so the check ends.
        writeln!(out, "{event}")?;
    }
    match running.wait() {
        Ok(report) => {
            let run = Run::new(loaded, &report);
            for result in &report.outcome.results {
                writeln!(out, "{}", verdict_event(&run, result))?;
            }
            write_run(out, &run, Palette::plain())
        }
        Err(error) => writeln!(out, "{}", error_event(Some(name), &error.to_string())),
    }
}

#[allow(dead_code)]
fn main() -> io::Result<()> {
    serve(&TcpListener::bind("127.0.0.1:8017")?);
    Ok(())
}
