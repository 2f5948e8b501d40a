//! The explicit engine: packed states, canonical representatives, breadth-first search.
