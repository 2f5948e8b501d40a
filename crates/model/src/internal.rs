//! What cannot be.
//!
//! Where code relies on something that was seen to elsewhere (a type that the verifier has checked, a set that is not empty), it says so and
//! ends if that is not the case. A plausible value in its place could become a wrong verdict; an internal error names the place,
//! and the façade makes it the answer to the properties that were being decided, with exit code 4.

use std::{fmt, panic::Location};

use crate::{Model, verify};

/// Ends the work: this place cannot be reached unless there is a mistake in Shoal.
#[macro_export]
macro_rules! internal {
    ($($what:tt)*) => { $crate::internal_error(format_args!($($what)*)) };
}

/// What [`internal!`] does.
#[cold]
#[track_caller]
pub fn internal_error(what: fmt::Arguments<'_>) -> ! {
    panic!("{what} ({})", Location::caller())
}

/// A value that is always there.
pub trait OrInternal {
    /// What it is.
    type Value;

    /// The value. If it is not there, although it must be, that is a mistake in Shoal; `what` says what must be.
    #[track_caller]
    fn or_internal(self, what: &str) -> Self::Value;
}

impl<T> OrInternal for Option<T> {
    type Value = T;

    #[inline]
    #[track_caller]
    fn or_internal(self, what: &str) -> T {
        match self {
            Some(value) => value,
            None => internal_error(format_args!("not so: {what}")),
        }
    }
}

impl Model {
    /// The model, after a step that made it of another one: it has to be as well formed as that was.
    #[must_use]
    #[track_caller]
    pub fn made_by(self, step: &str) -> Model {
        self.assert_well_formed(step);
        self
    }

    /// See [`Model::made_by`].
    #[track_caller]
    pub fn assert_well_formed(&self, step: &str) {
        if let Err(malformed) = verify(self) {
            internal_error(format_args!("the model is malformed after {step}: {malformed}"));
        }
    }
}
