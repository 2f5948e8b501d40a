//! The server as an agent uses it: a scripted client over a pipe in memory.

mod client;
mod tools;
