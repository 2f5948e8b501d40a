//! The desk: state-graphs as boxes. A desk is the steps that were made on it, so every answer depends on the call alone.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use serde_json::{Value as Json, json};
use shoal::{
    Desk, DeskStep, Error, LoadOptions, ScriptStep, Workshop,
    graphs::{MOST_NODES, Reducer, StateGraph, system::ProcessSystem, to_aut, to_dot, to_parts, to_text},
};
use shoal_report::{Arguments, LabelledGraph, picture_as_json};

use crate::{
    Studio,
    api::{Call, CallError, object},
    locked,
    models::ModelCall,
};

/// So many desks are kept as they were.
const KEPT: usize = 24;
/// Graphs of more nodes are not drawn.
const DRAWN: usize = 300;

/// The desks that were looked at last.
#[derive(Debug, Default)]
pub(crate) struct Desks {
    kept: Mutex<VecDeque<(ModelCall, Vec<DeskStep>, Desk)>>,
}

/// `["merge A[1] A[2]", "rw g1"]`: what is done, one after the other.
fn steps(given: &mut Arguments) -> Result<Vec<DeskStep>, CallError> {
    let wrong =
        |text: &str| CallError::from(format!("{text:?} is no step: `merge A B`, or a reducer and a box"));
    let step = |text: String| {
        let words: Vec<&str> = text.split_whitespace().collect();
        match words.as_slice() {
            ["merge", left, right] => Ok(DeskStep::Merge((*left).into(), (*right).into())),
            [name, of] => {
                Reducer::named(name).map(|by| DeskStep::Reduce((*of).into(), by)).ok_or_else(|| wrong(&text))
            }
            _ => Err(wrong(&text)),
        }
    };
    given.list("steps")?.into_iter().map(step).collect()
}

/// A step as a call has it.
fn written(step: &DeskStep) -> String {
    match step {
        DeskStep::Merge(left, right) => format!("merge {left} {right}"),
        DeskStep::Reduce(name, by) => format!("{} {name}", by.short()),
    }
}

