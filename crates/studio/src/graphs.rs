//! The graph of a model's states: all of it from far away, or a part of it that can be read.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value as Json, json};
use shoal::{
    Asked, Error, Limits, ModelGraph, Session, Watch,
    model::{State, TypedId},
};
use shoal_report::{
    Arguments, LabelledGraph, changes, instance_name, picture_as_json, picture_from, render_node,
    render_state, write_aut, write_dot, write_graphml, write_svg,
};

use crate::{
    Studio,
    api::{Answered, Call, CallError, object},
    http::Response,
    locked,
    models::ModelCall,
};

/// So many graphs are kept.
const KEPT: usize = 4;
/// So many states are looked for where nobody says, and at most.
const STATES: u64 = 20_000;
const MOST_STATES: u64 = 200_000;
/// So many nodes a part of a graph has at most: nobody reads more.
const SHOWN: usize = 250;
/// A walk along a way is looked for so long.
const PATIENCE: Duration = Duration::from_secs(5);
/// So many lines in a node say what is new in it, and so many what its clocks show.
const LINES: usize = 5;

/// The graphs that were made last.
#[derive(Debug, Default)]
pub(crate) struct StateGraphs {
    kept: Mutex<(usize, VecDeque<Arc<OpenGraph>>)>,
}

/// A graph that somebody looks at.
#[derive(Debug)]
struct OpenGraph {
    id: String,
    call: ModelCall,
    quotient: bool,
    limit: u64,
    session: Session,
    graph: ModelGraph,
    /// Where each state was first reached from: the state and the step.
    parents: Vec<Option<usize>>,
    depth: Vec<usize>,
    out: Vec<Vec<usize>>,
}

impl Studio {
    /// Explores a model.
    pub(crate) fn state_graph(&self, given: &mut Arguments) -> Call {
        let watch = given.watch()?;
        let call = ModelCall::take(&self.folder, given)?;
        let quotient = given.truth("quotient")?;
        let limit = given.number("limit", MOST_STATES)?.unwrap_or(STATES);
        given.end()?;
        let session = self.session(&call)?;
        let known = {
            let kept = locked(&self.graphs.kept);
            let fits = |open: &&Arc<OpenGraph>| {
                (open.quotient, open.limit) == (quotient, limit) && open.call == call
            };
            kept.1.iter().find(fits).cloned()
        };
        let open = match known {
            Some(open) => open,
            None => {
                let loaded = session.loaded();
                let symmetric = if quotient { shoal::graph_symmetry(loaded) } else { Vec::new() };
                let graph = shoal::graph(loaded, &symmetric, limit as usize, &watch)?;
                self.keep(OpenGraph::new(call, quotient, limit, session.clone(), graph))
            }
        };
        let model = &open.session.loaded().model;
        let mut levels = vec![0_usize; open.depth.iter().max().map_or(0, |deepest| deepest + 1)];
        open.depth.iter().for_each(|depth| levels[*depth] += 1);
        object(json!({
            "graph": open.id,
            "states": open.graph.nodes.len(),
            "steps": open.graph.edges.len(),
            "complete": open.graph.complete,
            "levels": levels,
            "timed": !open.graph.zones.is_empty(),
            "symmetric": open.graph.symmetric.iter().map(|sort| model.sorts[*sort].name.clone()).collect::<Vec<_>>(),
            "rules": model.rules.iter().map(|rule| rule.name.clone()).collect::<Vec<_>>(),
            "variables": model.vars.iter().map(|var| var.name.clone()).collect::<Vec<_>>(),
            "dead_ends": (0..open.out.len()).filter(|node| open.is_dead_end(*node)).count(),
        }))
    }

    fn keep(&self, mut open: OpenGraph) -> Arc<OpenGraph> {
        let mut kept = locked(&self.graphs.kept);
        kept.0 += 1;
        open.id = kept.0.to_string();
        let open = Arc::new(open);
        kept.1.push_back(open.clone());
        if kept.1.len() > KEPT {
            kept.1.pop_front();
        }
        open
    }

