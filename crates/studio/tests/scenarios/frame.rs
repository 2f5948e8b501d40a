//! What all screens have in common.

use shoal_studio::OpenOptions;

use super::{blur, check_all, open_run, param, slack};
use crate::{browser::Site, common::COUNTER, driver::Browser};

/// Without the token nothing is shown.
pub(crate) fn without_the_token(browser: &Browser, site: &Site) {
    browser.go(&site.at("model?f=counter.m"));
    browser.sees("open the address that `shoal studio` printed");
    let _ = browser.logs();
}

/// The page is there soon, and small.
pub(crate) fn first_screen(browser: &Browser, site: &Site) {
    let slack = slack(browser);
    browser.fresh(&site.at("model?f=counter.m"));
    browser.sees("in range");
    let known = browser.run(
        "const paint = performance.getEntriesByType('paint').find((it) => it.name === 'first-contentful-paint');
         const sizes = performance.getEntriesByType('resource').filter((it) => !it.name.includes('/api/')).map((it) => it.encodedBodySize);
         return [paint?.startTime ?? 0, sizes.reduce((one, other) => one + other, 0)]",
    );
    let (paint, bytes) = (known[0].as_f64().unwrap(), known[1].as_u64().unwrap());
    println!("    first paint after {paint:.0} ms (300), page of {bytes} bytes (220,000); slack {slack:.1}");
    assert!(paint < 300.0 * slack && bytes < 220_000);
}

/// No name of a model runs or becomes anything.
pub(crate) fn hostile_names(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("model?f=hostile.m"));
    browser.sees("</script>");
    check_all(browser);
    browser.click(".property[data-verdict=violated] a");
    browser.until("document.querySelector('.step h2')?.innerText.includes('<img')");
    for screen in ["trace", "walk", "graph", "any"] {
        let caught = browser.run("return document.title.includes('caught') && !document.title.includes('script') || document.querySelector('img') !== null || document.querySelector('main script') !== null");
        assert_eq!(caught, false, "{screen}");
        browser.go(&site.at(&format!("{screen}?f=hostile.m")));
        browser.until(&format!(
            "location.hash.startsWith('#/{screen}') && document.querySelector('main').innerText.length > 20"
        ));
    }
}

pub(crate) fn dark(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("model?f=counter.m"));
    browser.sees("in range");
    blur(browser);
    browser.press("d");
    browser.until("document.documentElement.dataset.theme === 'dark'");
    let dark = browser.run("return getComputedStyle(document.body).backgroundColor");
    browser.reload();
    browser.sees("in range");
    assert_eq!(browser.run("return getComputedStyle(document.body).backgroundColor"), dark);
    browser.picture("studio-dark");
    browser.click("#theme");
    browser.until("document.documentElement.dataset.theme === 'light'");
}

pub(crate) fn screens_by_keys(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("model?f=fischer.vpl&set=A%3D2"));
    browser.until("document.querySelector('.property')");
    for (key, screen) in
        [("r", "trace"), ("s", "walk"), ("g", "graph"), ("d", "desk"), ("a", "any"), ("m", "model")]
    {
        blur(browser);
        browser.press(&format!("g{key}"));
        browser.until(&format!("location.hash.startsWith('#/{screen}') && document.querySelector('main').className === '{screen}'"));
        assert!(browser.address().contains("fischer.vpl"), "{}", browser.address());
    }
    blur(browser);
    browser.press("?");
    browser.until("document.querySelector('dialog[open]')");
    browser.press("\u{e00c}");
    browser.until("!document.querySelector('dialog')");
}

/// A server that does not answer any more is said to be gone, and what was typed is kept.
pub(crate) fn lost_server(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("model?f=counter.m"));
    browser.sees("in range");
    browser.cut_off(true);
    browser.run("const field = document.querySelector('textarea'); field.focus(); field.setSelectionRange(field.value.length, field.value.length)");
    browser.type_into("textarea", "-- kept\n");
    browser.until("!document.querySelector('#lost').hidden");
    browser.sees("shoal studio has ended");
    browser.cut_off(false);
    browser.reload();
    browser.until("document.querySelector('textarea')?.value.includes('-- kept')");
    browser.until("document.querySelector('#lost').hidden");
    browser.run("sessionStorage.clear()");
    let _ = browser.logs();
}

pub(crate) fn empty_folder(browser: &Browser, _: &Site) {
    let empty = Site::with(&[], OpenOptions::default());
    browser.go(&empty.address);
    browser.sees("There are no models in this folder.");
    browser.click(".empty button");
    browser.until("location.hash.includes('lock.m') && document.querySelector('.property')");
    check_all(browser);
    browser.until("!document.querySelector('.property:not([data-verdict=holds])')");
    std::fs::remove_file(empty.folder.path().join("lock.m")).unwrap();
    for screen in ["trace", "walk", "graph", "desk", "any"] {
        browser.go(&empty.at(screen));
        browser.until(&format!(
            "document.querySelector('main').className === '{screen}' && document.querySelector('.empty')"
        ));
    }
}

