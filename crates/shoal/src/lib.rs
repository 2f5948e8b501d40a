//! The library façade: load, plan, check.
