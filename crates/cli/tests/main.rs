//! The command as its users call it. `cargo test -p shoal-cli --test main formats::` runs one file.

mod bench;
mod book;
mod checkpoint;
mod cluster;
mod common;
mod daily;
mod diagrams;
mod exit_codes;
mod features;
mod formats;
mod graphs;
mod interrupt;
mod memory;
mod neovim;
mod schema;
mod surroundings;
mod threads;
mod traces;
mod validator;
