//! Messages on a stream: a header with the length, and JSON.

use std::io::{self, BufRead, Write};

use serde_json::{Value, json};

/// A message longer than this is none.
const LONGEST: usize = 256 << 20;

/// Codes of errors, as JSON-RPC and the protocol number them.
pub(crate) const INVALID_REQUEST: i64 = -32600;
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
pub(crate) const INVALID_PARAMS: i64 = -32602;
pub(crate) const REQUEST_FAILED: i64 = -32803;
pub(crate) const SERVER_NOT_INITIALIZED: i64 = -32002;

/// The next message; nothing at the end of the stream.
pub(crate) fn read(input: &mut impl BufRead) -> io::Result<Option<Value>> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').ok_or_else(|| wrong("a header without a colon"))?;
        if name.eq_ignore_ascii_case("content-length") {
            length = Some(value.trim().parse().map_err(|_| wrong("a length that is no number"))?);
        }
    }
    let length = length.ok_or_else(|| wrong("a message without its length"))?;
    if length > LONGEST {
        return Err(wrong("a message that is too long"));
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body)?;
    serde_json::from_slice(&body).map(Some).map_err(|error| wrong(&error.to_string()))
}

/// Writes a message.
pub(crate) fn write(output: &mut impl Write, message: &Value) -> io::Result<()> {
    let body = message.to_string();
    write!(output, "Content-Length: {}\r\n\r\n{body}", body.len())?;
    output.flush()
}

/// The answer to a request.
pub(crate) fn answer(id: &Value, result: Result<Value, (i64, String)>) -> Value {
    match result {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err((code, message)) => {
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
        }
    }
}

/// What is said without being asked.
pub(crate) fn notification(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_string())
}