    fn open_graph(&self, id: &str) -> Result<Arc<OpenGraph>, CallError> {
        let found = locked(&self.graphs.kept).1.iter().find(|open| open.id == id).cloned();
        found.ok_or_else(|| CallError::missing(format!("there is no graph {id}: make it again")))
    }

    /// All of a graph as numbers: a header of JSON with its length before it, then x, y of every state, from and to of every step,
    /// and a mark for every state (1 a start, 2 a dead end).
    pub(crate) fn graph_overview(&self, id: &str) -> Call {
        let open = self.open_graph(id)?;
        let (nodes, edges) = (open.graph.nodes.len(), open.graph.edges.len());
        let placed = open.placed();
        let mut header = json!({ "schema": 1, "nodes": nodes, "edges": edges, "width": placed.width, "height": placed.height }).to_string();
        while !header.len().is_multiple_of(4) {
            header.push(' ');
        }
        let mut bytes = Vec::with_capacity(8 + header.len() + nodes * 9 + edges * 8);
        bytes.extend_from_slice(&(header.len() as u32).to_le_bytes());
        bytes.extend_from_slice(header.as_bytes());
        for all in [&placed.x, &placed.y] {
            all.iter().for_each(|it| bytes.extend_from_slice(&(*it as f32).to_le_bytes()));
        }
        open.graph.edges.iter().for_each(|edge| bytes.extend_from_slice(&(edge.from as u32).to_le_bytes()));
        open.graph.edges.iter().for_each(|edge| bytes.extend_from_slice(&(edge.to as u32).to_le_bytes()));
        let mark = |node: usize| match (open.graph.initial.contains(&node), open.is_dead_end(node)) {
            (true, _) => 1_u8,
            (false, true) => 2,
            (false, false) => 0,
        };
        bytes.extend((0..nodes).map(mark));
        Ok(Answered::Other(Response::new(200, "application/octet-stream", bytes)))
    }

    /// A part of a graph with the text of its states: around a state, or with like states together.
    pub(crate) fn graph_view(&self, id: &str, given: &mut Arguments) -> Call {
        let open = self.open_graph(id)?;
        let watch = given.watch()?;
        let around = given.number("around", u64::MAX)?.unwrap_or(0) as usize;
        let radius = given.number("radius", 50)?.unwrap_or(2) as usize;
        let collapse = given.list("collapse")?;
        let filter = given.text("filter")?.filter(|text| !text.trim().is_empty());
        let side = given.text("side")?;
        let without = given.list("without")?;
        let known = given.places("known")?;
        let format = given.text("as")?;
        given.end()?;
        if around >= open.graph.nodes.len() {
            return Err(CallError::missing("there is no such state"));
        }
        let done = shoal::under(&watch, || {
            let mut wanted = open.chosen(filter.as_deref())?;
            open.only_side(around, side.as_deref(), &mut wanted)?;
            let hidden = open.hidden(&without)?;
            match collapse.is_empty() {
                true => Ok(open.near((around, radius), &wanted, &hidden, &known)),
                false => open.collapsed(&collapse, &wanted, &hidden),
            }
        });
        let part = done.map_err(Error::Stopped)??;
        match format {
            None => object(json!({ "picture": part.picture(), "about": part.about })),
            Some(format) => part.export(&format),
        }
    }

    /// The states in which something holds, or that are so far from the start, the nearest first.
    pub(crate) fn graph_find(&self, id: &str, given: &mut Arguments) -> Call {
        let open = self.open_graph(id)?;
        let watch = given.watch()?;
        let text = given.text("expression")?;
        let depth = given.number("depth", u64::MAX)?.map(|depth| depth as usize);
        given.end()?;
        if text.is_none() && depth.is_none() {
            return Err(CallError::from("`expression` or `depth` is missing".to_string()));
        }
        let wanted = shoal::under(&watch, || open.chosen(text.as_deref())).map_err(Error::Stopped)??;
        let there = |node: &usize| wanted[*node] && depth.is_none_or(|depth| open.depth[*node] == depth);
        let found: Vec<usize> = (0..wanted.len()).filter(there).collect();
        object(json!({ "count": found.len(), "states": found.iter().take(200).collect::<Vec<_>>() }))
    }

