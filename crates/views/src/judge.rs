//! What the views say about the properties.

use shoal_model::{Fault, FaultKind, PropertyId, PropertyKind};

use crate::{
    search::{SearchHalt, ViewSearch, halt},
    step::RunSubject,
    store::ViewId,
    structure::Structure,
    task::RunTask,
    words,
};

impl<'s, 'm> ViewSearch<'s, 'm, '_> {
    /// A run shows that something may be violated.
    pub(crate) fn fails(
        &mut self,
        step: RunSubject<'s, 'm>,
        fault: &Fault,
        task: &RunTask,
    ) -> Result<(), SearchHalt> {
        let model = self.system.model;
        let no_faults = || {
            let mut properties = model.properties.enumerate();
            properties.find(|(_, property)| property.kind == PropertyKind::NoFaults).map(|(id, _)| id)
        };
        let mut violated: Vec<PropertyId> = match (&fault.kind, step) {
            (FaultKind::Assertion(property), _) => vec![*property],
            (_, RunSubject::Claim(claim)) => vec![claim.property],
            (_, RunSubject::Rule(_)) => Vec::new(),
        };
        if !matches!(fault.kind, FaultKind::Assertion(_)) {
            violated.extend(no_faults());
        }
        for property in violated {
            let system = self.system;
            self.failed
                .entry(property)
                .or_insert_with(|| words::failure(system, step_name(step), fault, &task.node.structure));
        }
        if self.is_hopeless() { Err(SearchHalt::GivenUp) } else { Ok(()) }
    }

    /// Asks every claim of every view.
    pub(crate) fn judge(&mut self) -> Result<(), SearchHalt> {
        for at in 0..self.store.leaders.len() {
            self.judge_view(self.store.leaders[at])?;
        }
        Ok(())
    }

    /// Asks every claim of a view. What fails now also fails when there are more views. A claim that has failed may still
    /// fault, and that is asked too.
    pub(crate) fn judge_view(&mut self, id: ViewId) -> Result<(), SearchHalt> {
        let system = self.system;
        let node = system.node(Structure::of_view(system, &self.store.views[id as usize])).map_err(halt)?;
        let is_no_faults = |it: &PropertyId| system.model.properties[*it].kind == PropertyKind::NoFaults;
        let no_faults = self.hoped.iter().copied().find(is_no_faults);
        for claim in &system.claims {
            let faults_matter = no_faults.is_some_and(|it| !self.failed.contains_key(&it));
            if self.failed.contains_key(&claim.property) && !faults_matter {
                continue;
            }
            match self.explore(RunSubject::Claim(claim), &node, Some(None)) {
                Ok(_) => {}
                // Then it is not known whether it holds, nor whether it faults.
                Err(SearchHalt::Lacking(what, _)) => {
                    for property in no_faults.into_iter().chain([claim.property]) {
                        self.failed.entry(property).or_insert_with(|| what.clone());
                    }
                }
                Err(halt @ (SearchHalt::Stopped | SearchHalt::GivenUp)) => return Err(halt),
            }
        }
        Ok(())
    }

    /// The properties asked that nothing speaks against. Of faults that show only where several elements meet in nested
    /// quantifiers or loops nothing is known, unless views have as many.
    pub(crate) fn proved(&mut self, asked: &[PropertyId]) -> Vec<PropertyId> {
        let system = self.system;
        let shallow = |depth: &[usize]| {
            (0..depth.len()).all(|sort| !system.any[sort] || depth[sort] <= system.view[sort])
        };
        let deep = !shallow(&system.depth) || system.claims.iter().any(|claim| !shallow(&claim.depth));
        let mut proved = Vec::new();
        for property in asked {
            match &system.model.properties[*property].kind {
                PropertyKind::Invariant(_) => {}
                PropertyKind::NoFaults | PropertyKind::Assertion => {
                    if deep {
                        let what = "more elements meet in nested loops or quantifiers than a view shows";
                        self.failed.entry(*property).or_insert_with(|| what.into());
                    }
                }
                // See `lively`.
                PropertyKind::Deadlock(_) => {}
                PropertyKind::Bound
                | PropertyKind::Assume(_)
                | PropertyKind::Cover(_)
                | PropertyKind::CoverDeadlock(_)
                | PropertyKind::Extreme(_)
                | PropertyKind::Unclear(_)
                | PropertyKind::AlwaysPossible(_)
                | PropertyKind::Temporal(..) => {
                    let what = "this kind of property is not decided for any number of elements";
                    self.failed.entry(*property).or_insert_with(|| what.into());
                }
            }
            if !self.failed.contains_key(property) {
                proved.push(*property);
            }
        }
        proved
    }
}

fn step_name<'m>(step: RunSubject<'_, 'm>) -> Option<&'m str> {
    match step {
        RunSubject::Rule(rule) => Some(&rule.name),
        RunSubject::Claim(_) => None,
    }
}
