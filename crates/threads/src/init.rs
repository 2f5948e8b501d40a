//! Where threads begin: what `--init` says.

use shoal_syntax::{Diagnostic, Span};

use crate::codes;

/// The initial states of a thread transition system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InitialStates {
    pub(crate) shared: u32,
    /// The local states of exactly these threads.
    pub(crate) fixed: Vec<u32>,
    /// Any number of threads in each of these.
    pub(crate) any: Vec<u32>,
}

impl InitialStates {
    /// Reads `S/L,..`, `S|L,..`, `S|L,../L,..`, `single` or `unbounded`; `B` and `U` may stand for `|` and `/`.
    pub(crate) fn parse(text: &str, span: Span) -> Result<InitialStates, Box<Diagnostic>> {
        let wrong = || {
            let message = format!("{text:?} is no initial state");
            let help = "write `0/0` for any number of threads in local state 0, `0|0` for exactly one, `0|0/1` for both";
            Box::new(Diagnostic::error(codes::BAD_INIT, span, message).help(help))
        };
        let text = match text.trim() {
            "single" => "0|0".to_string(),
            "unbounded" => "0/0".to_string(),
            other => other.replace('B', "|").replace('U', "/"),
        };
        let list = |text: &str| -> Option<Vec<u32>> {
            let parts = text.split(',').map(str::trim);
            match text.trim() {
                "" => Some(Vec::new()),
                _ => parts.map(|part| part.parse().ok()).collect(),
            }
        };
        let (head, any) = match text.split_once('/') {
            Some((head, any)) => (head.to_string(), list(any).ok_or_else(wrong)?),
            None => (text.clone(), Vec::new()),
        };
        let (shared, fixed) = match head.split_once('|') {
            Some((shared, fixed)) => (shared.to_string(), list(fixed).ok_or_else(wrong)?),
            None => (head, Vec::new()),
        };
        // With no thread at all, nothing would ever happen, and every target would be out of reach.
        if fixed.is_empty() && any.is_empty() {
            return Err(wrong());
        }
        Ok(InitialStates { shared: shared.trim().parse().map_err(|_| wrong())?, fixed, any })
    }

    /// In words.
    pub(crate) fn words(&self, spawns: bool) -> String {
        let list = |of: &[u32]| of.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        let mut parts = Vec::new();
        match &self.fixed[..] {
            [] => {}
            [one] => parts.push(format!("one thread starting in {one}")),
            many => parts.push(format!("threads starting in {}", list(many))),
        }
        if !self.any.is_empty() {
            parts.push(format!("any number of threads starting in {}", list(&self.any)));
        }
        let mut words = parts.join(", and ");
        if words.is_empty() {
            words = "no thread".into();
        }
        if spawns {
            words.push_str(", plus spawns");
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_spellings_are_read() {
        let parse = |text: &str| {
            InitialStates::parse(text, Span::default()).ok().map(|init| (init.shared, init.fixed, init.any))
        };
        assert_eq!(parse("0/0"), Some((0, vec![], vec![0])));
        assert_eq!(parse("single"), Some((0, vec![0], vec![])));
        assert_eq!(parse("0|0,1"), Some((0, vec![0, 1], vec![])));
        assert_eq!(parse("1BU0,4"), Some((1, vec![], vec![0, 4])));
        assert_eq!(parse("0|0/73"), Some((0, vec![0], vec![73])));
        let wrong = ["", "0", "x/0", "0/x", "0|1/y", "0/", "0|", "0|/", "0/0,"];
        assert!(wrong.iter().all(|text| parse(text).is_none()));
    }
}
