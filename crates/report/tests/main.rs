//! The tests of the formats, in one program: linking it is what costs.

mod bridge;
mod itf;
mod server;
