//! How long things take in a real browser, beside how long they may.
//!
//! `cargo xtask bench studio` says where the command is (`SHOAL_STUDIO`): then the command itself is the server, and each figure is the
//! middle one of several. Otherwise each is measured among the other scenarios, again if it is over its budget, and may be an order of
//! magnitude larger, and as much more as the machine is slow.

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
    browser::{LARGE, LONG, Site},
    common::{ENDLESS, gallery},
    driver::Browser,
    scenarios::{slack, slowness},
};

/// So often each is measured where nothing else is done.
const TIMES: usize = 5;

/// Where it is measured, and how often.
struct Bench<'a> {
    browser: &'a Browser,
    root: &'a str,
    folder: &'a Path,
    times: usize,
}

impl Bench<'_> {
    /// The address of a screen.
    fn at(&self, hash: &str) -> String {
        format!("{}/#/{hash}", self.root)
    }

    /// The middle one of several figures.
    fn times(&self, measure: impl FnMut(usize) -> f64) -> f64 {
        middle((0..self.times).map(measure).collect())
    }

    /// All figures. What is over its budget is measured again, up to so many times, and the least counts: what others do on the
    /// machine makes nothing quicker.
    fn all(&self, tries: usize) -> Vec<Measured> {
        let measured: [fn(&Bench<'_>) -> Vec<Measured>; 6] = [pages, typing, checks, long_run, walks, graphs];
        let least = |measure: &fn(&Bench<'_>) -> Vec<Measured>| {
            let mut known = measure(self);
            for _ in 1..tries {
                if known.iter().all(|it| it.figure <= it.budget) {
                    break;
                }
                for (it, again) in known.iter_mut().zip(measure(self)) {
                    it.figure = it.figure.min(again.figure);
                }
            }
            known
        };
        measured.iter().flat_map(least).collect()
    }
}

/// The models that are measured with.
pub(crate) fn models() -> Vec<(&'static str, String)> {
    vec![
        ("long.m", LONG.to_string()),
        ("hundred.m", LONG.replace("10000", "100")),
        ("large.m", LARGE.to_string()),
        ("endless.m", ENDLESS.to_string()),
        ("german.m", gallery("murphi/german.m")),
        ("many.m", many_moves()),
        ("lines.m", many_lines()),
    ]
}

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
        for (name, text) in models() {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let mut process =
            Command::new(command).arg("studio").arg(folder.path()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.split_whitespace().find(|word| word.starts_with("http")).unwrap().to_string();
        Server { process, address, folder }
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
    let root = server.address.split_once("/?").unwrap().0;
    all.extend(Bench { browser: &browser, root, folder: server.folder.path(), times: TIMES }.all(1));
    println!(
        "the machine is {:.1} times slower than one with nothing else to do: figures are good up to 1.5",
        slowness(&browser)
    );
    hold(&all, 1.0);
}

/// The same among the other scenarios.
pub(crate) fn in_time(browser: &Browser, site: &Site) {
    let root = site.address.split_once("/?").unwrap().0;
    let all = Bench { browser, root, folder: site.folder.path(), times: 1 }.all(3);
    hold(&all, slack(browser));
}

/// Says what was measured, and that nothing is over its budget by more than that.
fn hold(all: &[Measured], slack: f64) {
    println!("{:<58} {:>10} {:>10}  slack {slack:.1}", "", "measured", "budget");
    // Not every figure is one of time.
    let most = |it: &Measured| if it.unit == "ms" { it.budget * slack } else { it.budget };
    for it in all {
        let mark = if it.figure <= it.budget {
            "✓"
        } else if it.figure <= most(it) {
            "·"
        } else {
            "✗"
        };
        let Measured { what, figure, budget, unit } = it;
        println!("{mark} {what:<56} {figure:>7.1} {unit:<2} {budget:>7.0} {unit:<2}");
    }
    let over: Vec<&str> = all.iter().filter(|it| it.figure > most(it)).map(|it| it.what).collect();
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

const PAINTED: &str = "performance.getEntriesByName('first-contentful-paint').length > 0";
const PAINT: &str = "return performance.getEntriesByType('paint').find((it) => it.name === 'first-contentful-paint')?.startTime ?? 1e9";

fn pages(bench: &Bench<'_>) -> Vec<Measured> {
    let browser = bench.browser;
    let paint = bench.times(|_| {
        browser.fresh(&bench.at("model?f=german.m"));
        browser.until("document.querySelectorAll('.property').length > 0");
        browser.until(PAINTED);
        browser.run(PAINT).as_f64().unwrap()
    });
    let bytes = browser.run("return performance.getEntriesByType('resource').filter((it) => !it.name.includes('/api/')).reduce((sum, it) => sum + it.encodedBodySize, 0)");
    let page = bench.folder.join("hundred.html");
    fs::write(&page, violation_page(bench)).unwrap();
    let one_file = bench.times(|_| {
        browser.fresh(&format!("file://{}", page.display()));
        browser.until(PAINTED);
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

/// The page of a run of a hundred steps.
fn violation_page(bench: &Bench<'_>) -> String {
    let browser = bench.browser;
    open_violation(bench, "hundred.m");
    let page = browser.run_later(
        "const done = arguments[arguments.length - 1];
         const look = () => { const link = [...document.querySelectorAll('a[download]')].find((it) => it.innerText === 'html'); link ? fetch(link.href).then((it) => it.text()).then(done) : setTimeout(look, 20); };
         look();",
    );
    page.as_str().unwrap().to_string()
}

/// Checks a model and opens what is wrong with it; the address of that.
fn open_violation(bench: &Bench<'_>, file: &str) -> String {
    let browser = bench.browser;
    browser.fresh(&bench.at(&format!("model?f={file}")));
    browser.sees("short");
    browser.click("#check");
    browser.until("document.querySelector('.property[data-verdict=violated] a')");
    let link = browser
        .run("return document.querySelector('.property[data-verdict=violated] a').getAttribute('href')");
    browser.click(".property[data-verdict=violated] a");
    link.as_str().unwrap().to_string()
}

/// A call of the server from the page, and how long it takes.
fn call(browser: &Browser, path: &str, body: &str) -> f64 {
    let spent = browser.run_later(&format!(
        "const done = arguments[arguments.length - 1]; const began = performance.now();
         fetch('/api/v1/{path}', {{ method: 'POST', headers: {{ 'Content-Type': 'application/json' }}, body: JSON.stringify({body}) }}).then((it) => it.arrayBuffer()).then(() => done(performance.now() - began));"
    ));
    spent.as_f64().unwrap()
}

fn typing(bench: &Bench<'_>) -> Vec<Measured> {
    let browser = bench.browser;
    browser.fresh(&bench.at("model?f=lines.m"));
    browser.sees("in range");
    // A key before the last semicolon, as somebody types it, and the way back.
    let typed = |command: &str, seen: &str| {
        let spent = browser.run_later(&format!(
            "const done = arguments[arguments.length - 1]; const field = document.querySelector('textarea');
             const at = field.value.lastIndexOf(';'); field.focus(); field.setSelectionRange(at, at);
             const began = performance.now(); document.execCommand({command});
             const look = () => {seen} ? done(performance.now() - began) : setTimeout(look, 2); look();"
        ));
        spent.as_f64().unwrap()
    };
    let diagnosed = bench.times(|_| {
        let spent = typed("'insertText', false, '+'", "document.querySelector('.problems .error')");
        typed("'delete'", "!document.querySelector('.problems .error')");
        spent
    });
    browser.run("sessionStorage.clear()");
    let model = bench.times(|at| {
        // Another text each time: nothing is known of it.
        let text = format!("{}\n-- {at}\n", gallery("murphi/german.m"));
        call(browser, "model", &format!("{{ file: 'german.m', text: {} }}", serde_json::json!(text)))
    });
    vec![
        Measured { what: "key to diagnostics, 2,000 lines", figure: diagnosed, budget: 300.0, unit: "ms" },
        Measured { what: "what is known of a model (german.m)", figure: model, budget: 200.0, unit: "ms" },
    ]
}

fn checks(bench: &Bench<'_>) -> Vec<Measured> {
    let browser = bench.browser;
    let (mut begun, mut stopped, mut told) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..bench.times {
        browser.fresh(&bench.at("model?f=endless.m"));
        browser.until("document.querySelector('#check')");
        let spent = browser.run_later(
            "const done = arguments[arguments.length - 1]; const began = performance.now(); let seen = 0; let id = null;
             document.querySelector('#check').click();
             const running = () => document.querySelector('.run[data-stage=running]') ? next() : setTimeout(running, 2);
             const next = () => {
               seen = performance.now() - began;
               id = document.querySelector('.run[data-stage=running] b').innerText.split(' ')[1];
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

fn long_run(bench: &Bench<'_>) -> Vec<Measured> {
    let browser = bench.browser;
    let link = open_violation(bench, "long.m");
    let opened = bench.times(|at| {
        browser.fresh(&bench.at("model?f=long.m"));
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
    let frame = bench.times(|_| {
        let spent = browser.run(
            "const scroll = document.querySelector('.lane-scroll'); const spent = [];
             for (let at = 0; at < 60; at++) { const began = performance.now(); scroll.scrollTop = at * 400; scroll.dispatchEvent(new Event('scroll')); spent.push(performance.now() - began); }
             return spent.sort((one, other) => one - other)[54]",
        );
        spent.as_f64().unwrap()
    });
    // Only what is seen is in the page.
    let rows = browser.run("return document.querySelectorAll('.lane-scroll .row').length");
    assert!(rows.as_u64().unwrap() < 200, "{rows} rows");
    browser.run("document.activeElement.blur()");
    let stepped = bench.times(|_| {
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

fn walks(bench: &Bench<'_>) -> Vec<Measured> {
    let browser = bench.browser;
    browser.fresh(&bench.at("model?f=many.m"));
    browser.sees("fine");
    let moves = bench.times(|at| {
        let path: Vec<String> = std::iter::once("0".into()).chain((0..at).map(|it| it.to_string())).collect();
        call(browser, "walk", &format!("{{ file: 'many.m', path: '{}' }}", path.join(".")))
    });
    vec![Measured { what: "walk: 500 moves of a state", figure: moves, budget: 100.0, unit: "ms" }]
}

fn graphs(bench: &Bench<'_>) -> Vec<Measured> {
    let browser = bench.browser;
    browser.fresh(&bench.at("graph?f=large.m&q=0&limit=200000"));
    browser.until("document.querySelector('.bar .faint')?.innerText.includes('100,489 states')");
    browser.until("document.querySelectorAll('svg.graph .node').length > 3");
    // The page has made it already.
    let graph = browser.run_later(
        "const done = arguments[arguments.length - 1];
         fetch('/api/v1/graphs', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ file: 'large.m', set: {}, quotient: false, limit: 200000 }) }).then((it) => it.json()).then((it) => done(it.graph));",
    );
    let graph = graph.as_str().unwrap().to_string();
    let path = format!("graphs/{graph}/view");
    let placed = bench.times(|_| {
        let spent = browser.run_later(&format!(
            "const done = arguments[arguments.length - 1]; const began = performance.now();
             fetch('/api/v1/graphs/{graph}/overview').then((it) => it.arrayBuffer()).then(() => done(performance.now() - began));"
        ));
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
    let view = bench.times(|at| call(browser, &path, &format!("{{ around: {}, radius: 10 }}", 40_000 + at)));
    let drawn = bench.times(|at| {
        let spent = browser.run_later(&format!(
            "const done = arguments[arguments.length - 1];
             Promise.all([import('/picture.js'), fetch('/api/v1/{path}', {{ method: 'POST', headers: {{ 'Content-Type': 'application/json' }}, body: JSON.stringify({{ around: {}, radius: 10 }}) }}).then((it) => it.json())]).then(([{{ drawPicture }}, {{ picture, about }}]) => {{
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
