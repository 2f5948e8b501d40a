//! The front end for Murphi. `cargo test -p shoal-murphi --test main lowering::` runs one file.

mod corpus;
mod fuzz;
mod lowering;
