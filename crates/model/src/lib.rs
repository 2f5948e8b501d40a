//! The Model: sorts, types, rules, properties; its printed form and verifier; Outcome, Trace, Limits, Progress.
