//! Tests of the checker.
#![allow(clippy::print_stdout)]

mod damaged;
mod gallery;
mod guessed;
mod orders;
mod random_systems;
mod red;
mod views;
