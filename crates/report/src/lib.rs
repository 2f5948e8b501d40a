//! Text, JSON, ITF, JUnit, SARIF, DOT, AUT: the only crate that serialises.
