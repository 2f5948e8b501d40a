//! From a Model to a counter system.

mod instance;
mod net;
mod property;
mod shape;
mod starts;
mod threads;
mod trace;

pub(crate) use net::Net;
pub use net::is_net;
pub use shape::ENGINE;
pub(crate) use threads::{Failure, Threads};
