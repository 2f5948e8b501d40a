//! The run screen.

use super::{blur, check, open_run, param};
use crate::{browser::Site, driver::Browser, tellings::OTHER};

pub(crate) fn understood(browser: &Browser, site: &Site) {
    open_run(browser, site, "german_bug.m", "");
    browser.until("document.querySelectorAll('.lane-name').length >= 3");
    // The message that nobody takes, what is wrong, and where it stands in the source.
    browser.until("document.querySelector('svg line.open')");
    browser.until("document.querySelector('.step')?.innerText.includes('✗')");
    browser.until("document.querySelector('.source mark')");
    browser.picture("studio-run");
    browser.click("svg [data-row='4'] .number");
    browser.until("document.querySelector('.step h2').innerText.startsWith('step 4')");
    browser.click(".step a");
    browser.until("location.hash.startsWith('#/model') && document.querySelector('textarea')");
}

pub(crate) fn reload(browser: &Browser, site: &Site) {
    open_run(browser, site, "german_bug.m", "");
    browser.click("svg [data-row='4'] .number");
    browser.until("document.querySelector('.step h2').innerText.startsWith('step 4')");
    let before = browser.run("return document.querySelector('.step').innerText");
    assert_eq!(param(browser, "s"), "4");
    browser.reload();
    browser.until("document.querySelector('.step h2')?.innerText.startsWith('step 4')");
    assert_eq!(browser.run("return document.querySelector('.step').innerText"), before);
}

pub(crate) fn keys_alone(browser: &Browser, site: &Site) {
    open_run(browser, site, "german_bug.m", "");
    blur(browser);
    let step = |number: &str| format!("document.querySelector('.step h2').innerText.startsWith('{number}')");
    for (key, shown) in
        [("\u{e011}", "start"), ("j", "step 1"), ("\u{e015}", "step 2"), ("\u{e013}", "step 1")]
    {
        browser.press(key);
        browser.until(&step(shown));
    }
    browser.press("\u{e010}");
    browser.until(&step("step 9"));
    browser.press("k");
    browser.until(&format!("!{}", step("step 9")));
    browser.press("J");
    browser.until(&step("step 9"));
    browser.press("s");
    browser.until("location.hash.startsWith('#/walk')");
    browser.until("document.querySelectorAll('.move').length > 1");
}

pub(crate) fn levels(browser: &Browser, site: &Site) {
    open_run(browser, site, "german_bug.m", "");
    blur(browser);
    let rows = |browser: &Browser| {
        browser.run("return document.querySelectorAll('.lane-scroll .row').length").as_u64().unwrap()
    };
    browser.press("0");
    browser.until("document.querySelector('.levels [aria-pressed=true]').innerText === '0'");
    let all = rows(browser);
    browser.press("3");
    browser.until("document.querySelector('.levels [aria-pressed=true]').innerText === '3'");
    browser.until(&format!("document.querySelectorAll('.lane-scroll .row').length < {all}"));
    assert_eq!(param(browser, "lv"), "3");
    browser.reload();
    browser.until("document.querySelector('.levels [aria-pressed=true]')?.innerText === '3'");
}

pub(crate) fn watched(browser: &Browser, site: &Site) {
    open_run(browser, site, "german_bug.m", "");
    browser.type_into("[aria-label=Watch]", "owned\u{e007}");
    browser.until("document.querySelector('.watches code')?.innerText === 'owned'");
    browser.until("document.querySelector('.watches p').innerText.includes('changes at')");
    // What is wrong with it is said.
    browser.type_into("[aria-label=Watch]", "ownde\u{e007}");
    browser.until("document.querySelector('#said').innerText.includes('ownde')");
    browser.reload();
    browser.until("document.querySelector('.watches code')?.innerText === 'owned'");
    let step = browser.run("return document.querySelector('.watches p button:not([title])').innerText");
    browser.click(".watches p button:not([title])");
    browser.until(&format!("document.querySelector('.step h2').innerText.startsWith('step ' + {step})"));
}

