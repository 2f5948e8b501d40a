//! `shoal bench`: beside the tool that reads the same model.
#![allow(clippy::print_stderr)]

use crate::common::{BROKEN, COUNTER, Folder};
use shoal_peers::Peer;

#[test]
fn a_language_without_a_peer_is_named() {
    let folder = Folder::with(&[(
        "net.spec",
        "vars\n p\n\nrules\n p >= 1 -> p' = p-1;\n\ninit\n p = 1\n\ntarget\n p >= 2\n",
    )]);
    folder.shoal(&["bench", "net.spec"]).expect(2).says("no peer is known for this language");
    folder.shoal(&["bench"]).expect(2);
}

#[test]
fn beside_rumur() {
    if !Peer::Rumur.is_installed() {
        eprintln!("skipped: no rumur");
        return;
    }
    let folder = Folder::with(&[("lock.m", BROKEN), ("counter.m", COUNTER), ("bad.m", "var x: nothing;")]);
    let table = folder.shoal(&["bench", "--raw", "counter.m", "lock.m"]).expect(0);
    table.says("rumur: holds, 10").says("rumur: violated").says("geometric mean of 2 models");
    folder.shoal(&["bench", "bad.m"]).expect(2).says("Shoal refuses this model");
}

#[test]
fn beside_spin() {
    if !Peer::Spin.is_installed() {
        eprintln!("skipped: no spin");
        return;
    }
    let twice = "byte x; active [2] proctype p() { x++; assert(x <= 2); x-- }";
    let folder = Folder::with(&[("twice.pml", twice)]);
    folder.shoal(&["bench", "--raw", "twice.pml"]).expect(0).says("spin: holds");
}
