//! The model screen.

use std::time::Instant;

use super::{blur, check, check_all, param, slack};
use crate::{browser::Site, common::COUNTER, driver::Browser};

pub(crate) fn verdicts_and_coverage(browser: &Browser, site: &Site) {
    check(browser, site, "german_bug.m", "");
    browser.until("document.querySelector('.property[data-verdict=violated]')");
    browser.until("document.querySelector('.gutter .known')");
    browser.run("document.querySelector('textarea').scrollTop = 18 * 96");
    browser.picture("studio-model");
    // The heat can be switched off.
    let heat = |value: &str| {
        browser.run(&format!("const choice = document.querySelector('[aria-label=Coverage]'); choice.value = '{value}'; choice.dispatchEvent(new Event('change'))"));
    };
    // What is known of properties stays, and stands in their lines: those that are not far from what is in sight are drawn.
    browser.run("document.querySelector('textarea').scrollTop = 18 * 200");
    browser.until("document.querySelector('.gutter .known.bad')");
    let fired = browser.run("return document.querySelector('.gutter .known.fired').innerText");
    heat("fresh");
    browser.until(&format!("document.querySelector('.gutter .known.fired').innerText !== {fired}"));
    heat("");
    browser.until("!document.querySelector('.gutter .known.fired')");
    heat("fired");
    browser.until("document.querySelector('.files .bad')?.innerText.includes('✗')");
    browser.click(".property[data-verdict=violated] a");
    browser.until("location.hash.startsWith('#/trace')");
}

pub(crate) fn one_property(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("model?f=lock.m"));
    browser.sees("one inside");
    browser.click(".property button[title='Check this property']");
    browser.until("document.querySelectorAll('.property[data-verdict]').length === 1");
    assert_eq!(browser.run("return document.querySelectorAll('.property').length > 1"), true);
}

/// An error is marked as it is typed, and goes when it is mended; verdicts of an older text are grey.
pub(crate) fn typing(browser: &Browser, site: &Site) {
    check(browser, site, "counter.m", "");
    browser.until("document.querySelector('.property[data-verdict=holds]')");
    browser.click("textarea");
    browser.run("const field = document.querySelector('textarea'); field.setSelectionRange(field.value.length, field.value.length)");
    let typed = Instant::now();
    browser.type_into("textarea", "invariant \"new\" y;");
    browser.until("document.querySelector('.marked .error')");
    println!("    an error is marked {} ms after the first key of eighteen", typed.elapsed().as_millis());
    browser.until("document.querySelector('.property.stale')");
    browser.type_into("textarea", "\u{e003}\u{e003}x < 9;");
    browser.until("!document.querySelector('.problems .error')");
    browser.sees("The verdicts are of an older text.");
    browser.run("sessionStorage.clear()");
}

pub(crate) fn saving(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("model?f=mine.m"));
    browser.sees("in range");
    browser.run("const field = document.querySelector('textarea'); field.focus(); field.setSelectionRange(field.value.length, field.value.length)");
    browser.type_into("textarea", "-- mine\n");
    browser.until("!document.querySelector('.dirty').hidden");
    browser.reload();
    browser.until("document.querySelector('textarea')?.value.includes('-- mine') && document.querySelector('.property') && document.querySelector('.run, .runs')");
    browser.run("document.querySelector('textarea').focus()");
    browser.press_with("\u{e009}", "s");
    browser.sees("saved");
    assert!(site.text("mine.m").contains("-- mine"));
    browser.until("document.querySelector('.dirty').hidden");
}

/// What somebody else has written is not written over.
pub(crate) fn conflict(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("model?f=theirs.m"));
    browser.sees("in range");
    browser.run("const field = document.querySelector('textarea'); field.focus(); field.setSelectionRange(field.value.length, field.value.length)");
    browser.type_into("textarea", "-- ours\n");
    browser.until("!document.querySelector('.dirty').hidden");
    // Only now: a text that nobody has changed here follows the one on the disk.
    let theirs = format!("{}-- theirs\n", site.text("theirs.m"));
    std::fs::write(site.folder.path().join("theirs.m"), theirs).unwrap();
    browser.click("[title^='Save']");
    browser.sees("The file has changed on the disk.");
    assert!(site.text("theirs.m").contains("-- theirs"));
    browser.click(".conflict button:nth-of-type(2)");
    browser.until("document.querySelector('.difference .bad').innerText.includes('theirs') && document.querySelector('.difference .good').innerText.includes('ours')");
    browser.click(".conflict button:last-child");
    browser.sees("saved");
    assert!(site.text("theirs.m").contains("-- ours"));
}

