//! What somebody does with the workbench, and what has to be seen then.

pub(crate) mod any;
pub(crate) mod desks;
pub(crate) mod frame;
pub(crate) mod graphs;
pub(crate) mod languages;
pub(crate) mod models;
pub(crate) mod pages;
pub(crate) mod runs;
pub(crate) mod walks;

use crate::{browser::Site, budgets, driver::Browser};

pub(crate) type Scenario = fn(&Browser, &Site);

/// Every scenario, with the name by which it is found.
pub(crate) const ALL: &[(&str, Scenario)] = &[
    ("frame: the first screen in time", frame::first_screen),
    ("model: verdicts, coverage, the way to the run", models::verdicts_and_coverage),
    ("model: one property alone", models::one_property),
    ("model: an error is marked as it is typed", models::typing),
    ("model: what is typed is kept and saved", models::saving),
    ("model: changed on the disk", models::conflict),
    ("model: constants are in the address", models::constants),
    ("model: two checks at once, a third waits", models::two_at_once),
    ("model: stopped within half a second", models::cancelled),
    ("model: symmetry broken, and where", models::broken_symmetry),
    ("model: with and without symmetry", models::what_if),
    ("model: advice is a button", models::advice),
    ("model: keys alone", models::keys_alone),
    ("model: nothing is wrong, and a run is shown", models::nothing_wrong),
    ("model: brackets", models::brackets),
    ("model: a file changes on the disk", models::disk),
    ("model: time in the gutter, my editor", models::gutter),
    ("run: from red to understood", runs::understood),
    ("run: what made a step possible", runs::causes),
    ("run: one that was saved elsewhere is sent", runs::sent),
    ("run: of another tool, from its file alone", runs::alone),
    ("run: a variable is moved to a lane", runs::moved),
    ("run: a reload shows the same step", runs::reload),
    ("run: keys alone", runs::keys_alone),
    ("run: levels, and they are in the address", runs::levels),
    ("run: expressions are watched", runs::watched),
    ("run: in the formats of others", runs::exported),
    ("run: a saved one is opened", runs::opened),
    ("run: an infinite one", runs::infinite),
    ("run: why nothing can move", runs::deadlock),
    ("run: clocks", runs::clocks),
    ("run: zones and bounds on the strips of clocks", runs::zones),
    ("run: two beside each other", runs::compared),
    ("run: lanes are hidden and put first", runs::lanes),
    ("run: one lane alone", runs::one_lane),
    ("run: who changes a variable", runs::writers),
    ("run: made short, kept as a test, played", runs::kept),
    ("run: arrays in one piece", runs::arrays),
    ("run: the graph around a step", runs::around),
    ("run: how many stand where", runs::templates),
    ("run: objects", runs::objects),
    ("run: one that shows that something can happen", runs::witness),
    ("walk: by hand, back, and the walk is in the address", walks::by_hand),
    ("walk: why rules may not fire", walks::disabled),
    ("walk: like moves once", walks::alike),
    ("walk: at random, the same for the same seed", walks::random),
    ("walk: time passes", walks::time),
    ("walk: the model has changed", walks::changed),
    ("walk: keys alone", walks::keys_alone),
    ("walk: until, in every language", walks::until),
    ("walk: stops after some rules, goes to where one fires", walks::stops),
    ("walk: from a typed state, in every language", walks::typed),
    ("graph: around a state, collapsed, found", graphs::explored),
    ("graph: a shortest way", graphs::shortest_way),
    ("graph: a reload shows the same part", graphs::reload),
    ("graph: zones of a timed model", graphs::zones),
    ("graph: before, after, without a rule, a way as a run", graphs::cut_down),
    ("graph: saved for other tools", graphs::saved),
    ("graph: keys alone", graphs::keys_alone),
    ("desk: merge, reduce, open, check, undo, replay", desks::whole),
    ("desk: a sequence by itself, checked", desks::automatic),
    ("desk: keys alone", desks::keys_alone),
    ("desk: saved, and run again", desks::saved),
    ("desk: a console", desks::console),
    ("desk: too large, and stopped", desks::guarded),
    ("any number: counters, covering set, certificate", any::counters),
    ("any number: views", any::views),
    ("any number: many views", any::many_views),
    ("any number: violated, and with how many", any::violated),
    ("any number: one number after the other", any::climb),
    ("language: Murphi", languages::murphi),
    ("language: Promela", languages::promela),
    ("language: Promela with objects", languages::objects),
    ("language: VPL", languages::vpl),
    ("language: Red", languages::red),
    ("language: UPPAAL", languages::uppaal),
    ("language: boolean program", languages::boolean_program),
    ("language: nets", languages::nets),
    ("frame: hostile names", frame::hostile_names),
    ("frame: dark stays", frame::dark),
    ("frame: keys of all screens", frame::screens_by_keys),
    ("frame: commands by their names", frame::palette),
    ("frame: panes", frame::panes),
    ("frame: a narrow window", frame::narrow),
    ("frame: a reload shows the same, everywhere", frame::reloads),
    ("frame: the server is gone", frame::lost_server),
    ("frame: an empty folder", frame::empty_folder),
    ("frame: nothing is written", frame::read_only),
    ("frame: everybody can use it", frame::accessible),
    ("page: a counterexample in one file", pages::one_file),
    ("budgets: everything in time", budgets::in_time),
];

