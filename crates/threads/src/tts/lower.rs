//! From lines to a Model.

use std::collections::BTreeMap;

use shoal_model::{
    BinaryOp, Condition, Domain, Expr, IndexVec, Lines, LocalId, Model, Property, PropertyKind, Stmt,
    StmtKind, TableId, Type, TypeId, VarId,
};
use shoal_syntax::{Diagnostic, Diagnostics, SourceId, Span};

use super::parse::{BroadcastLine, File, ThreadEdge};
use crate::{
    Options, codes,
    init::InitialStates,
    make::{Maker, RuleLocals},
};

/// The local state of a thread that has not begun.
const ABSENT: i64 = -1;

/// Tables of more entries than this are refused.
const LARGEST: u64 = 1 << 26;

struct SystemLowering {
    maker: Maker,
    thread: TypeId,
    shared: VarId,
    local: VarId,
    whole: Span,
}

/// Makes the Model.
pub(super) fn lower(
    file: &File,
    id: SourceId,
    options: &Options,
    diagnostics: &mut Diagnostics,
) -> Option<Model> {
    let whole = Span::new(id, 0, 0);
    let init = file.init.clone()?;
    let mut maker = Maker::new(whole);
    let threads = match options.threads() {
        Ok(threads) => threads,
        Err(message) => {
            diagnostics.push(Diagnostic::error(codes::BAD_SETTING, whole, message));
            return None;
        }
    };
    let (_, thread) = maker.threads(threads);
    let shared_ty = maker.ty(Type::Int { lo: 0, hi: i64::from(file.shared) - 1 });
    let local_ty = maker.ty(Type::Int { lo: ABSENT, hi: i64::from(file.locals) - 1 });
    let locals_ty = maker.ty(Type::Array { index: thread, element: local_ty });
    let shared = maker.var("shared", shared_ty);
    let local = maker.var("local", locals_ty);
    let mut lowering = SystemLowering { maker, thread, shared, local, whole };
    let (spawns, moves): (Vec<ThreadEdge>, Vec<ThreadEdge>) = file.edges.iter().partition(|edge| edge.spawns);
    lowering.start(&init, !spawns.is_empty());
    for (edges, spawns) in [(moves, false), (spawns, true)] {
        if let Err(message) = lowering.edges(file, edges, spawns) {
            diagnostics.push(Diagnostic::error(codes::TOO_LARGE, whole, message));
            return None;
        }
    }
    for broadcast in &file.broadcasts {
        lowering.broadcast(broadcast);
    }
    lowering.target(file);
    Some(lowering.maker.model)
}

impl SystemLowering {
    fn local_of(&self, thread: LocalId) -> shoal_model::Place {
        self.maker.of_thread(self.local, thread, self.thread)
    }

    fn put(&self, thread: LocalId, value: Expr) -> Stmt {
        self.maker.assign(self.local_of(thread), value)
    }

    fn share(&self, value: Expr) -> Stmt {
        self.maker.assign(self.maker.global(self.shared), value)
    }

    /// The threads of the fixed part are parameters of the start; every other thread takes one of the other places, or has
    /// not begun.
    fn start(&mut self, init: &InitialStates, spawns: bool) {
        let mut head = RuleLocals::default();
        let mut options: Vec<i64> = init.any.iter().map(|local| i64::from(*local)).collect();
        if spawns || !init.fixed.is_empty() || options.is_empty() {
            options.push(ABSENT);
        }
        let fixed: Vec<LocalId> = (0..init.fixed.len())
            .map(|at| head.param(&format!("t{}", at + 1), self.thread, Domain::Type(self.thread), self.whole))
            .collect();
        let each = head.bound("t", self.thread, self.whole);
        let mut body = vec![self.share(self.maker.number(i64::from(init.shared)))];
        let round = match options[..] {
            [only] => vec![self.put(each, self.maker.number(only))],
            _ => {
                let choice = head.bound("place", self.maker.integer, self.whole);
                let last = self.maker.number(options.len() as i64 - 1);
                let domain = self.maker.range(self.maker.number(0), last);
                let table = self.maker.table("initial", options);
                let read = self.maker.read(self.maker.local(choice, self.maker.integer));
                let choose = self.maker.stmt(StmtKind::Choose { local: choice, domain });
                vec![choose, self.put(each, self.maker.entry(table, read))]
            }
        };
        body.push(self.maker.stmt(StmtKind::For {
            local: each,
            domain: Domain::Type(self.thread),
            body: round,
        }));
        if fixed.len() > 1 {
            let property = self.maker.model.properties.push(Property {
                name: "the first threads are different".into(),
                kind: PropertyKind::Assume(None),
                span: self.whole,
            });
            for (at, one) in fixed.iter().enumerate() {
                for other in &fixed[..at] {
                    let read = |thread: LocalId| self.maker.read(self.maker.local(thread, self.thread));
                    let differ = self.maker.not(self.maker.equal(read(*one), read(*other)));
                    body.push(self.maker.assume(differ, property));
                }
            }
        }
        for (thread, local) in fixed.iter().zip(&init.fixed) {
            body.push(self.put(*thread, self.maker.number(i64::from(*local))));
        }
        let rule = self.maker.rule(&init.words(spawns), head, None, body);
        self.maker.model.starts.push(rule);
    }