pub(crate) fn constants(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("model?f=lock.m"));
    browser.sees("proc = 5");
    browser.type_into("[aria-label=Constants]", "N=2\u{e007}");
    browser.sees("proc = 2");
    assert_eq!(param(browser, "set"), "N=2");
    browser.reload();
    browser.sees("proc = 2");
    check_all(browser);
    // Of another number the verdicts say nothing.
    browser.run("document.querySelector('[aria-label=Constants]').value = ''");
    browser.type_into("[aria-label=Constants]", "N=3\u{e007}");
    browser.until("document.querySelector('.property.stale')");
}

pub(crate) fn two_at_once(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("model?f=endless.m"));
    browser.sees("fine");
    for running in [1, 2] {
        browser.click("#check");
        browser.until(&format!("document.querySelectorAll('.run[data-stage=running]').length === {running}"));
    }
    browser.click("#check");
    browser.until("document.querySelectorAll('.run[data-stage=waiting]').length === 1");
    browser.click(".run[data-stage=waiting] button");
    browser.until("document.querySelectorAll('.run[data-stage=waiting]').length === 0");
    for left in [1, 0] {
        browser.click(".run[data-stage=running] button");
        browser.until(&format!("document.querySelectorAll('.run[data-stage=running]').length === {left}"));
    }
    browser.sees("stopped");
}

/// From the press of the button to the end of the run, as the page sees it.
pub(crate) fn cancelled(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("model?f=endless.m"));
    browser.sees("fine");
    browser.click("#check");
    let begun =
        browser.until("document.querySelector('.run[data-stage=running]')?.innerText.includes('frontier')");
    let spent = browser.run_later(
        "const done = arguments[arguments.length - 1];
         const id = new URLSearchParams(location.hash.split('?')[1]).get('run');
         const began = performance.now();
         (async () => {
           await fetch('/api/v1/runs/' + id, { method: 'DELETE' });
           while ((await (await fetch('/api/v1/runs/' + id)).json()).run.stage !== 'finished') await new Promise((next) => setTimeout(next, 5));
           done(performance.now() - began);
         })();",
    );
    let spent = spent.as_f64().unwrap();
    println!("    progress is seen after {begun:?}; stopped {spent:.0} ms after it was asked (500)");
    let slack = slack(browser);
    assert!(spent < 500.0 * slack, "stopped after {spent} ms, slack {slack:.1}");
    browser.until("document.querySelectorAll('.run[data-stage=running]').length === 0");
    blur(browser);
}

pub(crate) fn broken_symmetry(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("model?f=symmetry_trap.m"));
    browser.sees("not proved symmetric");
    browser.click(".sort summary");
    browser.click(".sort button");
    // The place that breaks it is shown.
    browser
        .until("document.activeElement.tagName === 'TEXTAREA' && document.activeElement.selectionStart > 0");
}

/// How many states symmetry saves.
pub(crate) fn what_if(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("model?f=mutex.m"));
    browser.click("#what-if");
    browser.until("document.querySelector('.what-if')?.innerText.includes('times as many')");
    let words = browser.run("return document.querySelector('.what-if').innerText");
    assert!(words.as_str().unwrap().contains("with symmetry 3 states"), "{words}");
}

/// Where something would help, it is a button.
pub(crate) fn advice(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("model?f=endless.m"));
    browser.sees("fine");
    browser.run("const field = document.querySelector('[aria-label=Seconds]'); field.value = '1'; field.dispatchEvent(new Event('change'))");
    check_all(browser);
    browser.until("document.querySelector('.property[data-verdict=unknown]')");
    browser.sees("allow more");
    browser.click(".advice button");
    browser.until("document.querySelector('[aria-label=Seconds]').value === '4' || document.querySelector('[aria-label=Megabytes]').value === '4000'");
    browser.until("document.querySelector('.run[data-stage=running]')");
    browser.click(".run[data-stage=running] button");
    browser.until("document.querySelectorAll('.run[data-stage=running]').length === 0");
}

