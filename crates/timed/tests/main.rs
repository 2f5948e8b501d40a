//! The timed engine. `cargo test -p shoal-timed --test main zones::` runs one file.

mod common;
mod faults;
mod random;
mod random_code;
mod random_networks;
mod tctl;
mod threads;
mod uppaal;
mod zones;
