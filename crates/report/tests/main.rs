//! The tests of the formats, in one program: linking it is what costs.

mod itf;
mod server;
