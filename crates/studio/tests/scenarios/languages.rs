//! Every screen on a model of each language: what is there is shown, what is not is said.

use super::check;
use crate::{browser::Site, driver::Browser};

/// All screens for one model.
fn all_screens(browser: &Browser, site: &Site, file: &str, set: &str) {
    check(browser, site, file, set);
    browser.until("document.querySelector('.property[data-verdict]')");
    if browser.run("return document.querySelector('.property[data-verdict=violated] a') !== null") == true {
        browser.click(".property[data-verdict=violated] a");
        browser.until(
            "document.querySelector('.step h2') && document.querySelectorAll('.lane-scroll .row').length > 0",
        );
        browser.picture(&format!("run-{file}"));
    }
    browser.go(&site.at(&format!("walk?f={file}&set={set}")));
    browser.until("document.querySelector('.move') || document.querySelector('.empty')");
    said(browser, "walk", file);
    browser.go(&site.at(&format!("graph?f={file}&set={set}&limit=2000")));
    browser.until("document.querySelector('svg.graph .node') || document.querySelector('.empty')");
    said(browser, "graph", file);
    browser.go(&site.at(&format!("any?f={file}&set={set}")));
    browser.until("document.querySelector('.answer') && !document.querySelector('.answer').innerText.includes('looking…')");
    browser.go(&site.at(&format!("desk?f={file}&set={set}")));
    browser.until("document.querySelector('.box') || document.querySelector('.empty')");
}

/// Where a screen has nothing to show, it says why.
fn said(browser: &Browser, screen: &str, file: &str) {
    let why = browser.run("return document.querySelector('.empty')?.innerText ?? null");
    if let Some(why) = why.as_str() {
        println!("    {screen} of {file}: {why}");
        assert!(why.len() > 20, "{screen} of {file} says only {why:?}");
    }
}

pub(crate) fn murphi(browser: &Browser, site: &Site) {
    all_screens(browser, site, "german_bug.m", "N%3D2");
}

pub(crate) fn promela(browser: &Browser, site: &Site) {
    all_screens(browser, site, "lost_update.pml", "");
}

pub(crate) fn objects(browser: &Browser, site: &Site) {
    all_screens(browser, site, "use_after_free.dpml", "");
}

pub(crate) fn vpl(browser: &Browser, site: &Site) {
    all_screens(browser, site, "fischer_bug.vpl", "A%3D2");
}

pub(crate) fn red(browser: &Browser, site: &Site) {
    all_screens(browser, site, "mcs_bug.red", "");
}

pub(crate) fn uppaal(browser: &Browser, site: &Site) {
    all_screens(browser, site, "station.xta", "");
}

pub(crate) fn boolean_program(browser: &Browser, site: &Site) {
    all_screens(browser, site, "update_bug.bp", "Thread%3D2");
}

pub(crate) fn nets(browser: &Browser, site: &Site) {
    all_screens(browser, site, "update.tts", "Thread%3D2");
    all_screens(browser, site, "ticket_lock.spec", "");
}