pub(crate) fn exported(browser: &Browser, site: &Site) {
    open_run(browser, site, "german_bug.m", "");
    let got = browser.run_later(
        "const done = arguments[arguments.length - 1];
         (async () => {
           const texts = {};
           for (const link of document.querySelectorAll('a[download]')) texts[link.innerText] = await (await fetch(link.href)).text();
           done(texts);
         })();",
    );
    for (how, begins) in [
        ("text", "client_1"),
        ("mermaid", "sequenceDiagram"),
        ("plantuml", "@startuml"),
        ("html", "<!DOCTYPE html>"),
        ("itf", "{"),
    ] {
        let text = got[how].as_str().unwrap_or_default();
        assert!(text.trim_start().starts_with(begins), "{how}: {}", &text[..text.len().min(80)]);
    }
}

pub(crate) fn opened(browser: &Browser, site: &Site) {
    open_run(browser, site, "lock.m", "");
    let itf = browser.run_later(
        "const done = arguments[arguments.length - 1];
         fetch([...document.querySelectorAll('a[download]')].find((it) => it.innerText === 'itf').href).then((it) => it.text()).then(done);",
    );
    std::fs::write(site.folder.path().join("lock.1.itf.json"), itf.as_str().unwrap()).unwrap();
    browser.fresh(&site.at("trace"));
    browser.sees("lock.1.itf.json");
    browser.click("a[href*='lock.1.itf.json']");
    browser.until("document.querySelector('.step h2')?.innerText.startsWith('step 2')");
    browser.sees("✗ violated");
}

pub(crate) fn infinite(browser: &Browser, site: &Site) {
    open_run(browser, site, "starvation.m", "");
    browser.sees("again and again");
}

pub(crate) fn deadlock(browser: &Browser, site: &Site) {
    open_run(browser, site, "dining_bug.m", "");
    browser.sees("Why nothing can move");
    browser.until("document.querySelectorAll('.obstacles tr').length >= 3");
    browser.picture("studio-deadlock");
}

pub(crate) fn clocks(browser: &Browser, site: &Site) {
    open_run(browser, site, "fischer_bug.vpl", "A%3D2");
    browser.until("document.querySelectorAll('.clocks .strip').length === 2");
    browser.until("document.querySelectorAll('.clocks polyline').length >= 2");
    browser.until("document.querySelector('.clocks .reset')");
    browser.picture("studio-clocks");
    // A click into time chooses the step there.
    browser.run("const box = document.querySelector('.clocks svg').getBoundingClientRect(); document.querySelector('.clocks svg').dispatchEvent(Object.assign(new MouseEvent('click', { bubbles: true, clientX: box.left + 131, clientY: box.top + 10 })))");
    browser.until("!document.querySelector('.clocks svg').getAttribute('aria-label').endsWith(document.querySelector('[aria-label=Step]').max)");
    browser.click(".clocks button");
    browser.sees("by steps");
}

/// The parts as automata: as many dots as parts, and the way of the step is thick.
pub(crate) fn templates(browser: &Browser, site: &Site) {
    open_run(browser, site, "fischer_bug.vpl", "A%3D3");
    browser.until("document.querySelector('.templates figure svg.graph .tokens')");
    const SUM: &str = "[...document.querySelectorAll('.templates .tokens')].map((it) => Number(it.textContent.slice(2) || 1)).reduce((a, b) => a + b, 0) === 3";
    browser.until(SUM);
    browser.until("document.querySelector('.templates .edge.taken')");
    let before = browser.run("return document.querySelector('.templates').textContent");
    blur(browser);
    browser.press("\u{e011}");
    browser.until(SUM);
    browser.until("document.querySelectorAll('.templates .tokens').length === 1");
    assert_ne!(browser.run("return document.querySelector('.templates').textContent"), before);
    browser.press("\u{e010}");
    browser.until("document.querySelector('.templates .edge.taken')");
    browser.run("document.querySelector('.centre').scrollTop = 9999");
    // The picture is taken when it is painted.
    browser.run_later(
        "const done = arguments[arguments.length - 1]; requestAnimationFrame(() => setTimeout(done, 300));",
    );
    browser.picture("studio-templates");
}

/// The pointer to what was deleted is seen.
pub(crate) fn objects(browser: &Browser, site: &Site) {
    open_run(browser, site, "use_after_free.dpml", "");
    browser.until("document.querySelector('.heap .pointer.dangling')");
    browser.picture("studio-heap");
}

