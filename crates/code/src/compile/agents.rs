//! Agents: which rules to look at where the control of an agent stands, and when it may go first.

use shoal_model::{Agents, Location, Model, Type, TypeId, TypedId};

use super::{Compiler, LocalBinding};
use crate::code::{AgentsCode, LocationCode, Shown};

/// For each rule, how many of its first parameters the caller names: one if it is an agent.
pub(super) fn given(model: &Model) -> Vec<usize> {
    let mut given = vec![0; model.rules.len()];
    for agents in &model.agents {
        let several = matches!(model.kind(model.vars[agents.var].ty), Type::Array { .. });
        let rules = agents.locations.iter().flat_map(|location| &location.rules);
        rules.for_each(|rule| given[rule.index()] = usize::from(several));
    }
    given
}

impl<'m> Compiler<'m> {
    /// The tables of all agents. What goes through the rules needs them, as rules of agents run for one agent only.
    pub(super) fn agents(&mut self) {
        for agents in &self.model.agents {
            let code = self.agents_of(agents);
            self.program.agents.push(code);
        }
        let mut others = vec![true; self.model.rules.len()];
        let locations = self.model.agents.iter().flat_map(|agents| &agents.locations);
        locations.flat_map(|location| &location.rules).for_each(|rule| others[rule.index()] = false);
        self.program.others = (0..others.len()).filter(|rule| others[*rule]).collect();
    }

    fn agents_of(&mut self, agents: &'m Agents) -> AgentsCode {
        let ty = self.model.vars[agents.var].ty;
        let (index, record) = match self.model.kind(ty) {
            Type::Array { index, element } => (Some(*index), *element),
            _ => (None, ty),
        };
        let before: u32 = match self.model.kind(record) {
            Type::Record { fields } => {
                fields.iter().take(agents.field as usize).map(|field| self.size(field.ty)).sum()
            }
            _ => 0,
        };
        let (first, count) = match index.map(|index| (self.model.kind(index), index)) {
            Some((Type::Int { lo, .. }, index)) => (*lo, self.model.cardinality(index).unwrap_or(0)),
            // Codes begin with 1.
            Some((_, index)) => (1, self.model.cardinality(index).unwrap_or(0)),
            None => (0, 1),
        };
        // Content 0 is undefined: nothing is known of it.
        let mut locations = vec![LocationCode::default()];
        for location in &agents.locations {
            locations.push(self.location(location, index));
        }
        AgentsCode {
            control: self.layout.var(agents.var) + before,
            stride: self.size(record),
            first,
            count: count as u32,
            locations,
        }
    }

    fn location(&mut self, location: &'m Location, index: Option<TypeId>) -> LocationCode {
        let goes_first = location.goes_first.as_ref().map(|condition| {
            self.begin(&condition.locals);
            if let Some(index) = index {
                let register = self.temp();
                let shown = match self.model.kind(index) {
                    Type::Int { .. } => Shown::Raw,
                    _ => Shown::Code(index),
                };
                self.slots[0] = LocalBinding::Bound(register, shown);
            }
            self.condition_in_frame(condition)
        });
        LocationCode {
            rules: location.rules.iter().map(|rule| rule.index()).collect(),
            goes_first,
            cuts_loops: location.cuts_loops,
        }
    }
}
