//! The desk.

use super::{blur, param};
use crate::{browser::Site, driver::Browser};

/// Everything that a desk is for, and the steps are in the address.
pub(crate) fn whole(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("desk?f=fischer.vpl&set=A%3D4"));
    browser.click("[data-box='A[1]']");
    browser.click("[data-box='A[2]']");
    browser.click("#merge");
    browser.until("document.querySelector('[data-box=g1][aria-selected=true]')");
    browser.until("document.querySelector('[data-reducer=rw]')");
    browser.click("[data-reducer=rw]");
    browser.until("document.querySelector('.history li:nth-child(2)')");
    blur(browser);
    browser.press("2");
    browser.until("document.querySelector('.history li:nth-child(3)')");
    browser.press("o");
    browser.until("document.querySelectorAll('.inside svg.graph .node').length > 2");
    browser.until("document.querySelector('.chart polyline')");
    // The automaton that all of them are.
    browser.until("document.querySelectorAll('.templates svg.graph .node').length === 4");
    browser.picture("studio-desk");
    let code = browser.run("return document.querySelector('.vpl').textContent");
    assert!(code.as_str().unwrap().contains("shield_clock(g[1]);"), "{code}");
    browser.reload();
    browser.until("document.querySelector('.history li:nth-child(3)')");
    browser.press("u");
    browser.until("!document.querySelector('.history li:nth-child(3)')");
    browser.sees("Branches");
    // One sequence beside another.
    browser.run(
        "[...document.querySelectorAll('.history button')].find((it) => it.innerText === 'compare').click()",
    );
    browser.until("document.querySelectorAll('.chart polyline').length === 2");
}

pub(crate) fn automatic(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("desk?f=fischer.vpl&set=A%3D4"));
    browser.until("document.querySelector(\"[data-box='A[1]']\")");
    browser.run("document.querySelector('[aria-label=Strategy]').value = 'rw,sc,sm'");
    browser.click("#automatic");
    browser.until("document.querySelectorAll('.history li').length > 8");
    browser.click("[data-box=g3]");
    browser.click("#model-check");
    browser.sees("✓ mutual exclusion");
}

pub(crate) fn keys_alone(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("desk?f=fischer.vpl&set=A%3D3"));
    browser.until("document.querySelector(\"[data-box='A[1]']\")");
    // Boxes are buttons: the tabulator reaches them, the space bar chooses.
    for name in ["A[1]", "A[2]"] {
        browser.run(&format!("document.querySelector(\"[data-box='{name}']\").focus()"));
        browser.press(" ");
        browser.until(&format!("document.querySelector(\"[data-box='{name}'][aria-selected=true]\")"));
    }
    browser.press("m");
    browser.until("document.querySelector('[data-box=g1][aria-selected=true]')");
    browser.press("1");
    browser.until("document.querySelector('.history li:nth-child(2)')");
    browser.press("u");
    browser.until("!document.querySelector('.history li:nth-child(2)')");
    browser.press("c");
    browser.until("document.querySelector('.inside h2')?.innerText === 'g1: properties'");
}

/// What is recorded is a model whose script does the same.
pub(crate) fn saved(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("desk?f=fischer.vpl&set=A%3D3&steps=merge%20A%5B1%5D%20A%5B2%5D%3Brw%20g1"));
    browser.until("document.querySelector('.history li:nth-child(2)')");
    browser.run("window.prompt = () => 'recorded.vpl'");
    browser.click("#record");
    browser.sees("recorded.vpl is written");
    assert!(site.text("recorded.vpl").contains("merge_graph(A[1], A[2])"), "{}", site.text("recorded.vpl"));
    // It is opened as any other model.
    browser.fresh(&site.at("desk?f=recorded.vpl&set=A%3D3"));
    browser.until("document.querySelector(\"[data-box='A[1]']\")");
    assert_eq!(param(browser, "f"), "recorded.vpl");
    browser.click("#load");
    browser.until("document.querySelectorAll('.history li').length === 2");
    assert_eq!(param(browser, "steps"), "merge A[1] A[2];rw g1");
    // Loops are not for the desk, and it says so.
    browser.fresh(&site.at("desk?f=fischer.vpl&set=A%3D3"));
    browser.until("document.querySelector(\"[data-box='A[1]']\")");
    browser.click("#load");
    browser.sees("shoal script runs it");
}

/// The words of `shoal graphs`, typed.
pub(crate) fn console(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("desk?f=fischer.vpl&set=A%3D3"));
    browser.until("document.querySelector(\"[data-box='A[1]']\")");
    let says = |line: &str, answer: &str| {
        browser.type_into("[aria-label=Console]", &format!("{line}\u{e007}"));
        browser.until(&format!(
            "document.querySelector('.log').textContent.split('> {line}').slice(1).pop()?.includes({answer:?})"
        ));
    };
    says("list", "A[3]");
    says("merge A[1] A[2]", "g1 ");
    says("reduce g1 rw sc", "nodes");
    assert_eq!(param(browser, "steps"), "merge A[1] A[2];rw g1;sc g1");
    says("preview g1", "sm");
    says("check g1", "?");
    says("print g1 aut", "des (");
    says("merge A[1] g1", "both graphs have the process");
    says("reduce g1 nothing", "is no step");
    says("frobnicate", "not understood");
    assert_eq!(param(browser, "steps"), "merge A[1] A[2];rw g1;sc g1");
    browser.type_into("[aria-label=Console]", "undo\u{e007}");
    browser.until("document.querySelectorAll('.history li').length === 2");
}

/// A merge that becomes too large is given up where somebody says, or when somebody says.
pub(crate) fn guarded(browser: &Browser, site: &Site) {
    browser.fresh(&site.at("desk?f=fischer.vpl&set=A%3D5&most=10"));
    for name in ["A[1]", "A[2]"] {
        browser.click(&format!("[data-box='{name}']"));
    }
    browser.sees("pairs of nodes");
    browser.click("#merge");
    browser.sees("more than 10 nodes");
    assert_eq!(param(browser, "steps"), "");
    // One that would take minutes, stopped: the server ends it, too.
    browser.fresh(&site.at("desk?f=fischer.vpl&set=A%3D9"));
    browser.until("document.querySelector(\"[data-box='A[1]']\")");
    browser.run("document.querySelector('[aria-label=Strategy]').value = 'sc'; document.querySelector('[aria-label=\"Up to so many processes\"]').value = 9");
    browser.click("#automatic");
    browser.until("!document.querySelector('#stop').hidden");
    browser.click("#stop");
    browser.sees("stopped");
    browser.until("document.querySelector('#stop').hidden");
}
