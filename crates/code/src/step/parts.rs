//! Expanding a state part by part.

use std::ops::ControlFlow;

use super::{Done, Stepper, Steps, Visitor};
use crate::{
    code::PartsCode,
    exec::{CodeEnd, Trap},
    stubborn::{GuardKnowledge, Stubborn},
};

impl Stepper<'_> {
    /// Fires what may fire in the state that is expanded: only in a stubborn set, if that is asked for and suffices.
    pub(super) fn expand_parts<V: Visitor>(
        &mut self,
        code: &PartsCode,
        steps: Steps,
        violates: bool,
        visitor: &mut V,
    ) -> ControlFlow<()> {
        let count = code.parts.all.len();
        if steps != Steps::Stubborn {
            for part in 0..count {
                self.part(code, part, violates, visitor)?;
            }
            return ControlFlow::Continue(());
        }
        let mut stubborn = self.stubborn.take().unwrap_or_else(|| Stubborn::new(&code.parts));
        let result = self.expand_stubborn(code, &mut stubborn, violates, visitor);
        self.stubborn = Some(stubborn);
        result
    }

    fn expand_stubborn<V: Visitor>(
        &mut self,
        code: &PartsCode,
        stubborn: &mut Stubborn,
        violates: bool,
        visitor: &mut V,
    ) -> ControlFlow<()> {
        let count = code.parts.all.len();
        stubborn.guards.clear();
        stubborn.guards.extend((0..count).map(|part| self.guard(code, part)));
        let reduces = stubborn.find(&code.parts);
        if reduces {
            visitor.tries();
        }
        let mut done = Done::default();
        for part in 0..count {
            // What is not known may be a fault.
            let fires = match stubborn.guards[part] {
                GuardKnowledge::Holds => !reduces || stubborn.has(part),
                GuardKnowledge::Fails(_) => false,
                GuardKnowledge::Unknown => true,
            };
            if fires {
                done.add(self.part(code, part, violates, visitor)?);
            }
        }
        if !reduces || done.reached && visitor.suffices() {
            return ControlFlow::Continue(());
        }
        for part in 0..count {
            if stubborn.guards[part] == GuardKnowledge::Holds && !stubborn.has(part) {
                self.part(code, part, violates, visitor)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Fires the instances of a part.
    fn part<V: Visitor>(
        &mut self,
        code: &PartsCode,
        part: usize,
        violates: bool,
        visitor: &mut V,
    ) -> ControlFlow<(), Done> {
        let rule = code.rule(part);
        self.give(code, part);
        self.instances(&self.program.rules[rule], rule, true, violates, visitor, None)
    }

    /// Gives the parameters of a part's rule their values.
    fn give(&mut self, code: &PartsCode, part: usize) {
        let params = &self.program.rules[code.rule(part)].params;
        for (param, content) in params.iter().zip(&code.contents[part]) {
            self.machine.set_register(param.reg, *content);
        }
    }

    /// Looks at the guard of a part.
    fn guard(&mut self, code: &PartsCode, part: usize) -> GuardKnowledge {
        let rule = code.rule(part);
        if code.parts.given[rule] < self.program.rules[rule].params.len() {
            self.give(code, part);
            return if self.fires_somewhere(rule) { GuardKnowledge::Holds } else { GuardKnowledge::Unknown };
        }
        for (register, content) in (0..).zip(&code.contents[part]) {
            self.machine.set_register(register, *content);
        }
        let mut fails = 0;
        for (at, conjunct) in code.guards[rule].iter().enumerate() {
            match self.machine.holds(*conjunct) {
                Ok(true) => {}
                // Conjuncts behind one that is false may be false as well, and perhaps that is the better reason.
                Ok(false) if at < 64 => fails |= 1 << at,
                Ok(false) | Err(_) if fails == 0 => return GuardKnowledge::Unknown,
                Ok(false) | Err(_) => {}
            }
        }
        if fails == 0 { GuardKnowledge::Holds } else { GuardKnowledge::Fails(fails) }
    }

    /// Whether an instance of a rule may fire, whatever others do.
    fn fires_somewhere(&mut self, rule: usize) -> bool {
        let code = &self.program.rules[rule];
        let mut pc = code.instances;
        loop {
            match self.machine.resume(pc, None) {
                Ok(event) => return event == CodeEnd::Fire,
                Err(Trap::Stopped) => return false,
                Err(Trap::Fault(_) | Trap::Discard | Trap::NoRun) => match code.handler(self.machine.at()) {
                    Some(handler) => pc = handler.resume,
                    None => return false,
                },
            }
        }
    }
}
