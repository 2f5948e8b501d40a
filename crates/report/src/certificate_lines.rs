//! How certificates are written: one JSON object a line, and at the end how many lines there were.

use std::io::{self, Write};

use serde_json::{Value as Json, json};

pub(crate) struct CertificateLines<'a> {
    out: &'a mut dyn Write,
    count: u64,
}

impl<'a> CertificateLines<'a> {
    pub(crate) fn new(out: &'a mut dyn Write) -> CertificateLines<'a> {
        CertificateLines { out, count: 0 }
    }

    pub(crate) fn whole(&mut self, line: &Json) -> io::Result<()> {
        self.count += 1;
        writeln!(self.out, "{line}")
    }

    pub(crate) fn put(&mut self, kind: &str, what: Json) -> io::Result<()> {
        self.whole(&json!({ kind: what }))
    }

    /// Says how many lines came before: a certificate without its end is told from a whole one.
    pub(crate) fn end(mut self) -> io::Result<()> {
        let count = self.count;
        self.put("end", json!(count))?;
        self.out.flush()
    }
}
