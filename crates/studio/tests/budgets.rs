//! How long things take in a real browser, beside how long they may: the command itself is the server.
//!
//! Run by `cargo xtask bench studio`, which says where the command is (`SHOAL_STUDIO`); without that nothing is measured. Each figure is
//! the middle one of several.

use std::{
    fmt::Write as _,
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use crate::{
    browser::{LARGE, LONG},
    common::{ENDLESS, gallery},
    driver::Browser,
};

/// So often each is measured.
const TIMES: usize = 5;

/// A figure and what it may be.
struct Measured {
    what: &'static str,
    figure: f64,
    budget: f64,
    unit: &'static str,
}

/// The server, a process of its own. It ends with this.
struct Server {
    process: Child,
    address: String,
    folder: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    fn start(command: &Path) -> Server {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("long.m", LONG.to_string()),
            ("hundred.m", LONG.replace("10000", "100")),
            ("large.m", LARGE.to_string()),
            ("endless.m", ENDLESS.to_string()),
            ("german.m", gallery("murphi/german.m")),
            ("many.m", many_moves()),
            ("lines.m", many_lines()),
        ] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let mut process =
            Command::new(command).arg("studio").arg(folder.path()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.split_whitespace().find(|word| word.starts_with("http")).unwrap().to_string();
        Server { process, address, folder }
    }

    fn at(&self, hash: &str) -> String {
        format!("{}/#/{hash}", self.address.split_once("/?").unwrap().0)
    }

    /// Seconds of processor time that it has used.
    fn cpu(&self) -> Option<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.process.id())).ok()?;
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks: f64 = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
        Some(ticks / 100.0)
    }

    /// Megabytes of memory that it has.
    fn memory(&self) -> Option<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        Some(line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok()? / 1024.0)
    }
}

/// Five hundred moves in every state.
fn many_moves() -> String {
    "var x: array [1..500] of boolean;
startstate for i: 1..500 do x[i] := false; end; end;
ruleset i: 1..500 do rule \"flip\" true ==> x[i] := !x[i]; end; end;
invariant \"fine\" x[1] | !x[1];
"
    .into()
}

/// Two thousand lines.
fn many_lines() -> String {
    let mut text = String::from("var x: 0..1000;\nstartstate x := 0; end;\n");
    for number in 0..665 {
        let _ = write!(text, "rule \"r{number}\" x = {number} ==>\n  x := x + 1;\nend;\n");
    }
    text + "invariant \"in range\" x <= 1000;\n"
}

