//! The walk screen.

use super::{blur, open_run, param};
use crate::{browser::Site, driver::Browser};

/// From the last state of a run but one: what may happen, what is wrong then, back, and the walk is in the address.
pub(crate) fn by_hand(browser: &Browser, site: &Site) {
    open_run(browser, site, "german_bug.m", "");
    blur(browser);
    browser.press("k");
    browser.until("document.querySelector('.step h2').innerText.startsWith('step 8')");
    browser.press("s");
    browser.until("location.hash.startsWith('#/walk')");
    browser.until("document.querySelectorAll('.move').length > 1");
    browser.picture("studio-walk");
    browser.click(".move.wrong");
    browser.until("document.querySelector('.centre > div > .bad')");
    let path = param(browser, "p");
    browser.reload();
    browser.until("document.querySelector('.centre > div > .bad')");
    assert_eq!(param(browser, "p"), path);
    blur(browser);
    browser.press("b");
    browser.until("!document.querySelector('.centre > div > .bad')");
    // A row of the lanes leads back to its state.
    browser.click("svg [data-row='3'] .number");
    browser.until("document.querySelector('.bar .count').innerText === '3 steps'");
}

pub(crate) fn disabled(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("walk?f=german_bug.m&p=0"));
    browser.click(".disabled summary");
    browser.until("document.querySelector('.disabled p code') && document.querySelector('.disabled p').innerText.includes('but ')");
    browser.click(".disabled p a");
    browser.until("location.hash.startsWith('#/model') && location.hash.includes('line=')");
}

pub(crate) fn alike(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("walk?f=lock.m"));
    browser.until("document.querySelector('.move')?.innerText.includes('and 4 alike')");
    assert_eq!(browser.run("return document.querySelectorAll('.move').length"), 1);
    browser.click(".move");
    // Who is inside is not like the others any more.
    browser.until("document.querySelectorAll('.move').length === 2");
}

pub(crate) fn random(browser: &Browser, site: &Site) {
    let mut paths = Vec::new();
    for _ in 0..2 {
        browser.fresh(&site.at("walk?f=german_bug.m&p=0&seed=7"));
        browser.until("document.querySelector('.move')");
        blur(browser);
        browser.press("r");
        // The walk is in the address a moment after it is counted.
        browser.until("document.querySelector('.bar .count').innerText.endsWith('steps') && /[?&]p=0\\./.test(location.hash)");
        paths.push(param(browser, "p"));
    }
    assert_eq!(paths[0], paths[1]);
}

/// Time is a slider, and the clocks show it.
pub(crate) fn time(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("walk?f=fischer_bug.vpl&set=A%3D2"));
    browser.until("document.querySelector('.move')");
    browser.click(".move");
    browser.until("document.querySelector('.bar .count').innerText === '1 step'");
    browser.until("document.querySelector('[aria-label=\"Time to wait\"]')");
    browser.run("const slider = document.querySelector('[aria-label=\"Time to wait\"]'); slider.value = '1'; slider.dispatchEvent(new Event('change'))");
    browser.sees("waited ");
    assert!(param(browser, "p").contains('w'), "{}", param(browser, "p"));
    browser.click(".move");
    browser.until("document.querySelector('.bar .count').innerText === '2 steps'");
    browser.until("document.querySelectorAll('.clocks .strip').length === 2");
    browser.reload();
    browser.until("document.querySelector('.bar .count')?.innerText === '2 steps'");
    browser.picture("studio-time");
}

pub(crate) fn changed(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("walk?f=lock.m&p=0.0.99.1"));
    browser.sees("the model has changed");
    browser.until("document.querySelector('.bar .count').innerText === '1 step'");
    assert_eq!(param(browser, "p"), "0.0");
}

pub(crate) fn keys_alone(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("walk?f=counter.m"));
    browser.until("document.querySelector('.move')");
    blur(browser);
    browser.press("0");
    browser.until("document.querySelector('.bar .count').innerText === '1 step'");
    browser.press("1");
    browser.until("document.querySelector('.bar .count').innerText === '2 steps'");
    browser.press("b");
    browser.until("document.querySelector('.bar .count').innerText === '1 step'");
    browser.press("/");
    browser.until("document.activeElement.matches('input[type=search]')");
}

