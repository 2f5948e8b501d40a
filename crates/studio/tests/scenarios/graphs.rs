//! The graph screen.

use super::param;
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

/// What comes before a state or after it, without some rules; and all of that is in the address.
pub(crate) fn cut_down(browser: &Browser, site: &Site) {
    const COUNT: &str = "document.querySelectorAll('svg.graph .node').length";
    let choose = |label: &str, value: &str| {
        browser.run(&format!("const choice = document.querySelector('[aria-label=\"{label}\"]'); choice.value = '{value}'; choice.dispatchEvent(new Event('change'))"));
    };
    browser.fresh(&site.at("graph?f=oneway.m&q=0&around=3&r=6"));
    browser.until(&format!("{COUNT} === 7"));
    for (side, count) in [("before", 4), ("after", 4), ("", 7)] {
        choose("Side", side);
        browser.until(&format!("{COUNT} === {count}"));
        assert_eq!(param(browser, "side"), side);
    }
    choose("Hide a rule", "leap");
    browser.until("[...document.querySelectorAll('.bar button')].some((it) => it.innerText === 'leap ×')");
    assert_eq!(param(browser, "without"), "leap");
    browser.until("!document.querySelector('svg.graph').textContent.includes('leap')");
    browser.reload();
    browser.until("[...document.querySelectorAll('.bar button')].some((it) => it.innerText === 'leap ×')");
    browser
        .run("[...document.querySelectorAll('.bar button')].find((it) => it.innerText === 'leap ×').click()");
    browser.until("document.querySelector('svg.graph').textContent.includes('leap')");
    // The way to a state is a run like any other.
    browser.fresh(&site.at("graph?f=oneway.m&q=0&r=6"));
    browser.until(&format!("{COUNT} === 7"));
    browser.run("document.querySelector('svg.graph .node[data-node=\"6\"]').dispatchEvent(new MouseEvent('click', { bubbles: true, shiftKey: true }))");
    browser.until("document.querySelector('.details a.button')");
    browser.click(".details a.button");
    browser.until("location.hash.startsWith('#/trace') && document.querySelector('.step h2')?.innerText.startsWith('step')");
}

/// A part for other tools, in every format, by the buttons.
pub(crate) fn saved(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("graph?f=counter.m"));
    browser.until("document.querySelector('svg.graph .node')");
    browser.run("window.taken = []; URL.createObjectURL = (blob) => { blob.text().then((text) => window.taken.push(text)); return 'data:,'; }; HTMLAnchorElement.prototype.click = () => {}");
    for (how, begins) in [("svg", "<svg"), ("dot", "digraph"), ("aut", "des ("), ("graphml", "<?xml")] {
        browser.run("window.taken.length = 0");
        browser.run(&format!(
            "[...document.querySelectorAll('.bar button')].find((it) => it.innerText === '{how}').click()"
        ));
        browser.sees(&format!("graph.{how} is saved"));
        browser.until("window.taken.length === 1");
        let text = browser.run("return window.taken[0]");
        assert!(text.as_str().unwrap().trim_start().starts_with(begins), "{how}: {text}");
    }
}

/// States are reached, looked around and left again without a mouse; and listed without a picture.
pub(crate) fn keys_alone(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("graph?f=counter.m&r=1"));
    browser.until("document.querySelectorAll('svg.graph .node').length === 2");
    browser.run("document.querySelector('svg.graph .node[data-node=\"1\"]').focus()");
    browser.press("\u{e007}");
    browser.until(
        "location.hash.includes('around=1') && document.querySelectorAll('svg.graph .node').length === 3",
    );
    browser.press("\u{e013}");
    browser.until("document.activeElement.matches('svg.graph .node')");
    browser.type_into("[aria-label='States at this distance']", "4\u{e007}");
    browser.until("document.querySelector('.level-list button')?.innerText.startsWith('s4')");
    browser.click(".level-list button");
    browser.until("location.hash.includes('around=4')");
}
