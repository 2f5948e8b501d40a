//! How a source is to be read.

use shoal_model::Watch;

/// Which meaning to take where the two tools of the language differ. The grammar is always the union of both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// CMurphi 5.4.9.
    #[default]
    Cmurphi,
    /// Rumur.
    Rumur,
}

/// What the caller says about a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Which meaning to take where the dialects differ.
    pub dialect: Dialect,
    /// New values for named constants.
    pub set: Vec<(String, i64)>,
    /// Constants that are any number: sizes of scalarsets.
    pub any: Vec<String>,
    /// Rounds that a `while` loop may take.
    pub while_limit: u64,
    /// When to give up: then there is neither a model nor an error.
    pub watch: Watch,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            dialect: Dialect::default(),
            set: Vec::new(),
            any: Vec::new(),
            while_limit: 1000,
            watch: Watch::default(),
        }
    }
}
