//! Parts: what to write to registers before an instance is looked at, and guards conjunct by conjunct.

use shoal_model::{Domain, Model, OrInternal, Part, Parts, Type, Value};

use super::Compiler;
use crate::code::PartsCode;

impl Compiler<'_> {
    /// The tables of all parts.
    pub(super) fn parts(&mut self, parts: Parts) {
        let guards =
            self.model.rules.iter().zip(&parts.given).map(|(rule, given)| {
                if *given == rule.params.len() { self.guards(rule) } else { Vec::new() }
            });
        let guards = guards.collect();
        let contents = parts.all.iter().map(|part| contents(self.model, part)).collect();
        self.program.parts = Some(PartsCode { parts, contents, guards });
    }
}

/// What the registers of the parameters that are given hold.
fn contents(model: &Model, part: &Part) -> Vec<i64> {
    let params = &model.rules[part.rule].params;
    params.iter().zip(&part.args).map(|(param, value)| content(model, &param.domain, value)).collect()
}

fn content(model: &Model, domain: &Domain, value: &Value) -> i64 {
    match domain {
        // Codes begin with 1.
        Domain::Type(ty) if !matches!(model.kind(*ty), Type::Int { .. }) => {
            model.ordinal(*ty, value).or_internal("an argument of its domain") as i64 + 1
        }
        Domain::Type(_) | Domain::Range { .. } | Domain::Slots(_) => {
            value.as_int().or_internal("an argument that is a number")
        }
    }
}
