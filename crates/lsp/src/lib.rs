//! The language server: what an editor shows of a model while it is written.
//!
//! [`serve`] speaks the Language Server Protocol over two streams. Every language that Shoal reads is served by the same code: it
//! looks at the Model, whose parts know where they stand in the source, and at what the front end has to say.
//!
//! - `protocol`: messages on a stream
//! - `text`: a document, and its places as editors count them
//! - `analysis`: a text read by its front end, under a watch, on a thread of its own
//! - `names`: what is declared in a text and where it is used, found in the Model
//! - `checks`: properties that the user wants to have decided
//! - `answers`: what is said to each request
//! - `server`: the loop that holds it together
//!
//! The protocol is spoken with plain JSON values: `lsp-server` reads messages through untagged enums, which do not go together with
//! numbers of any length (`arbitrary_precision`), and these are what verdicts are printed with.
#![deny(missing_docs)]

mod analysis;
mod answers;
mod checks;
mod names;
mod protocol;
mod server;
mod text;

pub use server::serve;
