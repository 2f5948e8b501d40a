//! The command as its users call it. `cargo test -p shoal-cli --test main formats::` runs one file.

mod bench;
mod checkpoint;
mod common;
mod exit_codes;
mod formats;
mod graphs;
mod interrupt;
mod schema;
mod surroundings;
mod threads;
mod traces;
mod validator;
