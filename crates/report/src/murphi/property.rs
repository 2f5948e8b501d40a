//! Properties.

use shoal_model::{Condition, DeadlockKind, IndexVec, Local, LocalId, Property, PropertyKind};

use super::{DeadlockAsked, MurphiNote, OrCannotSay, Writer, code::MurphiScope, names::quoted};

impl<'m> Writer<'m> {
    /// The section of properties. What the language does not ask is noted.
    pub(crate) fn properties(&mut self) -> OrCannotSay<String> {
        let model = self.model;
        let mut texts = Vec::new();
        for property in model.properties.iter() {
            texts.extend(self.property(property)?);
        }
        texts.extend(self.deadlock()?);
        if !model.properties.iter().any(|property| property.kind == PropertyKind::NoFaults) {
            self.note(MurphiNote::FaultsAsked);
        }
        Ok(texts.concat())
    }

    fn property(&mut self, property: &'m Property) -> OrCannotSay<Option<String>> {
        let rumur = "assumptions and covers";
        let (word, condition) = match &property.kind {
            PropertyKind::Invariant(condition) => ("invariant", condition),
            PropertyKind::Assume(Some(condition)) => {
                self.survey.not_for_cmurphi.insert(rumur);
                ("assume", condition)
            }
            PropertyKind::Cover(Some(condition)) => {
                self.survey.not_for_cmurphi.insert(rumur);
                ("cover", condition)
            }
            PropertyKind::AlwaysPossible(condition) => {
                self.survey.not_for_cmurphi.insert("liveness");
                ("liveness", condition)
            }
            PropertyKind::Bound => {
                self.note(MurphiNote::BoundIsAssertion(property.name.clone()));
                return Ok(None);
            }
            PropertyKind::Assertion
            | PropertyKind::NoFaults
            | PropertyKind::Assume(None)
            | PropertyKind::Cover(None)
            | PropertyKind::Deadlock(_) => return Ok(None),
            PropertyKind::CoverDeadlock(_)
            | PropertyKind::Temporal(..)
            | PropertyKind::Extreme(_)
            | PropertyKind::Unclear(_) => {
                self.note(MurphiNote::LeftOut(property.title()));
                return Ok(None);
            }
        };
        let text = self.condition(condition)?;
        Ok(Some(format!("{word} {}\n  {text};\n", quoted(&property.name))))
    }

    fn condition(&mut self, condition: &'m Condition) -> OrCannotSay<String> {
        let locals: &'m IndexVec<LocalId, Local> = &condition.locals;
        MurphiScope::new(self, locals).expr(&condition.expr)
    }

    /// What is asked about deadlocks is no part of the text. Where a state may be an end, it has a step to itself: that is no end
    /// then. (The first question stands for all; a model has one.)
    fn deadlock(&mut self) -> OrCannotSay<Option<String>> {
        let model = self.model;
        let mut asked = model.properties.iter().filter_map(|property| match &property.kind {
            PropertyKind::Deadlock(kind) => Some((property, kind)),
            _ => None,
        });
        let (first, others): (_, Vec<_>) = (asked.next(), asked.collect());
        for (other, _) in others {
            self.note(MurphiNote::LeftOut(other.title()));
        }
        let (kind, text) = match first {
            Some((_, DeadlockKind::Stuck)) => (DeadlockAsked::Stuck, None),
            Some((_, DeadlockKind::Stuttering)) => (DeadlockAsked::Stuttering, None),
            Some((_, DeadlockKind::StuckUnless(condition))) => {
                let end = self.condition(condition)?;
                let rule = format!("\nrule \"stays at a valid end\"\n  {end}\n==>\nbegin\nend;\n");
                (DeadlockAsked::Stuck, Some(rule))
            }
            Some((property, DeadlockKind::Timelock)) => {
                self.note(MurphiNote::LeftOut(property.title()));
                (DeadlockAsked::Off, None)
            }
            None => (DeadlockAsked::Off, None),
        };
        self.note(MurphiNote::Deadlock(kind));
        Ok(text)
    }
}
