//! How random models are made, and what is done with every one of them.

pub(crate) mod boolean;
pub(crate) mod choices;
pub(crate) mod concurrent;
pub(crate) mod generate;
pub(crate) mod nets;
pub(crate) mod loops;
pub(crate) mod permute;
pub(crate) mod promela;
pub(crate) mod replayed;
pub(crate) mod tableau;