pub(crate) fn witness(browser: &Browser, site: &Site) {
    check(browser, site, "station.xta", "");
    browser.run(
        "[...document.querySelectorAll('.property a')].find((it) => it.innerText === 'show a run').click()",
    );
    browser.until("document.querySelector('.step h2')");
    browser.sees("a run");
}

/// What a clock could show had the steps been taken at other times, and what it is compared with.
pub(crate) fn zones(browser: &Browser, site: &Site) {
    open_run(browser, site, "fischer_bug.vpl", "A%3D2");
    browser.until("document.querySelectorAll('.clocks rect.zone').length > 0");
    browser.until("document.querySelector('.clocks rect.zone title').textContent.includes('after step')");
    browser.until("document.querySelectorAll('.clocks line.bound').length > 0");
}

/// The run of a violation beside a walk by hand that parts from it.
pub(crate) fn compared(browser: &Browser, site: &Site) {
    open_run(browser, site, "counter.m", "");
    let bad = param(browser, "t");
    browser.fresh(&site.at(&format!("trace?t={bad}&with=p%3A0.0.1.0%3A%3Acounter.m")));
    browser.until("document.querySelectorAll('.beside-row').length === 5");
    browser.sees("they part at");
    browser.until("document.querySelector('.beside-row.only-right')");
    browser.until("document.querySelector('.step table')?.innerText.includes('x')");
    browser.picture("studio-compare");
    blur(browser);
    browser.press("\u{e011}");
    browser.until("document.querySelector('.beside-row[aria-selected=true]').dataset.row === '0'");
    browser.sees("The states are the same.");
    browser.press("J");
    browser.until("document.querySelector('.beside-row[aria-selected=true]').dataset.row !== '0'");
    browser.until("!document.querySelector('.step').innerText.includes('The states are the same.')");
    let before = browser.run("return document.querySelector('.step').innerText");
    browser.reload();
    browser.until("document.querySelector('.step h2')?.innerText.startsWith('after step')");
    assert_eq!(browser.run("return document.querySelector('.step').innerText"), before);
    // From the run itself, by a choice of all others.
    browser.fresh(&site.at("walk?f=counter.m&p=0.0.0"));
    browser.until("document.querySelectorAll('.move').length > 0");
    browser.run("[...document.querySelectorAll('button')].find((it) => it.innerText === 'as a run').click()");
    browser.until("location.hash.startsWith('#/trace') && document.querySelector('[aria-label=\"Compare with\"] option:nth-child(2)')");
    browser.run("const choice = document.querySelector('[aria-label=\"Compare with\"]'); choice.selectedIndex = 1; choice.dispatchEvent(new Event('change'))");
    browser.until("location.hash.includes('with=') && document.querySelector('.beside-row')");
}

pub(crate) fn lanes(browser: &Browser, site: &Site) {
    open_run(browser, site, "german_bug.m", "");
    browser.until("document.querySelectorAll('.lane-name').length >= 3");
    let first = browser.run("return document.querySelector('.lane-name').title");
    browser.run("document.querySelectorAll('.lane-name')[1].querySelector('[title^=Move]').click()");
    browser.until(&format!("document.querySelector('.lane-name').title !== {first}"));
    let lanes = browser.run("return document.querySelectorAll('.lane-name').length").as_u64().unwrap();
    browser.run("document.querySelector('.lane-name [title^=Hide]').click()");
    browser.until(&format!("document.querySelectorAll('.lane-name').length === {}", lanes - 1));
    browser.sees("1 hidden lane");
    browser.reload();
    browser.until(&format!("document.querySelectorAll('.lane-name').length === {}", lanes - 1));
    browser.click(".lane-idle button");
    browser.until(&format!("document.querySelectorAll('.lane-name').length === {lanes}"));
    assert_eq!(param(browser, "lanes"), "");
}

pub(crate) fn writers(browser: &Browser, site: &Site) {
    open_run(browser, site, "german_bug.m", "");
    browser.run(
        "[...document.querySelectorAll('.state .place')].find((it) => it.innerText === 'owned').click()",
    );
    browser.until("document.querySelector('.followed')?.innerText.includes('changes at')");
    browser.until("document.querySelector('svg .marked-row')");
    blur(browser);
    browser.press("\u{e011}");
    browser.until("document.querySelector('.step h2').innerText.startsWith('start')");
    browser.press("n");
    browser.until("document.querySelector('.followed button').innerText === document.querySelector('.step h2').innerText.split(' ')[1]");
    assert_eq!(param(browser, "v"), "owned");
}