fn middle(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn times(measure: impl FnMut(usize) -> f64) -> f64 {
    middle((0..TIMES).map(measure).collect())
}

#[test]
fn everything_is_quick_enough() {
    let Some(command) = std::env::var_os("SHOAL_STUDIO").map(PathBuf::from) else {
        println!("skipped: cargo xtask bench studio measures");
        return;
    };
    let Some(browser) = Browser::open() else { return };
    let server = Server::start(&command);
    let mut all = idle(&server);
    browser.go(&server.address);
    browser.sees("german.m");
    all.extend(pages(&browser, &server, &command));
    all.extend(typing(&browser, &server));
    all.extend(checks(&browser, &server));
    all.extend(long_run(&browser, &server));
    all.extend(walks(&browser, &server));
    all.extend(graphs(&browser, &server));
    println!("{:<58} {:>10} {:>10}", "", "measured", "budget");
    for Measured { what, figure, budget, unit } in &all {
        let mark = if figure <= budget { "✓" } else { "✗" };
        println!("{mark} {what:<56} {figure:>7.1} {unit:<2} {budget:>7.0} {unit:<2}");
    }
    let over: Vec<&str> = all.iter().filter(|it| it.figure > it.budget).map(|it| it.what).collect();
    assert!(over.is_empty(), "over budget: {over:?}");
}

/// Before anybody has asked anything.
fn idle(server: &Server) -> Vec<Measured> {
    let (Some(before), Some(memory)) = (server.cpu(), server.memory()) else { return Vec::new() };
    thread::sleep(Duration::from_secs(3));
    let used = server.cpu().unwrap_or(before) - before;
    vec![
        Measured {
            what: "server idle: share of a processor",
            figure: 100.0 * used / 3.0,
            budget: 0.5,
            unit: "%",
        },
        Measured { what: "server idle: memory", figure: memory, budget: 40.0, unit: "MB" },
    ]
}

const PAINT: &str = "return performance.getEntriesByType('paint').find((it) => it.name === 'first-contentful-paint')?.startTime ?? 1e9";

fn pages(browser: &Browser, server: &Server, command: &Path) -> Vec<Measured> {
    let paint = times(|_| {
        browser.fresh(&server.at("model?f=german.m"));
        browser.until("document.querySelectorAll('.property').length > 0");
        browser.run(PAINT).as_f64().unwrap()
    });
    let bytes = browser.run("return performance.getEntriesByType('resource').filter((it) => !it.name.includes('/api/')).reduce((sum, it) => sum + it.encodedBodySize, 0)");
    let pages = server.folder.path().join("pages");
    let model = server.folder.path().join("hundred.m");
    let made = Command::new(command)
        .arg("check")
        .arg(model)
        .arg("--html")
        .arg(&pages)
        .stdout(Stdio::null())
        .status();
    assert!(made.is_ok_and(|status| status.code() == Some(1)), "hundred.m is violated");
    let page = fs::read_dir(&pages).unwrap().flatten().map(|entry| entry.path());
    let page = page.into_iter().find(|path| !path.ends_with("index.html")).expect("a page of the violation");
    let one_file = times(|_| {
        browser.fresh(&format!("file://{}", page.display()));
        browser.until("document.readyState === 'complete'");
        browser.run(PAINT).as_f64().unwrap()
    });
    vec![
        Measured { what: "first paint", figure: paint, budget: 300.0, unit: "ms" },
        Measured {
            what: "the page's own bytes",
            figure: bytes.as_f64().unwrap() / 1e3,
            budget: 220.0,
            unit: "kB",
        },
        Measured {
            what: "first paint of one file with 100 steps",
            figure: one_file,
            budget: 400.0,
            unit: "ms",
        },
    ]
}

/// A call of the server from the page, and how long it takes.
fn call(browser: &Browser, path: &str, body: &str) -> f64 {
    let spent = browser.run_later(&format!(
        "const done = arguments[arguments.length - 1]; const began = performance.now();
         fetch('/api/v1/{path}', {{ method: 'POST', headers: {{ 'Content-Type': 'application/json' }}, body: JSON.stringify({body}) }}).then((it) => it.arrayBuffer()).then(() => done(performance.now() - began));"
    ));
    spent.as_f64().unwrap()
}

fn typing(browser: &Browser, server: &Server) -> Vec<Measured> {
    browser.fresh(&server.at("model?f=lines.m"));
    browser.sees("in range");
    let typed = |text: &str, seen: &str| {
        browser.run_later(&format!(
            "const done = arguments[arguments.length - 1]; const field = document.querySelector('textarea');
             field.focus(); const began = performance.now();
             field.value = field.value.replace(/;?\\n*$/, {text:?}); field.dispatchEvent(new Event('input', {{ bubbles: true }}));
             const look = () => {seen} ? done(performance.now() - began) : setTimeout(look, 2); look();"
        ))
    };
    let diagnosed = times(|_| {
        let spent = typed(" +;", "document.querySelector('.problems .error')").as_f64().unwrap();
        typed(
            ";",
            "!document.querySelector('.problems .error') && document.querySelector('.about').innerText",
        );
        browser.run("const field = document.querySelector('textarea'); field.value = field.value.replace(/ \\+;?$/, ';'); field.dispatchEvent(new Event('input', { bubbles: true }))");
        browser.until("!document.querySelector('.problems .error')");
        spent
    });
    browser.run("sessionStorage.clear()");
    let model = times(|at| {
        // Another text each time: nothing is known of it.
        let text = format!("{}\n-- {at}\n", gallery("murphi/german.m"));
        call(browser, "model", &format!("{{ file: 'german.m', text: {} }}", serde_json::json!(text)))
    });
    vec![
        Measured { what: "key to diagnostics, 2,000 lines", figure: diagnosed, budget: 300.0, unit: "ms" },
        Measured { what: "what is known of a model (german.m)", figure: model, budget: 200.0, unit: "ms" },
    ]
}

fn checks(browser: &Browser, server: &Server) -> Vec<Measured> {
    let (mut begun, mut stopped, mut told) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TIMES {
        browser.fresh(&server.at("model?f=endless.m"));
        browser.sees("fine");
        let spent = browser.run_later(
            "const done = arguments[arguments.length - 1]; const began = performance.now(); let seen = 0; let id = null;
             document.querySelector('#check').click();
             const running = () => document.querySelector('.run[data-stage=running]') ? next() : setTimeout(running, 2);
             const next = () => {
               seen = performance.now() - began;
               id = new URLSearchParams(location.hash.split('?')[1]).get('run');
               const source = new EventSource(`/api/v1/runs/${id}/events`); let events = 0;
               source.onmessage = (it) => { if (JSON.parse(it.data).event === 'progress') events += 1; };
               setTimeout(async () => {
                 source.close();
                 const from = performance.now();
                 await fetch(`/api/v1/runs/${id}`, { method: 'DELETE' });
                 while ((await (await fetch(`/api/v1/runs/${id}`)).json()).run.stage !== 'finished') await new Promise((on) => setTimeout(on, 5));
                 done([seen, performance.now() - from, events / 2]);
               }, 2000);
             };
             running();",
        );
        for (figures, at) in [(&mut begun, 0), (&mut stopped, 1), (&mut told, 2)] {
            figures.push(spent[at].as_f64().unwrap());
        }
    }
    vec![
        Measured {
            what: "check: pressed until it is seen to run",
            figure: middle(begun),
            budget: 200.0,
            unit: "ms",
        },
        Measured { what: "check: stopped", figure: middle(stopped), budget: 500.0, unit: "ms" },
        Measured { what: "check: progress, events a second", figure: middle(told), budget: 4.0, unit: "" },
    ]
}

fn long_run(browser: &Browser, server: &Server) -> Vec<Measured> {
    browser.fresh(&server.at("model?f=long.m"));
    browser.sees("short");
    browser.click("#check");
    browser.until("document.querySelector('.property[data-verdict=violated] a')");
    let link = browser
        .run("return document.querySelector('.property[data-verdict=violated] a').getAttribute('href')");
    let link = link.as_str().unwrap().to_string();
    let opened = times(|at| {
        browser.fresh(&server.at("model?f=long.m"));
        browser.sees("short");
        // One level after the other, so that nothing is known yet.
        let opened = browser.run_later(&format!(
            "const done = arguments[arguments.length - 1]; const began = performance.now();
             location.hash = '{link}&lv={}';
             const look = () => document.querySelector('.step h2')?.innerText.startsWith('step 10000') ? done(performance.now() - began) : setTimeout(look, 2);
             look();",
            [1, 0, 2, 1, 0][at]
        ));
        opened.as_f64().unwrap()
    });
    let frame = times(|_| {
        let spent = browser.run(
            "const scroll = document.querySelector('.lane-scroll'); const spent = [];
             for (let at = 0; at < 60; at++) { const began = performance.now(); scroll.scrollTop = at * 400; scroll.dispatchEvent(new Event('scroll')); spent.push(performance.now() - began); }
             return spent.sort((one, other) => one - other)[54]",
        );
        spent.as_f64().unwrap()
    });
    browser.run("document.activeElement.blur()");
    let stepped = times(|_| {
        let spent = browser.run_later(
            "const done = arguments[arguments.length - 1]; const before = document.querySelector('.step h2').innerText; const began = performance.now();
             document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'k', bubbles: true }));
             const look = () => document.querySelector('.step h2').innerText !== before ? done(performance.now() - began) : setTimeout(look, 2);
             look();",
        );
        spent.as_f64().unwrap()
    });
    vec![
        Measured { what: "10,000 steps: opened", figure: opened, budget: 800.0, unit: "ms" },
        Measured { what: "10,000 steps: a frame of scrolling", figure: frame, budget: 8.0, unit: "ms" },
        Measured { what: "10,000 steps: a step", figure: stepped, budget: 50.0, unit: "ms" },
    ]
}

