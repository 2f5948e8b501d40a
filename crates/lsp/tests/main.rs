//! A scripted editor: it says what editors say and looks at the answers.

mod client;
mod languages;
mod layout;
mod requests;
