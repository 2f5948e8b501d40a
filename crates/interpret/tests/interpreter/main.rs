//! Tests of the reference interpreter: every point of the Model's meaning, on small verified models.

// All of a test program is reachable from it alone.
#![allow(unreachable_pub)]

mod blame;
mod build;
mod explore;
mod expressions;
mod memory;
mod replay;
mod statements;
mod steps;