fn walks(browser: &Browser, server: &Server) -> Vec<Measured> {
    browser.fresh(&server.at("model?f=many.m"));
    browser.sees("fine");
    let moves = times(|at| {
        let path: Vec<String> = std::iter::once("0".into()).chain((0..at).map(|it| it.to_string())).collect();
        call(browser, "walk", &format!("{{ file: 'many.m', path: '{}' }}", path.join(".")))
    });
    vec![Measured { what: "walk: 500 moves of a state", figure: moves, budget: 100.0, unit: "ms" }]
}

fn graphs(browser: &Browser, server: &Server) -> Vec<Measured> {
    browser.fresh(&server.at("graph?f=large.m&q=0&limit=200000"));
    browser.until("document.querySelector('.bar .faint')?.innerText.includes('100,489 states')");
    browser.until("document.querySelectorAll('svg.graph .node').length > 3");
    let placed = times(|_| {
        let spent = browser.run_later(
            "const done = arguments[arguments.length - 1]; const began = performance.now();
             fetch('/api/v1/graphs/1/overview').then((it) => it.arrayBuffer()).then(() => done(performance.now() - began));",
        );
        spent.as_f64().unwrap()
    });
    let turns = |near: bool| {
        let spent = browser.run(&format!(
            "const canvas = document.querySelector('canvas.overview');
             const turn = (by) => {{ const began = performance.now(); canvas.dispatchEvent(new WheelEvent('wheel', {{ deltaY: by, cancelable: true, bubbles: true }})); return performance.now() - began; }};
             if ({near}) for (let at = 0; at < 6; at++) turn(-600);
             return [1, -1, 1, -1, 1].map(turn).sort((one, other) => one - other)[2];"
        ));
        spent.as_f64().unwrap()
    };
    let (whole, near) = (turns(false), turns(true));
    let view =
        times(|at| call(browser, "graphs/1/view", &format!("{{ around: {}, radius: 10 }}", 40_000 + at)));
    let drawn = times(|at| {
        let spent = browser.run_later(&format!(
            "const done = arguments[arguments.length - 1];
             Promise.all([import('/picture.js'), fetch('/api/v1/graphs/1/view', {{ method: 'POST', headers: {{ 'Content-Type': 'application/json' }}, body: JSON.stringify({{ around: {}, radius: 10 }}) }}).then((it) => it.json())]).then(([{{ drawPicture }}, {{ picture, about }}]) => {{
               const began = performance.now();
               document.querySelector('.view').replaceChildren(drawPicture(picture, about));
               document.querySelector('.view svg').getBoundingClientRect();
               done(performance.now() - began);
             }});",
            50_000 + at
        ));
        spent.as_f64().unwrap()
    });
    vec![
        Measured {
            what: "graph of 100,489 states: placed and sent",
            figure: placed,
            budget: 2_000.0,
            unit: "ms",
        },
        Measured { what: "graph: a frame of all", figure: whole, budget: 33.0, unit: "ms" },
        Measured { what: "graph: a frame near", figure: near, budget: 33.0, unit: "ms" },
        Measured {
            what: "graph: a part of 221 states, the server's share",
            figure: view,
            budget: 200.0,
            unit: "ms",
        },
        Measured { what: "graph: a part of 221 states, drawn", figure: drawn, budget: 100.0, unit: "ms" },
    ]
}