pub(crate) fn read_only(browser: &Browser, _: &Site) {
    let files = [("counter.m", COUNTER.to_string())];
    let site = Site::with(&files, OpenOptions { read_only: true, ..OpenOptions::default() });
    browser.go(&site.address);
    browser.sees("in range");
    assert_eq!(browser.run("return document.querySelector('[title^=\"Save\"]').disabled"), true);
    check_all(browser);
}

/// What can be known by a script: names of fields and buttons, one main part, texts that can be read in both themes.
pub(crate) fn accessible(browser: &Browser, site: &Site) {
    open_run(browser, site, "german_bug.m", "");
    let run = format!("trace?f=german_bug.m&t={}", param(browser, "t"));
    for screen in [
        run.as_str(),
        "model?f=counter.m",
        "walk?f=counter.m",
        "graph?f=counter.m",
        "desk?f=fischer.vpl&set=A%3D2",
        "any?f=lock.m",
    ] {
        browser.fresh(&site.at(screen));
        browser.until("document.querySelector('main').innerText.length > 60");
        let nameless = browser.run(
            "return [...document.querySelectorAll('input, select, textarea, button, canvas')].filter((it) => !(it.getAttribute('aria-label') || it.title || it.innerText || it.closest('label'))).map((it) => it.outerHTML)",
        );
        assert_eq!(nameless, serde_json::json!([]), "{screen}");
        for theme in ["light", "dark"] {
            browser.run(&format!("document.documentElement.dataset.theme = '{theme}'"));
            let poor = browser.run(CONTRAST);
            assert_eq!(poor, serde_json::json!([]), "{screen} {theme}");
        }
        if let Some(axe) = axe() {
            let found =
                browser.run_later(&format!("{axe}; const done = arguments[arguments.length - 1]; {AXE}"));
            assert_eq!(found, serde_json::json!([]), "{screen}");
        }
    }
    browser.run("document.documentElement.dataset.theme = 'light'");
}

/// A second opinion where it is installed (`cargo xtask diagrams` does): axe-core.
fn axe() -> Option<String> {
    let modules = std::env::var("SHOAL_NODE_MODULES").ok()?;
    std::fs::read_to_string(format!("{modules}/node_modules/axe-core/axe.min.js")).ok()
}

/// What axe-core finds serious.
const AXE: &str = "axe.run().then(({ violations }) => done(violations.filter(({ impact }) => ['serious', 'critical'].includes(impact)).map(({ id, nodes }) => [id, nodes[0].html])), (error) => done([`${error}`]));";

/// The colours of texts that do not stand out from what is behind them by 4.5 to 1.
const CONTRAST: &str = "
  const parts = (text) => text.match(/[\\d.]+/g).map(Number);
  const bright = ([r, g, b]) => [r, g, b].map((it) => { it /= 255; return it <= 0.03928 ? it / 12.92 : ((it + 0.055) / 1.055) ** 2.4; }).reduce((sum, it, at) => sum + it * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (node) => { for (let it = node; it; it = it.parentElement) { const found = parts(getComputedStyle(it).backgroundColor); if (found.length < 4 || found[3] > 0) return found; } return [255, 255, 255]; };
  const poor = new Set();
  for (const node of document.querySelectorAll('body *')) {
    if (![...node.childNodes].some((it) => it.nodeType === 3 && it.data.trim()) || node.closest('svg, [hidden], .layers, :disabled, noscript, .stale') || !node.checkVisibility()) continue;
    const [one, other] = [bright(parts(getComputedStyle(node).color)), bright(behind(node))].sort((a, b) => b - a);
    if ((one + 0.05) / (other + 0.05) < 4.5) poor.add(node.className + ': ' + getComputedStyle(node).color + ' on ' + behind(node) + ' in ' + node.innerText.slice(0, 30));
  }
  return [...poor];";

/// Whatever can be clicked is found by its name.
pub(crate) fn palette(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("model?f=counter.m"));
    browser.sees("in range");
    let command = |words: &str| {
        blur(browser);
        browser.press(".");
        browser.until("document.querySelector('dialog.palette[open] .commands li')");
        browser.type_into("[aria-label=Command]", words);
        browser.press("\u{e007}");
        browser.until("!document.querySelector('dialog')");
    };
    command("check all");
    browser.until("document.querySelector('.property[data-verdict=violated]')");
    command("field constants");
    browser.until("document.activeElement.matches('[aria-label=Constants]')");
    command("step by hand");
    browser.until("location.hash.startsWith('#/walk') && document.querySelector('.move')");
    command("random 20");
    browser.until("document.querySelector('.bar .count').innerText === '20 steps'");
    blur(browser);
    browser.press(".");
    browser.until("document.querySelector('dialog.palette').innerText.includes('open lock.m')");
    browser.type_into("[aria-label=Command]", "open lock.m\u{e007}");
    browser.until("location.hash.startsWith('#/model') && location.hash.includes('lock.m')");
}

