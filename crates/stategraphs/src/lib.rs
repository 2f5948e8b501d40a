//! State-graphs of processes with clocks, and what manipulates them: merging, reducers, sequences of reducers.

pub mod graphs;
pub mod sequence;
pub mod system;
