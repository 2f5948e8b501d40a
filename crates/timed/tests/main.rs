//! The timed engine. `cargo test -p shoal-timed --test main zones::` runs one file.

mod common;
mod dbm;
mod faults;
mod graphs;
mod random;
mod random_code;
mod random_networks;
mod tctl;
mod uppaal;
mod zones;
