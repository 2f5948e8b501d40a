//! Front end: Murphi, the union of the CMurphi and Rumur languages.

pub mod ast;
pub mod codes;
pub mod lexer;
pub mod parser;
pub mod token;