    /// The node of a state of a run.
    pub(crate) fn graph_locate(&self, id: &str, given: &mut Arguments) -> Call {
        let open = self.open_graph(id)?;
        let trace = self.trace(&given.needed("trace")?)?;
        trace.needs_model()?;
        let row = given.number("row", u64::MAX)?.unwrap_or(0) as usize;
        given.end()?;
        let state =
            trace.trace.states().nth(row).ok_or_else(|| CallError::missing("there is no such row"))?;
        object(json!({ "state": open.graph.locate(&open.session.loaded().model, state) }))
    }

    /// A shortest way between two states.
    pub(crate) fn graph_path(&self, id: &str, given: &mut Arguments) -> Call {
        let open = self.open_graph(id)?;
        let count = open.graph.nodes.len() as u64;
        let from = given.number("from", count.saturating_sub(1))?.unwrap_or(0) as usize;
        let to = given.number("to", count.saturating_sub(1))?.ok_or_else(|| "`to` is missing".to_string())?
            as usize;
        given.end()?;
        let model = &open.session.loaded().model;
        let Some(edges) = open.way(from, to) else {
            return object(json!({ "found": false, "steps": [], "walk": null }));
        };
        let watch = Watch::start(Limits { time: Some(PATIENCE), ..Limits::default() });
        let walk = shoal::under(&watch, || open.walk(from, &edges)).map_err(Error::Stopped)?;
        let step = |edge: &usize| {
            let edge = &open.graph.edges[*edge];
            let (before, after) = (&open.graph.nodes[edge.from], &open.graph.nodes[edge.to]);
            let changes: Vec<String> =
                changes(model, before, after).iter().map(ToString::to_string).collect();
            json!({ "to": edge.to, "label": instance_name(model, edge.rule, &edge.args), "changes": changes })
        };
        object(json!({ "found": true, "steps": edges.iter().map(step).collect::<Vec<_>>(), "walk": walk }))
    }
}

/// A part of a graph: with text, and where its nodes go if that is known.
struct GraphPart {
    labelled: LabelledGraph,
    /// The level of each node, and where it was before.
    placing: Option<(Vec<usize>, Vec<Option<f64>>)>,
    about: Vec<Json>,
}

impl GraphPart {
    fn picture(&self) -> Json {
        match &self.placing {
            Some((levels, before)) => picture_from(&self.labelled, levels, before),
            None => picture_as_json(&self.labelled),
        }
    }

    /// For other tools.
    fn export(&self, format: &str) -> Call {
        let mut out = Vec::new();
        let (written, kind) = match format {
            "dot" => (write_dot(&mut out, &self.labelled), "text/vnd.graphviz; charset=utf-8"),
            "aut" => (write_aut(&mut out, &self.labelled), "text/plain; charset=utf-8"),
            "graphml" => (write_graphml(&mut out, &self.labelled), "application/xml; charset=utf-8"),
            "svg" => (write_svg(&mut out, &self.labelled), "image/svg+xml; charset=utf-8"),
            other => return Err(CallError::from(format!("there is no format {other:?}"))),
        };
        written.map_err(|error| CallError::new(500, "internal", error.to_string()))?;
        let name = format!("attachment; filename=\"graph.{format}\"");
        Ok(Answered::Other(Response::new(200, kind, out).with("Content-Disposition", name)))
    }
}

impl OpenGraph {
    fn new(call: ModelCall, quotient: bool, limit: u64, session: Session, graph: ModelGraph) -> OpenGraph {
        let count = graph.nodes.len();
        let mut out = vec![Vec::new(); count];
        graph.edges.iter().enumerate().for_each(|(at, edge)| out[edge.from].push(at));
        let (mut parents, mut depth) = (vec![None; count], vec![usize::MAX; count]);
        let mut open: VecDeque<usize> = graph.initial.iter().copied().collect();
        open.iter().for_each(|node| depth[*node] = 0);
        while let Some(node) = open.pop_front() {
            for edge in &out[node] {
                let to = graph.edges[*edge].to;
                if depth[to] == usize::MAX {
                    (depth[to], parents[to]) = (depth[node] + 1, Some(*edge));
                    open.push_back(to);
                }
            }
        }
        depth.iter_mut().for_each(|depth| *depth = if *depth == usize::MAX { 0 } else { *depth });
        OpenGraph { id: String::new(), call, quotient, limit, session, graph, parents, depth, out }
    }

