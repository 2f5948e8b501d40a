//! Tests of the views engine.

mod gallery;
#[path = "../../shoal/tests/random/permute.rs"]
#[allow(dead_code)]
mod permute;
mod random;