/// Somewhere else, in the words of the model.
pub(crate) fn until(browser: &Browser, site: &Site) {
    for (file, set, expression) in [
        ("german_bug.m", "", "exists c: client do cache[c].state = Exclusive end"),
        ("lost_update.pml", "", "account == 15"),
        ("peterson.pml", "", "inside == 1 && turn == 1"),
        ("fischer_bug.vpl", "A%3D2", "mode(A[2]) = M4"),
        ("fischer.xta", "N%3D2", "exists (i : pid_t) P(i).cs"),
        ("mcs_bug.red", "", "exists p (mode[p] == 6)"),
        ("update_bug.bp", "Thread%3D2", "lock & updating"),
        ("update.tts", "Thread%3D2", "shared = 3"),
    ] {
        browser.fresh(&site.at(&format!("walk?f={file}&set={set}")));
        browser.until("document.querySelector('.move')");
        browser.type_into("[aria-label=Until]", &format!("{expression}\u{e007}"));
        browser.until("document.querySelector('#said').innerText !== ''");
        let said = browser.run("return document.querySelector('#said').innerText");
        assert!(said.as_str().unwrap().contains("the nearest of"), "{file}: {expression}: {said}");
    }
}

/// A walk at random stops after the rules that somebody marked, and one goes straight to where a rule fires.
pub(crate) fn stops(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("walk?f=counter.m&p=0&seed=3"));
    browser.until("document.querySelector('.move')");
    browser.click(".move-line:nth-child(1) .stop");
    browser.until("document.querySelector('.stops .stop')?.innerText.startsWith('● up')");
    assert_eq!(param(browser, "stops"), "up");
    blur(browser);
    browser.press("r");
    browser.sees("stopped after up");
    browser.until("document.querySelector('.bar .count').innerText !== '20 steps'");
    browser.reload();
    browser.until("document.querySelector('.stops .stop')");
    browser.click(".stops .stop");
    browser.until("!document.querySelector('.stops .stop')");
    // A rule that may not fire here.
    browser.fresh(&site.at("walk?f=counter.m&p=0"));
    browser.click(".disabled summary");
    browser.click(".disabled p button");
    browser.sees("the nearest of");
    browser.until("document.querySelector('.bar .count').innerText === '2 steps'");
    browser
        .until("document.querySelector('svg [data-row=\"2\"]').getAttribute('aria-label').includes('1 → 0')");
}

/// A walk from a state that nobody has reached: typed by hand, checked by its types, and in the address.
pub(crate) fn typed(browser: &Browser, site: &Site) {
    let value = |place: &str, value: &str| {
        browser.run(&format!("[...document.querySelectorAll('.state .place, .state .entry')].find((it) => it.title.includes({place:?})).click()"));
        browser.until("document.querySelector('.typed-value input')");
        browser.run("document.querySelector('.typed-value input').value = ''");
        browser.type_into(".typed-value input", &format!("{value}\u{e007}"));
    };
    browser.fresh(&site.at("walk?f=counter.m&p=0.0"));
    browser.until("document.querySelector('.state .place')");
    value("x", "9");
    browser.sees("x is a number from 0 to 5");
    assert_eq!(param(browser, "p"), "0.0");
    value("x", "5");
    browser.until("document.querySelector('.centre .bad')?.innerText.includes('small')");
    // A rule that no walk from the start can take.
    browser.until("[...document.querySelectorAll('.move')].some((it) => it.innerText.includes('never'))");
    browser.reload();
    browser.until("document.querySelector('.centre .bad')?.innerText.includes('small')");
    blur(browser);
    browser.press("0");
    browser.until("document.querySelector('.bar .count').innerText === '1 step'");
    browser.run("[...document.querySelectorAll('button')].find((it) => it.innerText === 'as a run').click()");
    browser.until("location.hash.startsWith('#/trace') && document.querySelector('.step h2')?.innerText.startsWith('step 1')");
    for (file, set, place, text, seen) in [
        ("german_bug.m", "", "cache[client_1].state", "Exclusive", "Exclusive"),
        ("lost_update.pml", "", "account", "15", "15"),
        ("fischer_bug.vpl", "A%3D2", "x[A_1]", "3/2", "3/2"),
        ("station.xta", "", "Train(0).x", "7", "7"),
        ("update_bug.bp", "Thread%3D2", "lock", "true", "true"),
    ] {
        browser.fresh(&site.at(&format!("walk?f={file}&set={set}&p=0")));
        browser.until("document.querySelector('.state .place')");
        let place = match browser.run(&format!("return [...document.querySelectorAll('.state .place, .state .entry')].map((it) => it.title).find((it) => it.includes({place:?})) ?? null")).as_str() {
            Some(title) => title.to_string(),
            None => panic!("{file} has no {place}: {}", browser.run("return document.querySelector('.state').innerText")),
        };
        value(&place, text);
        browser.sees("a walk from a state that was typed");
        browser.until(&format!("document.querySelector('.state').innerText.includes({seen:?})"));
        assert!(param(browser, "p").starts_with("0.s"), "{file}: {}", param(browser, "p"));
    }
}
