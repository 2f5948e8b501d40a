//! A desk: the state-graphs of a model as boxes, and what was done with them.
//!
//! What is on a desk follows from the steps alone, so a desk is made again from them, taken back to any of them, and written down as
//! a manipulation part that [`Workshop::run`] runs to the same sizes.

use std::{
    collections::BTreeMap,
    fmt::{self, Write as _},
    sync::Arc,
    time::Instant,
};

use shoal_stategraphs::{
    graphs::{self, GraphRefusal, Reducer, StateGraph},
    sequence,
    system::ProcessSystem,
};

use crate::{Error, ScriptStep, Workshop, script::done};

/// Something that is done on a desk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeskStep {
    /// Two boxes become a new one; the two stay.
    Merge(String, String),
    /// A box becomes smaller.
    Reduce(String, Reducer),
}

impl fmt::Display for DeskStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeskStep::Merge(left, right) => write!(f, "merge {left} {right}"),
            DeskStep::Reduce(name, reducer) => write!(f, "{} {name}", reducer.name()),
        }
    }
}

/// The boxes there are, in the order they came, and what was done.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Desk {
    /// Name and graph of each box.
    pub boxes: Vec<(String, Arc<StateGraph>)>,
    /// What each step made.
    pub done: Vec<ScriptStep>,
    made: usize,
}

impl Desk {
    /// The graph in a box.
    pub fn find(&self, name: &str) -> Option<&Arc<StateGraph>> {
        self.boxes.iter().find(|(known, _)| known == name).map(|(_, graph)| graph)
    }
}

impl Workshop {
    /// A desk with a box for each process.
    pub fn desk(&self, system: &ProcessSystem<'_>) -> Result<Desk, GraphRefusal> {
        let base = |process: usize| {
            let graph = graphs::base(system, process)?;
            Ok((system.processes[process].name.clone(), Arc::new(graph)))
        };
        let boxes = (0..system.processes.len()).map(base).collect::<Result<_, GraphRefusal>>()?;
        Ok(Desk { boxes, done: Vec::new(), made: 0 })
    }

    /// The desk after a step. A step that cannot be done, or makes a graph of more nodes than `most`, leaves no desk.
    pub fn desk_after(
        &self,
        system: &ProcessSystem<'_>,
        desk: &Desk,
        step: &DeskStep,
        most: usize,
    ) -> Result<Desk, Error> {
        let find = |name: &String| {
            desk.find(name).ok_or_else(|| Error::NotRunnable(format!("there is no box `{name}`")))
        };
        let refused = |refusal: GraphRefusal| Error::NotRunnable(refusal.to_string());
        let began = Instant::now();
        let mut after = desk.clone();
        match step {
            DeskStep::Merge(left, right) => {
                let merged =
                    graphs::merge_within(system, find(left)?, find(right)?, most).map_err(refused)?;
                after.made += 1;
                let name = format!("g{}", after.made);
                after.done.push(done(&name, "merge_graph", &merged, began.elapsed()));
                after.boxes.push((name, Arc::new(merged)));
            }
            DeskStep::Reduce(name, reducer) => {
                let reduced = reducer.apply(system, find(name)?).map_err(refused)?;
                after.done.push(done(name, reducer.name(), &reduced, began.elapsed()));
                let reduced = Arc::new(reduced);
                for (_, graph) in after.boxes.iter_mut().filter(|(known, _)| known == name) {
                    *graph = reduced.clone();
                }
            }
        }
        Ok(after)
    }

    /// The steps that merge one process after the other and reduce after each merge, as a strategy says: `auto` the sequence that
    /// is predicted to be best, `paper` the one by the rules of the paper, or reducers such as `rw,sc,sm`.
    pub fn desk_sequence(
        &self,
        system: &ProcessSystem<'_>,
        strategy: &str,
        upto: usize,
    ) -> Result<Vec<DeskStep>, Error> {
        let none = || {
            Error::NotRunnable(
                "no sequence of reducers can be tried on this model: it needs four processes".into(),
            )
        };
        let numbered: Vec<usize> = (0..system.processes.len()).collect();
        let (reducers, mut order) = match strategy {
            "auto" => sequence::best(system).map(|trial| (trial.reducers, trial.order)).ok_or_else(none)?,
            "paper" => sequence::paper(system).map(|trial| (trial.reducers, trial.order)).ok_or_else(none)?,
            list => {
                let named = |name: &str| {
                    Reducer::named(name.trim())
                        .ok_or_else(|| Error::NotRunnable(format!("there is no reducer `{name}`")))
                };
                let names = list.split(',').filter(|name| !name.is_empty());
                (names.map(named).collect::<Result<_, _>>()?, numbered)
            }
        };
        order.truncate(upto);
        let name = |process: &usize| system.processes[*process].name.clone();
        let mut steps = Vec::new();
        for (at, process) in order.iter().enumerate().skip(1) {
            let before = if at == 1 { name(&order[0]) } else { format!("g{}", at - 1) };
            steps.push(DeskStep::Merge(before, name(process)));
            steps.extend(reducers.iter().map(|reducer| DeskStep::Reduce(format!("g{at}"), *reducer)));
        }
        Ok(steps)
    }

    /// The file with these steps as its manipulation part, and `model_check` of a box at its end.
    pub fn recorded(&self, steps: &[DeskStep], checked: Option<&str>) -> Result<String, Error> {
        let main = self
            .sources
            .files()
            .next()
            .ok_or_else(|| Error::Internal("a workshop without a source".into()))?;
        let own = self.script.statements.first().map(|first| first.span.start as usize);
        let own = own.and_then(|start| main.text().get(..start)?.rfind("manipulation"));
        let model = main.text().get(..own.unwrap_or(main.text().len())).unwrap_or_default();
        Ok(format!("{}\n\n{}", model.trim_end(), self.manipulation(steps, checked)))
    }

    /// Only the manipulation part.
    pub fn manipulation(&self, steps: &[DeskStep], checked: Option<&str>) -> String {
        let taken = |name: &str| self.script.families.iter().any(|(family, ..)| family == name);
        let array = ["g", "h", "made"].into_iter().find(|name| !taken(name)).unwrap_or("boxes");
        // The variable that each box is in; a process is in none until something is done with it.
        let mut variables: BTreeMap<String, String> = BTreeMap::new();
        let (mut lines, mut count, mut merged) = (String::new(), 0, 0);
        let mut fresh = |name: String, variables: &mut BTreeMap<String, String>| {
            count += 1;
            let variable = format!("{array}[{count}]");
            variables.insert(name, variable.clone());
            variable
        };
        for step in steps {
            match step {
                DeskStep::Merge(left, right) => {
                    let [left, right] = [left, right].map(|name| variables.get(name).unwrap_or(name).clone());
                    merged += 1;
                    let variable = fresh(format!("g{merged}"), &mut variables);
                    let _ = writeln!(lines, "  {variable} := merge_graph({left}, {right});");
                }
                DeskStep::Reduce(name, reducer) => {
                    let variable = match variables.get(name) {
                        Some(variable) => variable.clone(),
                        None => {
                            let variable = fresh(name.clone(), &mut variables);
                            let _ = writeln!(lines, "  {variable} := {name};");
                            variable
                        }
                    };
                    let _ = writeln!(lines, "  {}({variable});", reducer.name());
                }
            }
        }
        let check = checked.and_then(|name| variables.get(name));
        let check = check.map(|variable| format!("  model_check({variable});\n")).unwrap_or_default();
        match count {
            0 => "manipulation\n".into(),
            _ => format!("manipulation\n  graph {array}[1..{count}];\n{lines}{check}"),
        }
    }
}
