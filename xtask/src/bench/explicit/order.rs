//! What partial order reduction gains on Murphi models.

use std::path::{Path, PathBuf};

use shoal_peers::{PeerRun, run_shoal};

use super::{ExplicitSettings, count};
use crate::tidy::root;

/// Shipped models, with constants that make them large.
const SHIPPED: &[(&str, &[&str])] = &[
    ("bakery", &["N=4", "MAX=4"]),
    ("clh_lock", &["N=5"]),
    ("dining", &["N=11"]),
    ("german", &["N=4"]),
    ("mcs_lock", &["N=5"]),
    ("msi_bus", &["N=6"]),
    ("peterson", &["N=5"]),
    ("ticket_lock", &["N=7"]),
    ("token_ring", &["N=6"]),
    ("two_phase_commit", &["N=5"]),
];

/// The models of the settings, or those of the corpus and some that are shipped, with and without the reduction.
pub(super) fn orders(shoal: &Path, settings: &ExplicitSettings) -> Result<(), String> {
    println!("| model | states | s | with --partial-order | s | states, factor | time, factor |");
    println!("|---|--:|--:|--:|--:|--:|--:|");
    let none: &[&str] = &[];
    let mut models: Vec<(PathBuf, bool, &[&str])> =
        settings.models.iter().map(|(file, symmetry)| (file.clone(), *symmetry, none)).collect();
    if settings.all {
        let file = |name: &str| root().join(format!("models/murphi/{name}.m"));
        models.extend(SHIPPED.iter().map(|(name, set)| (file(name), false, *set)));
    }
    for (file, symmetry, set) in models {
        let run = |more: &[&str]| -> Result<PeerRun, String> {
            let mut options = vec!["--first", "--dialect", "rumur"];
            options.extend((!symmetry).then_some("--no-symmetry"));
            options.extend(set.iter().flat_map(|set| ["--set", *set]));
            options.extend(more);
            run_shoal(shoal, &file, &options, settings.threads, settings.limit)
        };
        let (all, some) = (run(&[])?, run(&["--partial-order"])?);
        let name = file.file_stem().map_or_else(String::new, |name| name.display().to_string());
        let name = [&[name.as_str()], set].concat().join(" ");
        let mark = if symmetry { "" } else { " (no symmetry)" };
        let [all_seconds, some_seconds] = [&all, &some].map(|run| run.search.as_secs_f64());
        // A run that was cut off says nothing about how many states there are.
        let [fewer, faster] = match all.done && some.done {
            true => [all.states as f64 / some.states.max(1) as f64, all_seconds / some_seconds.max(0.001)]
                .map(|factor| format!("{factor:.2}")),
            false => ["?", "?"].map(str::to_owned),
        };
        let [all, some] = [&all, &some].map(count);
        println!(
            "| {name}{mark} | {all} | {all_seconds:.2} | {some} | {some_seconds:.2} | {fewer} | {faster} |"
        );
    }
    Ok(())
}