    /// Whether nothing may happen in a state. Where a limit left states out, nobody knows.
    fn is_dead_end(&self, node: usize) -> bool {
        self.graph.complete && self.out[node].is_empty()
    }

    fn placed(&self) -> shoal::story::GraphLayout {
        let sizes = vec![(8.0, 8.0); self.graph.nodes.len()];
        let edges: Vec<(usize, usize)> = self.graph.edges.iter().map(|edge| (edge.from, edge.to)).collect();
        let starts = &self.graph.initial;
        shoal::story::layout(&shoal::story::LayoutGraph {
            sizes: &sizes,
            edges: &edges,
            starts,
            levels: &self.depth,
            before: &[],
        })
    }

    /// Whether each state is one that a text asks for: an expression of the model's language, or a part of a state's text.
    fn chosen(&self, filter: Option<&str>) -> Result<Vec<bool>, CallError> {
        let Some(text) = filter else { return Ok(vec![true; self.graph.nodes.len()]) };
        let loaded = self.session.loaded();
        match shoal::ask(loaded, text) {
            Ok(asked) if asked.is_condition() => {
                self.has_one_value(text, &asked)?;
                Ok(self.graph.nodes.iter().map(|state| asked.holds(state)).collect())
            }
            Ok(_) => Err(CallError::from("that is no condition".to_string())),
            Err(error @ Error::Source(_)) => Err(error.into()),
            // Languages without expressions: what is written in the state.
            Err(_) => {
                let fits = |node: usize| self.text(node).iter().any(|line| line.contains(text));
                Ok((0..self.graph.nodes.len()).map(fits).collect())
            }
        }
    }

    /// What is written in a node.
    fn text(&self, node: usize) -> Vec<String> {
        render_node(&self.session.loaded().model, &self.graph.nodes[node], self.graph.zone(node))
    }

    /// Refuses an expression that is not the same in all states of a node.
    fn has_one_value(&self, text: &str, asked: &Asked) -> Result<(), CallError> {
        if !self.graph.zones.is_empty() && asked.reads_clocks() {
            let why = format!("{text:?} reads clocks: they show more than one thing in a node of this graph");
            return Err(CallError::new(422, "not-supported", why));
        }
        Ok(())
    }

