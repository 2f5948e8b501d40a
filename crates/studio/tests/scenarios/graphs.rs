//! The graph screen.

use super::{param, slack};
use crate::{browser::Site, driver::Browser};

pub(crate) fn explored(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("graph?f=german_bug.m&limit=3000"));
    browser.until("document.querySelectorAll('svg.graph .node').length > 5");
    browser.click("svg.graph .node:not(.chosen-node)");
    browser.until("location.hash.includes('around=')");
    browser.picture("studio-graph");
    browser.type_into("[aria-label='Collapse by']", "serving, owned\u{e007}");
    browser.until("document.querySelector('svg.graph .count')?.textContent.startsWith('×')");
    browser.picture("studio-collapsed");
    browser.type_into("[aria-label='Find states']", "owned\u{e007}");
    browser.until("document.querySelector('#said').innerText.includes('nearest')");
}

pub(crate) fn shortest_way(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("graph?f=counter.m"));
    browser.until("document.querySelectorAll('svg.graph .node').length >= 3");
    browser.run("document.querySelector('svg.graph .node[data-node=\"2\"]').dispatchEvent(new MouseEvent('click', { bubbles: true, shiftKey: true }))");
    browser.until("document.querySelector('.details h2')?.innerText.startsWith('from s0')");
    browser.until("document.querySelectorAll('.details li').length === 2");
}

pub(crate) fn reload(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("graph?f=lock.m&q=0&around=3&r=1&x=true"));
    browser.until("document.querySelector('.details h2')?.innerText === 's3'");
    let before = browser.run("return document.querySelector('svg.graph').textContent");
    browser.reload();
    browser.until("document.querySelector('.details h2')?.innerText === 's3'");
    browser.until("document.querySelector('svg.graph')");
    assert_eq!(browser.run("return document.querySelector('svg.graph').textContent"), before);
    assert_eq!(param(browser, "r"), "1");
}

/// A hundred thousand states: placed, drawn whole and drawn near, in time and without a graphics card.
pub(crate) fn large(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("graph?f=large.m&q=0&limit=200000"));
    let opened = browser.until("document.querySelector('.bar .faint')?.innerText.includes('100,489 states')");
    browser.until("document.querySelectorAll('svg.graph .node').length > 3");
    let spent = browser.run_later(
        "const done = arguments[arguments.length - 1];
         const canvas = document.querySelector('canvas.overview');
         const turn = (by) => { const began = performance.now(); canvas.dispatchEvent(new WheelEvent('wheel', { deltaY: by, cancelable: true, bubbles: true })); return performance.now() - began; };
         const whole = [1, -1, 1, -1, 1].map(turn).sort((one, other) => one - other)[2];
         for (let at = 0; at < 6; at++) turn(-600);
         const near = [1, -1, 1, -1, 1].map(turn).sort((one, other) => one - other)[2];
         done([whole, near]);",
    );
    let (whole, near) = (spent[0].as_f64().unwrap(), spent[1].as_f64().unwrap());
    println!(
        "    100,489 states: shown after {opened:?}, a frame of all {whole:.1} ms (33), near {near:.1} ms (33)"
    );
    let slack = slack(browser);
    assert!(
        whole < 33.0 * slack && near < 33.0 * slack,
        "a frame takes {whole} ms, {near} ms near, slack {slack:.1}"
    );
    browser.picture("studio-large");
}

pub(crate) fn zones(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("graph?f=fischer_bug.vpl&set=A%3D2&r=3"));
    browser.until("document.querySelector('.bar .faint')?.innerText.includes('zones')");
    browser.until("document.querySelectorAll('svg.graph .node').length > 5");
    browser.until("document.querySelector('svg.graph').textContent.includes('x[')");
    browser.picture("studio-zones");
    browser.type_into("[aria-label='Find states']", "x[1] <= 1\u{e007}");
    browser.until("document.querySelector('#said').innerText.includes('reads clocks')");
    let _ = browser.logs();
}
