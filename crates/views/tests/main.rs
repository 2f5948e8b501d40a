//! Tests of the views engine.

mod gallery;
mod random;