    /// The states near one, with what each differs in from where it was first reached.
    fn near(
        &self,
        (around, radius): (usize, usize),
        wanted: &[bool],
        hidden: &[bool],
        known: &HashMap<usize, f64>,
    ) -> GraphPart {
        let shown = |edge: &&usize| !hidden[self.graph.edges[**edge].rule.index()];
        let backwards = self.backwards(hidden);
        let mut found = vec![around];
        let mut distance = HashMap::from([(around, 0)]);
        let mut at = 0;
        while let Some(node) = found.get(at).copied() {
            at += 1;
            let near = distance[&node];
            if near >= radius {
                continue;
            }
            let after = self.out[node].iter().filter(shown).map(|edge| self.graph.edges[*edge].to);
            for next in after.chain(backwards[node].iter().copied()) {
                if found.len() < SHOWN && wanted[next] && !distance.contains_key(&next) {
                    distance.insert(next, near + 1);
                    found.push(next);
                }
            }
        }
        found.sort_unstable();
        let place: HashMap<usize, usize> = found.iter().enumerate().map(|(at, node)| (*node, at)).collect();
        let model = &self.session.loaded().model;
        let text = |node: &usize| {
            let state = &self.graph.nodes[*node];
            let from = self.parents[*node].map(|edge| self.graph.edges[edge].from);
            let mut lines: Vec<String> = match from {
                Some(from) => changes(model, &self.graph.nodes[from], state)
                    .iter()
                    .map(|it| format!("{} = {}", it.place, it.new.clone().unwrap_or_default()))
                    .take(LINES)
                    .collect(),
                None => render_state(model, state).into_iter().take(LINES).collect(),
            };
            lines.extend(self.graph.zone(*node).iter().take(LINES).map(ToString::to_string));
            format!("s{node}\n{}", lines.join("\n")).trim_end().to_string()
        };
        let edges = self.graph.edges.iter().filter(|edge| !hidden[edge.rule.index()]).filter_map(|edge| {
            let (from, to) = (place.get(&edge.from)?, place.get(&edge.to)?);
            Some((*from, instance_name(model, edge.rule, &edge.args), *to))
        });
        let depth = found.iter().map(|node| self.depth[*node]).min().unwrap_or(0);
        let starts: Vec<usize> =
            found.iter().enumerate().filter(|(_, node)| self.depth[**node] == depth).map(|it| it.0).collect();
        let labelled = LabelledGraph {
            name: String::new(),
            nodes: found.iter().map(text).collect(),
            starts,
            edges: edges.collect(),
        };
        let levels: Vec<usize> = found.iter().map(|node| self.depth[*node] - depth).collect();
        let before: Vec<Option<f64>> = match known.is_empty() {
            true => Vec::new(),
            false => found.iter().map(|node| known.get(node).copied()).collect(),
        };
        let more = |node: &usize| {
            let after = self.out[*node].iter().filter(shown).map(|edge| self.graph.edges[*edge].to);
            after.filter(|to| !place.contains_key(to)).count()
        };
        let about: Vec<Json> = found
            .iter()
            .map(|node| json!({ "state": node, "count": 1, "more": more(node), "depth": self.depth[*node], "start": self.graph.initial.contains(node), "dead_end": self.is_dead_end(*node), "text": self.text(*node) }))
            .collect();
        GraphPart { labelled, placing: Some((levels, before)), about }
    }

    /// States that agree on some variables or expressions as one node.
    fn collapsed(&self, by: &[String], wanted: &[bool], hidden: &[bool]) -> Result<GraphPart, CallError> {
        let loaded = self.session.loaded();
        let model = &loaded.model;
        let mut asked: Vec<(&String, Option<Asked>)> = Vec::new();
        for text in by {
            let is_variable = model.vars.iter().any(|var| var.name == *text);
            let expression = if is_variable { None } else { Some(shoal::ask(loaded, text)?) };
            expression.iter().try_for_each(|asked| self.has_one_value(text, asked))?;
            asked.push((text, expression));
        }
        let key = |state: &State| -> String {
            let lines = asked.iter().map(|(text, asked)| match asked {
                Some(asked) => match asked.value(state) {
                    Ok(value) => format!("{text} = {}", model.show(&value)),
                    Err(fault) => format!("{text} ✗ {}", fault.kind),
                },
                None => {
                    let own = |line: &&String| {
                        line.strip_prefix(text.as_str()).is_some_and(|rest| rest.starts_with([' ', '[', '.']))
                    };
                    render_state(model, state).iter().filter(own).cloned().collect::<Vec<_>>().join("\n")
                }
            });
            lines.collect::<Vec<_>>().join("\n")
        };
        let mut groups: BTreeMap<String, usize> = BTreeMap::new();
        let (mut of, mut counts, mut first) = (vec![None; self.graph.nodes.len()], Vec::new(), Vec::new());
        for (node, state) in self.graph.nodes.iter().enumerate().filter(|(node, _)| wanted[*node]) {
            let next = groups.len();
            let group = *groups.entry(key(state)).or_insert(next);
            if group == counts.len() {
                counts.push(0_usize);
                first.push(node);
            }
            if counts.len() > SHOWN {
                return Err(CallError::new(
                    422,
                    "too-large",
                    format!("more than {SHOWN} groups: collapse by less"),
                ));
            }
            counts[group] += 1;
            of[node] = Some(group);
        }
        let mut names: Vec<String> = vec![String::new(); counts.len()];
        groups.into_iter().for_each(|(text, group)| names[group] = text);
        let mut edges: BTreeMap<(usize, usize, String), usize> = BTreeMap::new();
        for edge in &self.graph.edges {
            if let (Some(from), Some(to)) = (of[edge.from], of[edge.to])
                && from != to
                && !hidden[edge.rule.index()]
            {
                *edges.entry((from, to, model.rules[edge.rule].name.clone())).or_default() += 1;
            }
        }
        let edges = edges
            .into_iter()
            .map(|((from, to, rule), count)| (from, format!("{rule} ×{count}"), to))
            .collect();
        let mut starts: Vec<usize> = self.graph.initial.iter().filter_map(|node| of[*node]).collect();
        starts.sort_unstable();
        starts.dedup();
        let labelled = LabelledGraph { name: String::new(), nodes: names, starts: starts.clone(), edges };
        let about: Vec<Json> = first
            .iter()
            .enumerate()
            .map(|(group, node)| json!({ "state": node, "count": counts[group], "more": 0, "depth": self.depth[*node], "start": starts.contains(&group), "dead_end": false, "text": self.text(*node) }))
            .collect();
        Ok(GraphPart { labelled, placing: None, about })
    }