/// Panes are made wider, narrower and folded, by keys and by the mouse, and stay so.
/// In a narrow window the panes stand one below the other, and nothing is wider than the window.
pub(crate) fn narrow(browser: &Browser, site: &Site) {
    browser.resize(Some((600, 900)));
    let screens = [
        "model?f=counter.m",
        "walk?f=counter.m&p=0.0",
        "graph?f=counter.m",
        "desk?f=fischer.vpl",
        "any?f=ticket_lock.spec",
    ];
    for screen in screens {
        browser.fresh(&site.at(screen));
        browser.until("document.querySelector('main > .centre') && document.querySelector('main > .right')");
        browser.until("document.querySelector('main > .right').getBoundingClientRect().top >= document.querySelector('main > .centre').getBoundingClientRect().bottom - 1");
        let wide = browser.run("return document.documentElement.scrollWidth").as_u64().unwrap();
        assert!(wide <= 600, "{screen}: {wide}");
    }
    open_run(browser, site, "german_bug.m", "");
    browser.picture("studio-narrow");
    browser.resize(None);
}

pub(crate) fn panes(browser: &Browser, site: &Site) {
    const RIGHT: &str = "return document.querySelector('main > .right').offsetWidth";
    browser.fresh(&site.at("model?f=counter.m"));
    browser.until("document.querySelector('.handle.of-right')");
    let before = browser.run(RIGHT).as_u64().unwrap();
    browser.run("document.querySelector('.handle.of-right').focus()");
    browser.press("\u{e012}");
    let wider = browser.run(RIGHT).as_u64().unwrap();
    assert!(wider > before, "{before} {wider}");
    browser.drag(".handle.of-right", -60);
    let dragged = browser.run(RIGHT).as_u64().unwrap();
    assert!(dragged.abs_diff(wider + 60) < 4, "{wider} {dragged}");
    browser.reload();
    browser.until("document.querySelector('.handle.of-right')");
    assert_eq!(browser.run(RIGHT).as_u64(), Some(dragged));
    for (key, pane) in [("]", "main > .right"), ("[", "main > .side"), ("_", ".runs")] {
        blur(browser);
        browser.press(key);
        browser.until(&format!("!document.querySelector('{pane}').checkVisibility()"));
        browser.press(key);
        browser.until(&format!("document.querySelector('{pane}').checkVisibility()"));
    }
    assert_eq!(browser.run(RIGHT).as_u64(), Some(before), "shown again as it was made");
}

/// Whatever is shown is in the address: opened anew, every screen is the same.
pub(crate) fn reloads(browser: &Browser, site: &Site) {
    // What takes time is different each time.
    const TEXT: &str =
        "return document.querySelector('main').innerText.replace(/[\\d.]+ s\\b|\\d+\\.\\d MB/g, '')";
    open_run(browser, site, "german_bug.m", "");
    let run = param(browser, "t");
    for (screen, ready) in [
        (format!("trace?f=german_bug.m&t={run}&s=4&lv=2&w=owned"), "document.querySelector('.watches code')"),
        (
            format!("trace?f=german_bug.m&t={run}&lanes=client_1%2Cclient_2&v=owned"),
            "document.querySelector('.followed code')",
        ),
        (
            "walk?f=german_bug.m&p=0.0.1&w=owned&stops=home%20takes%20a%20request".into(),
            "document.querySelector('.watches code')",
        ),
        (
            "graph?f=lock.m&q=0&c=exists%20p%3A%20proc%20do%20inside%5Bp%5D%20end&without=leave".into(),
            "document.querySelector('svg.graph .count')",
        ),
        (
            "desk?f=fischer.vpl&set=A%3D3&steps=merge%20A%5B1%5D%20A%5B2%5D&branches=rw%20A%5B1%5D".into(),
            "document.querySelector('.history li') && document.querySelector('.templates svg')",
        ),
        ("any?f=ticket_lock.spec".into(), "document.querySelector('.cover')"),
        (
            "model?f=lock.m&set=N%3D2&line=4".into(),
            "document.querySelector('.about')?.innerText && document.querySelector('.property') && document.querySelector('.run') && document.querySelector('.files .bad')",
        ),
    ] {
        browser.fresh(&site.at(&screen));
        browser.until(ready);
        let before = browser.run(TEXT);
        browser.reload();
        browser.until(ready);
        browser.until(&format!("(() => {{ {TEXT} }})() === {before}"));
    }
}