pub(crate) fn kept(browser: &Browser, site: &Site) {
    open_run(browser, site, "dining_bug.m", "");
    browser.run("[...document.querySelectorAll('button')].find((it) => it.innerText === 'minimise').click()");
    browser.until("location.hash.includes('m%3A') && document.querySelector('.step h2')");
    browser.run(
        "[...document.querySelectorAll('button')].find((it) => it.innerText === 'keep as a test').click()",
    );
    browser.sees("shoal trace replay dining_bug.1.itf.json");
    assert!(site.text("dining_bug.1.itf.json").contains("#meta"));
    blur(browser);
    browser.press(" ");
    browser.until("document.querySelector('.step h2').innerText.startsWith('step 2')");
    browser.press(" ");
    browser.until("document.querySelector('[title^=Play]').innerText === '▷'");
}

pub(crate) fn arrays(browser: &Browser, site: &Site) {
    open_run(browser, site, "german_bug.m", "");
    browser.until("document.querySelectorAll('.state .strip-entries .entry').length > 2");
    browser.until("document.querySelector('.state .entry.changed')");
    let together = browser.run("return document.querySelectorAll('.state tr').length").as_u64().unwrap();
    browser.run("[...document.querySelectorAll('label')].find((it) => it.innerText === 'entries').querySelector('input').click()");
    browser.until(&format!("document.querySelectorAll('.state tr').length > {together}"));
}

/// From a step of a run to its state among all others, also in time.
pub(crate) fn around(browser: &Browser, site: &Site) {
    for (file, set) in [("counter.m", ""), ("fischer_bug.vpl", "A%3D2")] {
        open_run(browser, site, file, set);
        browser
            .run("[...document.querySelectorAll('button')].find((it) => it.innerText === 'graph').click()");
        browser
            .until("location.hash.startsWith('#/graph') && document.querySelector('svg.graph .chosen-node')");
        browser.until("location.hash.includes('around=') && !location.hash.includes('of=')");
    }
}

/// Only the steps that touch one lane; and folded to what matters by a key.
pub(crate) fn one_lane(browser: &Browser, site: &Site) {
    open_run(browser, site, "german_bug.m", "");
    browser.until("document.querySelectorAll('.lane-name').length >= 3");
    let rows = browser.run("return document.querySelectorAll('.lane-scroll .row').length").as_u64().unwrap();
    browser.run("document.querySelector('.lane-name [title^=Only]').click()");
    browser.until("document.querySelectorAll('.lane-name').length === 1");
    browser.until(&format!("document.querySelectorAll('.lane-scroll .row').length < {rows}"));
    browser.click(".lane-idle button");
    browser.until(&format!("document.querySelectorAll('.lane-scroll .row').length === {rows}"));
    blur(browser);
    browser.press("f");
    browser.until("document.querySelector('.levels [aria-pressed=true]').innerText === '2'");
    browser.press("f");
    browser.until("document.querySelector('.levels [aria-pressed=true]').innerText === '1'");
}

/// What made a step possible: in words, and as lines to the steps that did.
pub(crate) fn causes(browser: &Browser, site: &Site) {
    open_run(browser, site, "german_bug.m", "");
    browser.run("document.querySelector('.lane-scroll .row[data-row=\"2\"]')?.dispatchEvent(new MouseEvent('click', { bubbles: true }))");
    browser
        .until("document.querySelector('.because')?.innerText.includes('request[client_1] = WantExclusive')");
    assert!(browser.run("return document.querySelectorAll('svg .because').length === 0").as_bool().unwrap());
    blur(browser);
    browser.press("c");
    browser.until("document.querySelectorAll('svg .because').length > 0");
    assert_eq!(param(browser, "because"), "1");
    browser.reload();
    browser.until("document.querySelectorAll('svg .because').length > 0");
    browser.run(
        "[...document.querySelectorAll('.because button')].find((it) => it.innerText === 'step 1').click()",
    );
    browser.until("document.querySelector('.step h2').innerText.startsWith('step 1')");
}

