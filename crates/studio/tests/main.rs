//! Tests of the workbench: its calls without a socket, who is let in, and the page in a browser.
#![allow(clippy::print_stdout)]

mod any;
mod api;
mod browser;
mod budgets;
mod common;
mod desks;
mod driver;
mod graphs;
mod scenarios;
mod security;
mod tellings;
#[path = "../../cli/tests/validator.rs"]
mod validator;
mod walks;