    /// One rule for all edges of a kind.
    fn edges(&mut self, file: &File, mut edges: Vec<ThreadEdge>, spawns: bool) -> Result<(), String> {
        if edges.is_empty() {
            return Ok(());
        }
        let rows = numbers(edges.iter().map(|edge| edge.from.0));
        let columns = numbers(edges.iter().map(|edge| edge.from.1));
        // States without edges share the last row and the last column.
        let (height, width) = (rows.len() as u64 + 1, columns.len() as u64 + 1);
        if height * width > LARGEST {
            let (rows, columns) = (rows.len(), columns.len());
            return Err(format!("not supported: edges from {rows} shared and {columns} local states"));
        }
        let cell = |edge: &ThreadEdge| rows[&edge.from.0] as u64 * width + columns[&edge.from.1] as u64;
        edges.sort_by_key(cell);
        let mut first = vec![0i64; (height * width) as usize + 1];
        for edge in &edges {
            first[cell(edge) as usize + 1] += 1;
        }
        for at in 1..first.len() {
            first[at] += first[at - 1];
        }
        let name = |base: &str| if spawns { format!("spawn_{base}") } else { base.to_string() };
        let maker = &mut self.maker;
        let position = |numbers: &BTreeMap<u32, usize>, states: u32| {
            (0..states).map(|state| numbers.get(&state).map_or(numbers.len(), |at| *at) as i64).collect()
        };
        let row = maker.table(&name("row"), position(&rows, file.shared));
        // The first entry is for threads that have not begun.
        let mut column = vec![columns.len() as i64];
        column.extend::<Vec<i64>>(position(&columns, file.locals));
        let column = maker.table(&name("column"), column);
        let first = maker.table(&name("first"), first);
        let shared = maker.table(&name("shared"), edges.iter().map(|edge| i64::from(edge.to.0)).collect());
        let local = maker.table(&name("local"), edges.iter().map(|edge| i64::from(edge.to.1)).collect());
        self.lookup([row, column, first, shared, local], width as i64, &edges, spawns);
        Ok(())
    }

    fn lookup(&mut self, tables: [TableId; 5], width: i64, edges: &[ThreadEdge], spawns: bool) {
        let [row, column, first, shared, local] = tables;
        let span = edges[0].span;
        self.maker.at(span);
        let mut head = RuleLocals::default();
        let thread = head.param("thread", self.thread, Domain::Type(self.thread), span);
        let maker = &self.maker;
        let cell = || {
            let row = maker.entry(row, maker.read(maker.global(self.shared)));
            let local = maker.binary(BinaryOp::Add, maker.read(self.local_of(thread)), maker.number(1));
            let above = maker.binary(BinaryOp::Mul, row, maker.number(width));
            maker.binary(BinaryOp::Add, above, maker.entry(column, local))
        };
        let next = maker.binary(BinaryOp::Add, cell(), maker.number(1));
        let last = maker.binary(BinaryOp::Sub, maker.entry(first, next), maker.number(1));
        let domain = maker.range(maker.entry(first, cell()), last);
        let line = head.param("line", maker.integer, domain, span);
        let entry = |table| maker.entry(table, maker.read(maker.local(line, maker.integer)));
        let new = spawns.then(|| head.param("new", self.thread, Domain::Type(self.thread), span));
        let body = vec![self.share(entry(shared)), self.put(new.unwrap_or(thread), entry(local))];
        let free = |new| maker.equal(maker.read(self.local_of(new)), maker.number(ABSENT));
        let guard = new.map(free);
        let rule = maker.rule(if spawns { "spawn" } else { "step" }, head, guard, body);
        let rule = self.maker.model.rules.push(rule);
        let spans = edges.iter().map(|edge| edge.span).collect();
        self.maker.model.lines.push(Lines { rule, parameter: 1, spans });
    }

