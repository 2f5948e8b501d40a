//! From a Model to a counter system.

mod dispatch;
mod instance;
mod net;
mod property;
mod shape;
mod starts;
mod threads;
mod trace;

pub(crate) use dispatch::{Dispatch, wanted};
pub(crate) use instance::{CellNumbers, EventSink, FixedInstance, StepEvent, SuccessorSink};
pub(crate) use net::CounterNet;
pub use net::is_net;
pub use shape::ENGINE;
pub(crate) use shape::{CountedShape, unsupported};
pub(crate) use starts::beginnings;
pub(crate) use threads::{EarlyEnd, Threads};