/// The keys of the model screen: check, the property at the cursor, the next problem, stop.
pub(crate) fn keys_alone(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("model?f=lock.m"));
    browser.sees("one inside");
    browser.run("const field = document.querySelector('textarea'); field.focus(); field.setSelectionRange(field.value.length, field.value.length)");
    browser.press_all(&["\u{e009}", "\u{e008}"], "\u{e007}");
    browser.until("document.querySelectorAll('.property[data-verdict]').length === 1");
    browser.press_with("\u{e009}", "\u{e007}");
    browser.until("document.querySelectorAll('.property[data-verdict]').length > 1");
    browser.type_into("textarea", "invariant \"new\" y;");
    browser.until("document.querySelector('.problems .error')");
    browser.run("document.querySelector('textarea').setSelectionRange(0, 0)");
    browser.press_with("\u{e00a}", "\u{e038}");
    browser.until("document.querySelector('textarea').selectionStart > 100");
    browser.run("sessionStorage.clear()");
    browser.fresh(&site.at("model?f=endless.m"));
    browser.sees("fine");
    browser.press_with("\u{e009}", "\u{e007}");
    browser.sees("checking…");
    browser.press("\u{e00c}");
    browser.until("!document.querySelector('.run[data-stage=running]')");
    browser.sees("stopped");
}

/// Nothing is wrong: a run in which something happens is one line away.
pub(crate) fn nothing_wrong(browser: &Browser, site: &Site) {
    check(browser, site, "mutex.m", "");
    browser.type_into("[aria-label='Show a run in which']", "exists p: proc do inside[p] end\u{e007}");
    browser.until("location.hash.startsWith('#/walk') && document.querySelector('.bar .count')?.innerText === '2 steps'");
}

/// The partner of a bracket is marked.
pub(crate) fn brackets(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("model?f=lock.m"));
    browser.sees("one inside");
    browser.run("const field = document.querySelector('textarea'); field.focus(); const at = field.value.indexOf('(N'); field.setSelectionRange(at, at)");
    browser.press("\u{e014}");
    browser.until(
        "[...document.querySelectorAll('.marked .bracket')].map((it) => it.textContent).join('') === '()'",
    );
}

/// A file that somebody else writes: the text follows where nothing was typed, and is left alone where something was.
pub(crate) fn disk(browser: &Browser, site: &Site) {
    let path = site.folder.path().join("followed.m");
    let text = |bound: u8| COUNTER.replace("x < 3", &format!("x < {bound}"));
    std::fs::write(&path, text(3)).unwrap();
    browser.fresh(&site.at("model?f=followed.m"));
    browser.sees("in range");
    std::fs::write(&path, text(4)).unwrap();
    browser.until("document.querySelector('textarea').value.includes('x < 4;')");
    browser.sees("changed on the disk");
    assert!(browser.run("return document.querySelector('.conflict').innerText === ''").as_bool().unwrap());
    std::fs::write(site.folder.path().join("brand_new.m"), text(3)).unwrap();
    browser.until("document.querySelector('.files').innerText.includes('brand_new.m')");
    browser.type_into("textarea", "-- mine");
    std::fs::write(&path, text(2)).unwrap();
    browser.until("document.querySelector('.conflict').innerText.includes('keep mine')");
    assert!(
        browser.run("return document.querySelector('textarea').value.includes('-- mine')").as_bool().unwrap()
    );
    browser.run("sessionStorage.clear()");
}

/// The share of the time that rules took, only those that never fired, and the way to somebody's own editor.
pub(crate) fn gutter(browser: &Browser, site: &Site) {
    check(browser, site, "counter.m", "");
    browser.until("document.querySelector('.gutter .known.never')");
    browser.run("const choice = document.querySelector('[aria-label=Coverage]'); choice.value = 'time'; choice.dispatchEvent(new Event('change'))");
    browser.until(
        "[...document.querySelectorAll('.gutter .known.fired')].some((it) => it.innerText.includes('%'))",
    );
    browser.run("[...document.querySelectorAll('.bar label')].find((it) => it.innerText === 'never fired').querySelector('input').click()");
    browser.until(
        "!document.querySelector('.gutter .known.fired') && document.querySelector('.gutter .known.never')",
    );
    let link = browser.run("const field = document.querySelector('textarea'); field.setSelectionRange(40, 40); const link = document.querySelector('#elsewhere'); link.addEventListener('click', (event) => event.preventDefault(), { once: true }); link.click(); return link.href");
    let root = site.folder.path().canonicalize().unwrap();
    assert_eq!(link.as_str().unwrap(), format!("vscode://file{}/counter.m:3", root.display()));
}