/// A run that lies elsewhere is sent, and one that fits no model is refused in words.
pub(crate) fn sent(browser: &Browser, site: &Site) {
    open_run(browser, site, "german_bug.m", "");
    let itf = browser.run_later(
        "const done = arguments[arguments.length - 1]; fetch([...document.querySelectorAll('a[download]')].find((it) => it.innerText === 'itf').href).then((it) => it.text()).then((it) => { sessionStorage.setItem('sent', it); done(it.length); });",
    );
    assert!(itf.as_u64().unwrap() > 1_000);
    let send = |text: &str| {
        browser.fresh(&site.at("trace"));
        browser.until("document.querySelector('input[type=file]')");
        browser.run(&format!("const field = document.querySelector('input[type=file]'); const given = new DataTransfer(); given.items.add(new File([{text}], 'mine.itf.json')); field.files = given.files; field.dispatchEvent(new Event('change'))"));
    };
    send("'{}'");
    browser.until("document.querySelector('#said').innerText.includes('mine.itf.json')");
    let _ = browser.logs();
    send("sessionStorage.getItem('sent')");
    browser.until("document.querySelector('.step h2')?.innerText.startsWith('step 9')");
    assert!(param(browser, "t").starts_with("u:"));
    // What is no expression is marked while it is typed.
    browser.type_into("[aria-label=Watch]", "owned +");
    browser.until("document.querySelector('[aria-label=Watch]').getAttribute('aria-invalid') === 'true'");
    browser.run("document.querySelector('[aria-label=Watch]').value = 'owned'; document.querySelector('[aria-label=Watch]').dispatchEvent(new Event('input'))");
    browser.until("!document.querySelector('[aria-label=Watch]').hasAttribute('aria-invalid')");
    browser.run("document.querySelector('[aria-label=Watch]').value = ''");
    browser.run("sessionStorage.clear()");
}

/// A run of another tool: told from its file, and nothing is offered that would need a model.
pub(crate) fn alone(browser: &Browser, site: &Site) {
    std::fs::write(site.folder.path().join("token.itf.json"), OTHER).unwrap();
    browser.fresh(&site.at("trace?t=f%3Atoken.itf.json"));
    browser.until("document.querySelector('.step h2')?.innerText.startsWith('step 3')");
    browser.sees("from the file alone");
    browser.until(
        "[...document.querySelectorAll('.lane-name')].map((it) => it.title).join() === 'n1,n2,shared'",
    );
    browser.until("document.querySelector('svg line.message')");
    let buttons =
        browser.run("return [...document.querySelectorAll('.bar button')].map((it) => it.innerText).join()");
    for needs in ["by hand", "graph", "keep", "minimise"] {
        assert!(!buttons.as_str().unwrap().contains(needs), "{buttons}");
    }
    browser.type_into("[aria-label=Watch]", "pc[n1]\u{e007}");
    browser.until("document.querySelector('.watches')?.innerText.includes('critical')");
    blur(browser);
    browser.press("k");
    browser.until("document.querySelector('.step h2').innerText.startsWith('step 2')");
    browser.picture("studio-alone");
}

/// A variable is moved to a lane of its own: the model says so from then on, and the run is drawn so at once.
pub(crate) fn moved(browser: &Browser, site: &Site) {
    let text = site.text("german_bug.m");
    std::fs::write(site.folder.path().join("moved.m"), &text).unwrap();
    open_run(browser, site, "moved.m", "");
    browser.click("svg [data-row='4'] .number");
    browser.until("document.querySelector('.step h2').innerText.startsWith('step 4')");
    browser.until("document.querySelector('.tell[title^=\"How owned\"]')");
    browser.run("document.querySelector('.tell[title^=\"How owned\"]').click()");
    browser.type_into("[aria-label=Lane]", "memory\u{e007}");
    browser.until("[...document.querySelectorAll('.lane-name')].some((it) => it.title === 'memory')");
    browser.sees("-- shoal: lane memory = owned");
    assert_eq!(site.text("moved.m"), format!("{text}-- shoal: lane memory = owned\n"));
    browser.picture("studio-moved");
}