/// The number of the run that the address names.
pub(crate) const RUN: &str = "new URLSearchParams(location.hash.split('?')[1]).get('run')";

/// A part of the address.
pub(crate) fn param(browser: &Browser, name: &str) -> String {
    let found =
        browser.run(&format!("return new URLSearchParams(location.hash.split('?')[1]).get('{name}') ?? ''"));
    found.as_str().unwrap().to_string()
}

/// Opens a model and checks it.
pub(crate) fn check(browser: &Browser, site: &Site, file: &str, set: &str) {
    browser.fresh(&site.at(&format!("model?f={file}&set={set}")));
    browser.until("document.querySelectorAll('.property').length > 0");
    check_all(browser);
}

/// Checks what is open, and waits for the end of that run.
pub(crate) fn check_all(browser: &Browser) {
    let before = browser.run(&format!("return {RUN}"));
    browser.click("#check");
    browser.until(&format!("{RUN} !== null && {RUN} !== {before}"));
    browser.until(&format!(
        "document.querySelector('.run b')?.innerText === 'run ' + {RUN} && document.querySelector('.run').dataset.stage === 'finished'"
    ));
    browser.until(
        "document.querySelector('.property[data-verdict]') && !document.body.innerText.includes('checking…')",
    );
}

/// Checks a model and opens the first run that was found.
pub(crate) fn open_run(browser: &Browser, site: &Site, file: &str, set: &str) {
    let key = format!("{file} {set}");
    let known = site.runs.lock().unwrap().get(&key).cloned();
    match known {
        Some(address) => browser.fresh(&address),
        None => {
            check(browser, site, file, set);
            browser.click(".property[data-verdict=violated] a");
            browser.until("location.hash.startsWith('#/trace')");
            let address = browser.address();
            site.runs.lock().unwrap().insert(key, address);
        }
    }
    browser.until("document.querySelector('.step h2')");
}

/// How much longer than asked for something may take: ten times on a machine with nothing else to do, as the build is not an optimised
/// one and others work beside it, and as much more as it is slower now, by a loop that takes 40 ms there.
pub(crate) fn slack(browser: &Browser) -> f64 {
    10.0 * slowness(browser)
}

/// How many times slower the machine is now than one with nothing else to do.
pub(crate) fn slowness(browser: &Browser) -> f64 {
    let loops = "const began = performance.now(); let sum = 0; for (let at = 0; at < 3e7; at++) sum += at % 7; return performance.now() - began + 0 * sum";
    let spent: Vec<f64> = (0..3).map(|_| browser.run(loops).as_f64().unwrap()).collect();
    (spent.into_iter().fold(0.0, f64::max) / 40.0).max(1.0)
}

/// Lets keys go to the page and not to a field.
pub(crate) fn blur(browser: &Browser) {
    browser.run("document.activeElement.blur()");
}
