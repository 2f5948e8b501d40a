//! Requests, answers and errors of JSON-RPC 2.0.

use serde_json::{Map, Value as Json, json};

/// What a client asks, or tells if there is no id.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RpcRequest {
    pub(crate) id: Option<Json>,
    pub(crate) method: String,
    pub(crate) params: Map<String, Json>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProtocolError {
    code: i64,
    message: String,
}

impl ProtocolError {
    pub(crate) fn params(message: impl Into<String>) -> ProtocolError {
        ProtocolError { code: -32602, message: message.into() }
    }

    pub(crate) fn method(name: &str) -> ProtocolError {
        ProtocolError { code: -32601, message: format!("there is no method {name:?}") }
    }

    pub(crate) fn busy(message: impl Into<String>) -> ProtocolError {
        ProtocolError { code: -32000, message: message.into() }
    }

    pub(crate) fn answer(&self, id: &Json) -> Json {
        let error = json!({ "code": self.code, "message": self.message });
        json!({ "jsonrpc": "2.0", "id": id, "error": error })
    }
}

/// Reads a line. An error has the id of the request, as far as it has one.
pub(crate) fn parse(line: &str) -> Result<RpcRequest, (Json, ProtocolError)> {
    let wrong = |id: Json, code: i64, message: String| Err((id, ProtocolError { code, message }));
    let message: Json = match serde_json::from_str(line) {
        Ok(message) => message,
        Err(error) => return wrong(Json::Null, -32700, format!("not a JSON object: {error}")),
    };
    let Json::Object(mut object) = message else {
        return wrong(Json::Null, -32600, "a request is an object".into());
    };
    let id = object.remove("id").filter(|id| id.is_string() || id.is_number());
    let known = id.clone().unwrap_or(Json::Null);
    if object.get("jsonrpc").and_then(Json::as_str) != Some("2.0") {
        return wrong(known, -32600, "a request says \"jsonrpc\": \"2.0\"".into());
    }
    let Some(Json::String(method)) = object.remove("method") else {
        return wrong(known, -32600, "a request names a method".into());
    };
    match object.remove("params") {
        None | Some(Json::Null) => Ok(RpcRequest { id, method, params: Map::new() }),
        Some(Json::Object(params)) => Ok(RpcRequest { id, method, params }),
        Some(_) => wrong(known, -32602, "the parameters of a request are an object".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_request_is_refused() {
        for (line, code) in [
            ("nonsense", -32700),
            ("[]", -32600),
            ("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", -32600),
            ("{\"jsonrpc\":\"2.0\",\"id\":1}", -32600),
            ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}", -32602),
        ] {
            assert_eq!(parse(line).unwrap_err().1.code, code, "{line}");
        }
        let told = parse("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}").unwrap();
        assert_eq!(told.id, None);
    }
}
