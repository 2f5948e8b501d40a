//! Proofs by views of random models against brute force and the checker.

mod generate;
mod mutants;
#[path = "../../../shoal/tests/random/permute.rs"]
#[allow(dead_code)]
mod permute;
mod random;
