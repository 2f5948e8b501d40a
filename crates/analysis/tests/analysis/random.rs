//! Random models and brute force, as the tests of the façade use them.

#[path = "../../../shoal/tests/random/brute.rs"]
pub(crate) mod brute;
#[path = "../../../shoal/tests/random/choices.rs"]
#[allow(dead_code)]
pub(crate) mod choices;
#[path = "../../../shoal/tests/random/loops.rs"]
pub(crate) mod loops;
#[path = "../../../shoal/tests/random/permute.rs"]
#[allow(dead_code)]
pub(crate) mod permute;
