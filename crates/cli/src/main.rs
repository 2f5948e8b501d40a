//! The command `shoal`.

fn main() {}