impl Studio {
    /// Does something with a desk, in the time that the call allows.
    fn at_desk<T>(
        &self,
        given: &mut Arguments,
        take: impl FnOnce(&mut Arguments) -> Result<T, CallError>,
        work: impl FnOnce(&Workshop, &ProcessSystem<'_>, &Desk, &[DeskStep], T) -> Call,
    ) -> Call {
        let watch = given.watch()?;
        let call = ModelCall::take(&self.folder, given)?;
        let steps = steps(given)?;
        let most = given.number("most", MOST_NODES as u64)?.map_or(MOST_NODES, |most| most as usize);
        let more = take(given)?;
        given.end()?;
        if !call.file.ends_with(".vpl") {
            return Err(CallError::new(422, "not-possible", "state-graphs are made of VPL models only"));
        }
        let options = LoadOptions { set: call.set(), watch: watch.clone(), ..LoadOptions::default() };
        let workshop = shoal::load_workshop_text(&call.file, call.text.clone(), &options)?;
        let system = workshop.system()?;
        let done = shoal::under(&watch, || {
            let desk = self.desk(&call, &workshop, &system, &steps, most)?;
            work(&workshop, &system, &desk, &steps, more)
        });
        done.map_err(Error::Stopped)?
    }

    /// The desk after some steps: from the last of them that is kept.
    fn desk(
        &self,
        call: &ModelCall,
        workshop: &Workshop,
        system: &ProcessSystem<'_>,
        steps: &[DeskStep],
        most: usize,
    ) -> Result<Desk, CallError> {
        let known = {
            let kept = locked(&self.desks.kept);
            let fits = kept.iter().filter(|(known, made, _)| known == call && steps.starts_with(made));
            fits.max_by_key(|(_, made, _)| made.len()).map(|(_, made, desk)| (made.len(), desk.clone()))
        };
        let (mut at, mut desk) = match known {
            Some(known) => known,
            None => (0, workshop.desk(system).map_err(|refusal| Error::NotRunnable(refusal.to_string()))?),
        };
        while let Some(step) = steps.get(at) {
            desk = workshop.desk_after(system, &desk, step, most)?;
            at += 1;
        }
        let mut kept = locked(&self.desks.kept);
        kept.retain(|(known, made, _)| known != call || made != steps);
        kept.push_back((call.clone(), steps.to_vec(), desk.clone()));
        if kept.len() > KEPT {
            kept.pop_front();
        }
        Ok(desk)
    }

    /// What is on a desk, and how it was made.
    pub(crate) fn desk_shown(&self, given: &mut Arguments) -> Call {
        self.at_desk(given, |_| Ok(()), |workshop, system, desk, steps, ()| {
            let boxes: Vec<Json> = desk.boxes.iter().map(|(name, graph)| box_json(system, name, graph)).collect();
            let done = |(step, done): (&DeskStep, &ScriptStep)| {
                json!({ "step": written(step), "text": step.to_string(), "box": done.name, "nodes": done.nodes, "arcs": done.arcs, "seconds": done.time.as_secs_f64() })
            };
            // Only a graph of all processes knows what the properties are about.
            let closed = desk.boxes.iter().rev().find(|(_, graph)| graph.is_closed(system));
            let closed = closed.map(|(name, _)| name.as_str());
            object(json!({
                "boxes": boxes,
                "done": steps.iter().zip(&desk.done).map(done).collect::<Vec<_>>(),
                "reducers": Reducer::ALL.iter().map(|it| json!({ "name": it.name(), "short": it.short(), "keeps": it.preserves() })).collect::<Vec<_>>(),
                "manipulation": workshop.manipulation(steps, closed),
                "recorded": workshop.recorded(steps, closed)?,
            }))
        })
    }

    /// What each reducer would make of a box.
    pub(crate) fn desk_preview(&self, given: &mut Arguments) -> Call {
        self.at_desk(given, |given| Ok(given.needed("box")?), |_, system, desk, _, name| {
            let graph = find(desk, &name)?;
            let preview = |by: &Reducer| match by.apply(system, graph) {
                Ok(reduced) => json!({ "short": by.short(), "nodes": reduced.node_count(), "arcs": reduced.arc_count(), "refused": null }),
                Err(refusal) => json!({ "short": by.short(), "nodes": null, "arcs": null, "refused": refusal.to_string() }),
            };
            object(json!({ "box": name, "reducers": Reducer::ALL.iter().map(preview).collect::<Vec<_>>() }))
        })
    }

    /// What the properties are on a box.
    pub(crate) fn desk_check(&self, given: &mut Arguments) -> Call {
        self.at_desk(
            given,
            |given| Ok(given.needed("box")?),
            |workshop, system, desk, _, name| {
                let graph = find(desk, &name)?;
                let check = |property| {
                    let (holds, text) = workshop.check(system, graph, property);
                    json!({ "name": workshop.model.properties[property].name, "holds": holds, "text": text })
                };
                let properties: Vec<Json> = workshop.properties().into_iter().map(check).collect();
                object(json!({ "box": name, "properties": properties }))
            },
        )
    }

    /// A picture of a box.
    pub(crate) fn desk_picture(&self, given: &mut Arguments) -> Call {
        self.at_desk(
            given,
            |given| Ok(given.needed("box")?),
            |_, system, desk, _, name| {
                let graph = find(desk, &name)?;
                if graph.node_count() > DRAWN {
                    let message = format!(
                        "{} nodes are too many for a picture (at most {DRAWN}): reduce the box first",
                        graph.node_count()
                    );
                    return Err(CallError::new(422, "too-large", message));
                }
                let (nodes, edges) = to_parts(system, graph);
                let nodes = nodes.iter().map(|text| lines(text)).collect();
                let labelled = LabelledGraph { name: name.clone(), nodes, starts: vec![0], edges };
                object(json!({ "box": name, "picture": picture_as_json(&labelled) }))
            },
        )
    }

    /// A box for another tool, or to be read.
    pub(crate) fn desk_print(&self, given: &mut Arguments) -> Call {
        let take = |given: &mut Arguments| Ok((given.needed("box")?, given.needed("as")?));
        self.at_desk(given, take, |_, system, desk, _, (name, format)| {
            let graph = find(desk, &name)?;
            let text = match format.as_str() {
                "text" => to_text(system, graph),
                "dot" => to_dot(system, graph),
                "aut" => to_aut(system, graph),
                other => return Err(CallError::from(format!("there is no format {other:?}"))),
            };
            object(json!({ "box": name, "text": text }))
        })
    }

    /// The steps of a strategy, to be done from the beginning.
    pub(crate) fn desk_sequence(&self, given: &mut Arguments) -> Call {
        let take = |given: &mut Arguments| {
            let upto = given.number("upto", 1_000)?.unwrap_or(1_000);
            Ok((given.needed("strategy")?, upto as usize))
        };
        self.at_desk(given, take, |workshop, system, _, _, (strategy, upto)| {
            let steps = workshop.desk_sequence(system, &strategy, upto)?;
            object(json!({ "steps": steps.iter().map(written).collect::<Vec<_>>() }))
        })
    }
}

/// What a node records, a part a line.
fn lines(record: &str) -> String {
    let together = [("\nnot\nprivate", " not private"), ("\nmay\nbe\n", " may be "), ("\nin\n{", " in {")];
    together.iter().fold(record.replace(' ', "\n"), |text, (apart, one)| text.replace(apart, one))
}

fn find<'d>(desk: &'d Desk, name: &str) -> Result<&'d Arc<StateGraph>, CallError> {
    desk.find(name).ok_or_else(|| CallError::missing(format!("there is no box {name}")))
}

fn box_json(system: &ProcessSystem<'_>, name: &str, graph: &StateGraph) -> Json {
    let processes: Vec<&str> = graph.members.iter().map(|at| system.processes[*at].name.as_str()).collect();
    json!({
        "name": name,
        "processes": processes,
        "nodes": graph.node_count(),
        "arcs": graph.arc_count(),
        "clocks": graph.timers.len(),
        "reducers": graph.reducers.iter().map(|by| by.short()).collect::<Vec<_>>(),
        "closed": graph.is_closed(system),
        "only_reachability": graph.bypassed,
        "seconds": graph.time.as_secs_f64(),
    })
}
