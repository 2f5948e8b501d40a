//! The tests of the façade and of what only stands with all crates together, in one program: linking it is what costs.
//!
//! `cargo test -p shoal --test main gallery::` runs one file.

mod alike;
mod all_errors;
mod any_number;
mod asked;
mod automorphisms;
mod beyond;
mod built;
mod coloured;
mod contest;
mod contract;
mod corpus;
mod engines;
mod facade;
mod failing;
mod gallery;
mod heap;
mod kinds;
mod ltl;
mod named;
mod promela;
mod random;
mod random_ctl;
mod random_ltl;
mod random_models;
mod random_promela;
mod random_spin;
mod ranges;
mod red;
mod red_symbolic;
mod reductions;
mod refine;
mod reuse;
mod saved_searches;
mod session;
mod stories;
mod stubborn;
mod symmetric;
mod thread_formats;
mod threads;
mod timed_questions;
mod undefined;
mod values;
mod walks;
mod zone_graphs;
