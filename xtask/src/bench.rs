//! Shoal beside the papers' tables and its peers, on one machine in one run.

mod agree;
mod any;
mod beacon;
mod cluster;
mod dspin;
mod explicit;
mod limits;
mod promela;
mod red;
mod refused;
mod sgm;
mod studio;
mod symmetry;
mod utool;

use std::path::PathBuf;

use crate::tidy::root;

const USAGE: &str = "\
usage: cargo xtask bench agree|any|cluster|explicit|limits|promela|dspin|utool|beacon|sgm|red|refused|studio|symmetry [options]

  agree     the engines beside each other: verdicts, states, orbits
  any       any number of elements: what views decide of the corpus
  cluster   several processes on this machine beside one: counts, efficiency, bytes, kills
  explicit  the explicit engine beside Rumur (needs rumur and gcc)
  limits    how well limits are kept: every engine against the clock, the memory and signals
  promela   Promela models beside SPIN (needs spin and gcc)
  utool     the tables of the paper on counter abstraction
  beacon    any number of threads: the corpus beside its peers
  symmetry  scalarsets of the corpus: proved, checked or broken, and the states beside CMurphi and Rumur
  studio    the workbench in a browser beside its budgets (needs chromium and chromium-driver)
  sgm       the tables of state-graph manipulators
  red       the tables of Red: processes that point to each other (needs rumur and gcc)
  refused   what is refused of the corpus, by language and reason
  dspin     objects: the tables of the paper on heap symmetries";

/// Runs the bench that the first word names.
pub(crate) fn bench(args: &[String]) -> Result<(), String> {
    match args.split_first() {
        Some((name, args)) => match name.as_str() {
            "agree" => agree::bench(args),
            "any" => any::bench(args),
            "beacon" => beacon::bench(args),
            "cluster" => cluster::bench(args),
            "dspin" => dspin::bench(args),
            "explicit" => explicit::bench(args),
            "limits" => limits::bench(args),
            "promela" => promela::bench(args),
            "red" => red::bench(args),
            "refused" => refused::bench(args),
            "sgm" => sgm::bench(),
            "studio" => studio::bench(args),
            "symmetry" => symmetry::bench(args),
            "utool" => utool::bench(args),
            _ => Err(USAGE.into()),
        },
        None => Err(USAGE.into()),
    }
}

/// Builds the command `shoal` and says where it is.
pub(crate) fn build_shoal() -> Result<PathBuf, String> {
    crate::cargo(&["build", "--release", "--quiet", "--package", "shoal-cli"])?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    Ok(target.join("release/shoal"))
}
