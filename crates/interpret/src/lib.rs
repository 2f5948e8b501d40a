//! The reference interpreter: what a Model means, slowly and obviously; trace replay; used by no engine.