    fn broadcast(&mut self, broadcast: &BroadcastLine) {
        let span = broadcast.span;
        self.maker.at(span);
        let mut head = RuleLocals::default();
        let actor = broadcast
            .actor
            .map(|actor| (head.param("thread", self.thread, Domain::Type(self.thread), span), actor));
        let other = head.bound("other", self.thread, span);
        let mut targets: BTreeMap<u32, Vec<i64>> = BTreeMap::new();
        for (from, to) in &broadcast.moves {
            targets.entry(*from).or_default().push(i64::from(*to));
        }
        let mut arms = Vec::new();
        for (from, mut to) in targets {
            to.sort_unstable();
            to.dedup();
            let value = match to[..] {
                [only] => (None, self.maker.number(only)),
                _ => {
                    let choice = head.bound("way", self.maker.integer, span);
                    let last = self.maker.number(to.len() as i64 - 1);
                    let domain = self.maker.range(self.maker.number(0), last);
                    let table = self.maker.table(&format!("from_{from}"), to);
                    let read = self.maker.read(self.maker.local(choice, self.maker.integer));
                    let choose = self.maker.stmt(StmtKind::Choose { local: choice, domain });
                    (Some(choose), self.maker.entry(table, read))
                }
            };
            let here =
                self.maker.equal(self.maker.read(self.local_of(other)), self.maker.number(i64::from(from)));
            let block = value.0.into_iter().chain([self.put(other, value.1)]).collect();
            arms.push((here, block));
        }
        let maker = &self.maker;
        let mut round = vec![maker.stmt(StmtKind::If(arms, Vec::new()))];
        let shared =
            maker.equal(maker.read(maker.global(self.shared)), maker.number(i64::from(broadcast.shared.0)));
        let mut guard = vec![shared];
        let mut body = Vec::new();
        if let Some((thread, (from, _))) = actor {
            let read = |thread: LocalId| maker.read(maker.local(thread, self.thread));
            let differ = maker.not(maker.equal(read(other), read(thread)));
            round = vec![maker.stmt(StmtKind::If(vec![(differ, round)], Vec::new()))];
            guard.push(maker.equal(maker.read(self.local_of(thread)), maker.number(i64::from(from))));
        }
        body.push(maker.stmt(StmtKind::For { local: other, domain: Domain::Type(self.thread), body: round }));
        body.push(self.share(maker.number(i64::from(broadcast.shared.1))));
        if let Some((thread, (_, to))) = actor {
            body.push(self.put(thread, maker.number(i64::from(to))));
        }
        let rule = maker.rule("broadcast", head, Some(maker.and(guard)), body);
        self.maker.model.rules.push(rule);
    }

    fn target(&mut self, file: &File) {
        let target = &file.target;
        self.maker.at(target.span);
        let maker = &self.maker;
        let mut counts: BTreeMap<u32, i64> = BTreeMap::new();
        target.locals.iter().for_each(|local| *counts.entry(*local).or_default() += 1);
        let mut head = RuleLocals::default();
        let shared =
            maker.equal(maker.read(maker.global(self.shared)), maker.number(i64::from(target.shared)));
        let mut parts = vec![shared];
        for (local, count) in counts {
            let thread = head.bound("thread", self.thread, target.span);
            let here = maker.equal(maker.read(self.local_of(thread)), maker.number(i64::from(local)));
            let many = maker.count(thread, self.thread, here);
            parts.push(maker.binary(BinaryOp::Ge, many, maker.number(count)));
        }
        let locals: Vec<String> = target.locals.iter().map(u32::to_string).collect();
        let name = format!("{}|{} is unreachable", target.shared, locals.join(","));
        let locals: IndexVec<LocalId, _> = head.locals;
        let condition = Condition { locals, expr: maker.not(maker.and(parts)) };
        let kind = PropertyKind::Invariant(condition);
        self.maker.model.properties.push(Property { name, kind, span: target.span });
    }
}

/// Numbers from 0 for the states that occur, least first.
fn numbers(states: impl Iterator<Item = u32>) -> BTreeMap<u32, usize> {
    let mut numbers: BTreeMap<u32, usize> = states.map(|state| (state, 0)).collect();
    for (at, number) in numbers.values_mut().enumerate() {
        *number = at;
    }
    numbers
}
