//! Pages that are files: a counterexample to send to a colleague.

use super::open_run;
use crate::{browser::Site, driver::Browser};

/// The page opens from the disk, asks for nothing, and its first screen is there without scripts.
pub(crate) fn one_file(browser: &Browser, site: &Site) {
    open_run(browser, site, "german_bug.m", "");
    let page = browser.run_later(
        "const done = arguments[arguments.length - 1];
         fetch([...document.querySelectorAll('a[download]')].find((it) => it.innerText === 'html').href).then((it) => it.text()).then(done);",
    );
    let page = page.as_str().unwrap();
    // What a reader without scripts sees.
    assert!(page.contains("an exclusive copy is alone") && page.contains("client_1"), "{page}");
    let path = site.folder.path().join("bug.html");
    std::fs::write(&path, page).unwrap();
    browser.go(&format!("file://{}", path.display()));
    browser.sees("an exclusive copy is alone");
    let asked = browser.run("return performance.getEntriesByType('resource').length");
    assert_eq!(asked, 0);
    let paint = browser.run("return performance.getEntriesByType('paint').find((it) => it.name === 'first-contentful-paint')?.startTime ?? 0");
    println!("    a page of {} bytes is painted after {:.0} ms (400)", page.len(), paint.as_f64().unwrap());
    browser.picture("page-german-bug");
}