    /// The states before each, but for steps of hidden rules.
    fn backwards(&self, hidden: &[bool]) -> Vec<Vec<usize>> {
        let mut backwards: Vec<Vec<usize>> = vec![Vec::new(); self.graph.nodes.len()];
        let shown = self.graph.edges.iter().filter(|edge| !hidden[edge.rule.index()]);
        shown.for_each(|edge| backwards[edge.to].push(edge.from));
        backwards
    }

    /// Which rules are not shown.
    fn hidden(&self, without: &[String]) -> Result<Vec<bool>, CallError> {
        let rules = &self.session.loaded().model.rules;
        if let Some(name) = without.iter().find(|name| rules.iter().all(|rule| rule.name != **name)) {
            return Err(CallError::from(format!("there is no rule {name:?}")));
        }
        Ok(rules.iter().map(|rule| without.contains(&rule.name)).collect())
    }

    /// Leaves only what can be reached from a state, or what it can be reached from.
    fn only_side(&self, around: usize, side: Option<&str>, wanted: &mut [bool]) -> Result<(), CallError> {
        let none = vec![false; self.session.loaded().model.rules.len()];
        let next: Vec<Vec<usize>> = match side {
            None | Some("") => return Ok(()),
            Some("after") => {
                let to = |edge: &usize| self.graph.edges[*edge].to;
                self.out.iter().map(|out| out.iter().map(to).collect()).collect()
            }
            Some("before") => self.backwards(&none),
            Some(other) => return Err(CallError::from(format!("{other:?} is neither before nor after"))),
        };
        let mut reached = vec![false; wanted.len()];
        reached[around] = true;
        let mut open = vec![around];
        while let Some(node) = open.pop() {
            for to in &next[node] {
                if !std::mem::replace(&mut reached[*to], true) {
                    open.push(*to);
                }
            }
        }
        wanted.iter_mut().zip(reached).for_each(|(wanted, reached)| *wanted &= reached);
        Ok(())
    }

    /// The walk from a start to a state and on along some steps; nothing where nodes are not the states of a walk.
    fn walk(&self, from: usize, edges: &[usize]) -> Option<String> {
        let mut way = edges.to_vec();
        let mut at = from;
        while let Some(edge) = self.parents[at] {
            way.insert(0, edge);
            at = self.graph.edges[edge].from;
        }
        crate::walks::path_of(&self.session.loaded().model, &self.graph, at, &way)
    }

    /// The steps of a shortest way.
    fn way(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let mut reached: HashMap<usize, Option<usize>> = HashMap::from([(from, None)]);
        let mut open = VecDeque::from([from]);
        while let Some(node) = open.pop_front() {
            if node == to {
                break;
            }
            for edge in &self.out[node] {
                let next = self.graph.edges[*edge].to;
                reached.entry(next).or_insert_with(|| {
                    open.push_back(next);
                    Some(*edge)
                });
            }
        }
        let mut way = Vec::new();
        let mut at = to;
        while let Some(edge) = *reached.get(&at)? {
            way.push(edge);
            at = self.graph.edges[edge].from;
        }
        way.reverse();
        Some(way)
    }
}
