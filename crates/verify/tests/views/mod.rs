//! Proofs by views of random models against brute force and the checker.

mod generate;
mod mutants;
mod random;
