//! The screen for any number of parts.

use super::param;
use crate::{browser::Site, driver::Browser};

pub(crate) fn counters(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("any?f=ticket_lock.spec"));
    browser.until("document.querySelector('.property[data-verdict=holds]')");
    browser.sees("certificate (counters) accepted");
    browser.until("document.querySelectorAll('.answer svg.graph .node').length >= 4");
    browser.until("document.querySelector('.cover sup')?.innerText === 'ω' || document.querySelector('.cover').innerText.includes('ω')");
    browser.picture("studio-any");
}

pub(crate) fn views(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("any?f=mutex.m"));
    browser.sees("The parts of this model are counted.");
    browser.click("a[href*='proc']");
    browser.until("document.querySelector('.property[data-evidence=views]')");
    browser.sees("certificate (views) accepted");
    assert!(param(browser, "set").contains("proc=any"), "{}", param(browser, "set"));
    browser.until("document.querySelector('.answer details summary')?.innerText.includes('views')");
    browser.picture("studio-views");
}

/// What differs is a column, what does not is said once; and one looks for some of them.
pub(crate) fn many_views(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("any?f=german.m&set=client%3Dany"));
    browser.until("document.querySelector('.answer details summary')?.innerText.includes('views')");
    browser.click(".answer details summary");
    let rows = "document.querySelectorAll('.views tr').length";
    browser.until(&format!("{rows} === 51"));
    browser.click(".answer details button");
    browser.until(&format!("{rows} > 51"));
    browser.type_into("[aria-label=\"Filter views\"]", "state=Exclusive kind=Recall");
    browser.until(&format!("{rows} < 51 && {rows} > 1"));
    browser.picture("studio-many-views");
}

pub(crate) fn violated(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("any?f=lock.m&set=proc%3Dany"));
    browser.until("document.querySelector('.property[data-verdict=violated]')");
    browser.sees("and no fewer");
}

pub(crate) fn climb(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("any?f=lock.m"));
    browser.sees("One number after the other");
    browser.run("document.querySelector('[aria-label=\"Up to this number\"]').value = 2");
    browser.click("#climb");
    browser.until("document.querySelectorAll('.sizes tr').length === 3");
    // One alone does nothing wrong, two do.
    browser.until("!document.querySelector('.sizes tr:nth-child(2)').innerText.includes('✗') && document.querySelector('.sizes tr:nth-child(3)').innerText.includes('✗')");
}
