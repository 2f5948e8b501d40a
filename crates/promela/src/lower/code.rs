//! What one step needs and does.

use shoal_model::{
    BinaryOp, CheckKind, Domain, Expr, ExprKind as K, LocalId, LocalKind, OutputItem, PropertyKind,
    Quantifier, Stmt, StmtKind,
};
use shoal_syntax::Span;

use super::{Lowerer, Me, OrReported};
use crate::{
    ast::{self, ExprKind, StmtKind as S, Use, VarRef},
    codes,
    flow::{ElementId, ElementKind, Outgoing},
};

/// One way in which a step can be taken.
pub(super) struct StepWay {
    /// Who else takes part.
    pub(super) params: Vec<(LocalId, Domain)>,
    pub(super) guard: Expr,
    /// What happens, with the moves of all who take part.
    pub(super) body: Vec<Stmt>,
    /// Only if nothing else is possible.
    pub(super) is_timeout: bool,
    pub(super) is_else: bool,
    /// With whom.
    pub(super) partner: Option<(usize, ElementId)>,
}

/// A receive that can be part of a rendezvous.
pub(super) struct Receiver {
    pub(super) proc: usize,
    /// The step: the receive, or the `d_step` that begins with it.
    pub(super) element: ElementId,
    receive: ElementId,
    /// Where it can be taken.
    places: Vec<(ElementId, Outgoing)>,
}

/// How code goes on after a step of an atomic sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AtomicMode {
    /// It calls the procedure of the proctype.
    Rule,
    /// It is that procedure, in a loop.
    Procedure,
}

/// What a sender holds out in a rendezvous.
struct RendezvousOffer<'a> {
    me: &'a Me,
    channel: &'a VarRef,
    class: usize,
    values: Vec<Expr>,
}

impl Lowerer<'_> {
    pub(super) fn is_else(&self, proc: usize, element: ElementId) -> bool {
        matches!(&self.procs[proc].flow.elements[element].kind, ElementKind::Basic(kind) if matches!(**kind, S::Else))
    }

    /// Whether a step of a location can be taken, apart from where its process is and what escapes.
    pub(super) fn step_guard(&mut self, me: &Me, at: ElementId, element: ElementId) -> OrReported<Expr> {
        let span = self.procs[me.proc].flow.elements[element].span;
        let kind = self.procs[me.proc].flow.elements[element].kind.clone();
        match kind {
            ElementKind::Basic(kind) => match &*kind {
                // As in SPIN, it looks at the steps before it: those of its own `if`, and of options before that where it
                // stands at the beginning of one.
                S::Else => {
                    let mut others = Vec::new();
                    let steps = self.procs[me.proc].flow.outgoing(at);
                    for other in steps.into_iter().take_while(|other| other.element != element) {
                        if self.is_else(me.proc, other.element) {
                            let message = "a second `else` where control stands at the same place";
                            return self.error(codes::MISPLACED, span, message);
                        }
                        others.push(self.step_guard(me, at, other.element)?);
                    }
                    let some = self.or(others, span);
                    Ok(self.not(some))
                }
                kind => self.basic_guard(kind, me, element),
            },
            ElementKind::DStep(body, _) => {
                let first = self.procs[me.proc].flow.hunt(body.first, false);
                let mut all = Vec::new();
                for step in self.procs[me.proc].flow.outgoing(first) {
                    all.push(self.step_guard(me, first, step.element)?);
                }
                Ok(self.or(all, span))
            }
            ElementKind::End => {
                let Some(processes) = self.processes else { return Ok(self.truth(true, span)) };
                // Only the youngest can go.
                let next = self.binary(BinaryOp::Add, self.pid(me, span), self.int(1, span));
                Ok(self.equal(self.read(self.var_place(processes, span)), next))
            }
            _ => Ok(self.truth(true, span)),
        }
    }

    /// Whether a statement is executable.
    fn basic_guard(&mut self, kind: &S, me: &Me, element: ElementId) -> OrReported<Expr> {
        let span = self.procs[me.proc].flow.elements[element].span;
        match kind {
            S::Expr(expr) if !matches!(expr.kind, ExprKind::Run(..)) => self.condition(expr, Some(me)),
            S::Send { channel, .. } => {
                let stored = self.can_send(channel, Some(me))?;
                let mut all = vec![stored];
                for way in self.meetings(me, element, AtomicMode::Rule)? {
                    let mut guard = way.guard;
                    for (local, domain) in way.params.into_iter().rev() {
                        guard = self.exists(local, domain, guard);
                    }
                    all.push(guard);
                }
                Ok(self.or(all, span))
            }
            // Who waits for a rendezvous cannot move by itself.
            S::Receive(receive) if receive.copy => self.poll(receive, Some(me)),
            S::Receive(receive) => self.can_receive(receive, Some(me)),
            _ => Ok(self.truth(true, span)),
        }
    }

    /// What a statement does to variables and channels.
    pub(super) fn effect(&mut self, me: &Me, element: ElementId) -> OrReported<Vec<Stmt>> {
        let span = self.procs[me.proc].flow.elements[element].span;
        let kind = self.procs[me.proc].flow.elements[element].kind.clone();
        match kind {
            ElementKind::Basic(kind) => self.basic_effect(&kind, me, span),
            ElementKind::DStep(body, exit) => {
                let first = self.procs[me.proc].flow.hunt(body.first, false);
                self.d_step(me, first, exit)
            }
            ElementKind::End => Ok(self.remove_process(me, span)),
            _ => Ok(Vec::new()),
        }
    }

    fn basic_effect(&mut self, kind: &S, me: &Me, span: Span) -> OrReported<Vec<Stmt>> {
        let who = Some(me);
        match kind {
            S::Expr(ast::Expr { kind: ExprKind::Run(name, arguments, priority), .. }) => {
                self.run(name, (arguments, *priority), None, me, span)
            }
            S::Assign(place, ast::Expr { kind: ExprKind::Run(name, arguments, priority), .. }) => {
                self.run(name, (arguments, *priority), place.as_ref(), me, span)
            }
            S::Assign(None, value) => {
                self.expr(value, who)?;
                Ok(Vec::new())
            }
            S::Assign(Some(place), value) => {
                let (place, ty) = self.place(place, who)?;
                let value = self.converted(value, &ty, who)?;
                Ok(place.map(|place| self.assign(place, value)).into_iter().collect())
            }
            S::Assert(condition) => {
                let condition = self.condition(condition, who)?;
                let property = self.assertions(span);
                let kind = StmtKind::Check { kind: CheckKind::Assert, condition: Some(condition), property };
                Ok(vec![Stmt { kind, span }])
            }
            S::SetPriority(pid, value) => self.set_priority(pid.as_ref(), value, me, span),
            S::Print(text, values) => self.print(text, values, me, span),
            S::Send { channel, sorted, message } => {
                let mut body = self.breaks_no_promise(Use::Send, channel, me, span)?;
                body.extend(self.send(channel, *sorted, message, who)?);
                Ok(body)
            }
            S::Receive(receive) => {
                let mut body = self.breaks_no_promise(Use::Receive, &receive.channel, me, span)?;
                body.extend(self.receive(receive, who)?);
                Ok(body)
            }
            S::New(place, ty, length) => self.allocate(place, ty, length.as_ref(), who, span),
            S::Delete(place) => self.delete(place, who, span),
            S::Call(..) | S::Return(_) => {
                self.error(codes::UNSUPPORTED, span, "not supported: calls and returns inside `d_step`")
            }
            _ => Ok(Vec::new()),
        }
    }

    fn print(&mut self, text: &str, values: &[ast::Expr], me: &Me, span: Span) -> OrReported<Vec<Stmt>> {
        let mut items = Vec::new();
        let mut values = values.iter();
        let mut plain = String::new();
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            match character {
                '\\' => match characters.next() {
                    Some('n') => plain.push(' '),
                    Some('t') => plain.push('\t'),
                    Some(other) => plain.push(other),
                    None => {}
                },
                '%' => match characters.next() {
                    Some('%') => plain.push('%'),
                    Some(_) => {
                        items.push(OutputItem::Text(std::mem::take(&mut plain)));
                        if let Some(value) = values.next() {
                            items.push(OutputItem::Value(self.expr(value, Some(me))?.0));
                        }
                    }
                    None => {}
                },
                other => plain.push(other),
            }
        }
        items.push(OutputItem::Text(plain.trim_end().to_string()));
        Ok(vec![Stmt { kind: StmtKind::Output(items), span }])
    }

    /// Makes a process; its number goes to a place.
    fn run(
        &mut self,
        name: &ast::Name,
        (arguments, priority): (&[ast::Expr], u8),
        place: Option<&VarRef>,
        me: &Me,
        span: Span,
    ) -> OrReported<Vec<Stmt>> {
        let proc = self.proctype(name)?;
        let params = self.program.proctypes[proc].params.clone();
        if params.len() != arguments.len() {
            let message = format!("`{}` has {} parameters, not {}", name.node, params.len(), arguments.len());
            return self.error(codes::WRONG_COUNT, span, message);
        }
        let mut body = Vec::new();
        let who = match self.procs[proc].capacity {
            1 => Me { proc, entry: None },
            _ => self.free_entry(proc, &mut body, span),
        };
        if self.procs[proc].guessed {
            body.push(self.limit_check(proc, &who, span));
        }
        let target = match place {
            Some(place) => Some(self.place(place, Some(me))?),
            None => None,
        };
        for (param, argument) in params.iter().zip(arguments) {
            let variable = &self.program.variables[*param];
            if let Some(super::VarStorage::Field(field)) = self.homes.get(param).copied() {
                let place = self.field(self.entry(&who, span), field);
                body.extend(self.store_value(place, &variable.ty, argument, Some(me))?);
            }
        }
        body.extend(self.begin_process(&who, None, span));
        body.extend(self.first_priority(&who, priority, span));
        if let Some((Some(place), ty)) = target {
            let pid = self.process_count(span);
            let value = self.converted_value(pid, super::expr::ExprMeaning::Int, &ty)?;
            body.push(self.assign(place, value));
        }
        if let Some(processes) = self.processes {
            let place = self.var_place(processes, span);
            let more = self.binary(BinaryOp::Add, self.read(place.clone()), self.int(1, span));
            body.push(self.assign(place, more));
        }
        Ok(body)
    }

    /// How many processes of a proctype run.
    pub(super) fn running(&mut self, proc: usize, span: Span) -> Expr {
        let local = self.bound("$k", span);
        let who = Me { proc, entry: Some(self.read_local(local, span)) };
        let nowhere = self.nowhere(proc, span);
        let runs = self.not(self.equal(self.read(self.at(&who, span)), nowhere));
        let domain = self.all_entries(proc, span);
        let kind = K::Quantified { quantifier: Quantifier::Count, local, domain, body: Box::new(runs) };
        Expr { kind, ty: self.integer, span }
    }

    /// More processes than there are entries for would be needed.
    fn limit_check(&mut self, proc: usize, who: &Me, span: Span) -> Stmt {
        let capacity = i64::from(self.procs[proc].capacity);
        let condition = match &who.entry {
            Some(entry) => self.binary(BinaryOp::Lt, entry.clone(), self.int(capacity, span)),
            None => {
                let nowhere = self.nowhere(proc, span);
                self.equal(self.read(self.at(who, span)), nowhere)
            }
        };
        let property = self.limit_property(span);
        Stmt { kind: StmtKind::Check { kind: CheckKind::Assert, condition: Some(condition), property }, span }
    }

    /// The youngest process goes, and its channels with it.
    fn remove_process(&mut self, me: &Me, span: Span) -> Vec<Stmt> {
        let mut body = Vec::new();
        for site in 0..self.channels.sites.len() {
            let (owner, class) = (self.channels.sites[site].owner, self.channels.sites[site].class);
            let Some(store) = self.channels.classes[class].var.filter(|_| owner == Some(me.proc)) else {
                continue;
            };
            let variable = self.channels.sites[site].variable;
            for at in 0..self.program.variables[variable].length.unwrap_or(1) {
                let index = self.program.variables[variable].length.map(|_| self.int(i64::from(at), span));
                let mut place = self.var_place(store, span);
                if self.is_array(class)
                    && let Some(made) = self.channel_made(variable, index, Some(me), span)
                {
                    let base = self.int(self.channels.classes[class].base, span);
                    place = self.index(place, self.binary(BinaryOp::Sub, made, base));
                }
                body.extend(self.zero(&place));
            }
        }
        let entry = self.entry(me, span);
        body.extend(self.zero(&entry));
        if let Some(processes) = self.processes {
            let place = self.var_place(processes, span);
            let less = self.binary(BinaryOp::Sub, self.read(place.clone()), self.int(1, span));
            body.push(self.assign(place, less));
        }
        body
    }

    /// All ways to take a step at a location. Who only waits for a rendezvous has none.
    pub(super) fn ways(
        &mut self,
        me: &Me,
        at: ElementId,
        step: &Outgoing,
        mode: AtomicMode,
    ) -> OrReported<Vec<StepWay>> {
        let element = step.element;
        let span = self.procs[me.proc].flow.elements[element].span;
        let head = self.beforehand(me, at, step, span)?;
        let only = self.only_step(me, at, span)?;
        let mut ways = Vec::new();
        let kind = self.procs[me.proc].flow.elements[element].kind.clone();
        let is_send = matches!(&kind, ElementKind::Basic(kind) if matches!(**kind, S::Send { .. }));
        let before = std::mem::replace(&mut self.timeout_seen, false);
        let guard = match &kind {
            ElementKind::Basic(kind) => match &**kind {
                S::Send { channel, .. } => self.can_send(channel, Some(me))?,
                _ => self.step_guard(me, at, element)?,
            },
            _ => self.step_guard(me, at, element)?,
        };
        let asks_for_timeout = std::mem::replace(&mut self.timeout_seen, before);
        let is_false = |guard: &Expr| guard.kind == K::Const(shoal_model::Value::Bool(false));
        let is_else = self.is_else(me.proc, element);
        let mut add = |lowerer: &mut Self, head: &[Expr], guard: Expr, is_timeout: bool| -> OrReported<()> {
            if is_false(&guard) {
                return Ok(());
            }
            if let Some(mut body) = lowerer.call_or_return(me, element)? {
                body.extend(lowerer.note_last(me, None, span));
                if mode == AtomicMode::Procedure {
                    body.push(Stmt { kind: StmtKind::Return(None), span });
                }
                let mut all = head.to_vec();
                all.push(guard);
                let guard = lowerer.and(all, span);
                ways.push(StepWay { params: Vec::new(), guard, body, is_timeout, is_else, partner: None });
                return Ok(());
            }
            let mut body: Vec<Stmt> = only.iter().cloned().collect();
            body.extend(lowerer.effect(me, element)?);
            if element != lowerer.procs[me.proc].flow.end {
                body.extend(lowerer.go(me, element, mode)?);
            }
            body.extend(lowerer.note_last(me, None, span));
            let mut all = head.to_vec();
            all.push(guard);
            let guard = lowerer.and(all, span);
            ways.push(StepWay { params: Vec::new(), guard, body, is_timeout, is_else, partner: None });
            Ok(())
        };
        add(self, &head, guard, false)?;
        if asks_for_timeout {
            self.timeout = true;
            let late = self.beforehand(me, at, step, span);
            let guard = self.step_guard(me, at, element);
            self.timeout = false;
            add(self, &late?, guard?, true)?;
        }
        if is_send {
            for mut way in self.meetings(me, element, mode)? {
                let mut all = head.clone();
                all.push(way.guard);
                way.guard = self.and(all, span);
                way.body.splice(0..0, only.iter().cloned());
                ways.push(way);
            }
        }
        Ok(ways)
    }

    /// What has to be so for a process to take any step, and for this one not to be escaped from.
    fn beforehand(&mut self, me: &Me, at: ElementId, step: &Outgoing, span: Span) -> OrReported<Vec<Expr>> {
        let mut head = Vec::new();
        if let Some(provided) = &self.program.proctypes[me.proc].provided {
            head.push(self.condition(provided, Some(me))?);
        }
        head.extend(self.highest(me, span)?);
        for escape in &step.unless {
            let escapes = self.step_guard(me, at, *escape)?;
            head.push(self.not(escapes));
        }
        Ok(head)
    }

    /// Checks that no two steps of a deterministic process are possible at a location.
    fn only_step(&mut self, me: &Me, at: ElementId, span: Span) -> OrReported<Option<Stmt>> {
        let steps = self.procs[me.proc].flow.outgoing(at);
        if !self.program.proctypes[me.proc].is_deterministic || steps.len() < 2 {
            return Ok(None);
        }
        let mut count = self.int(0, span);
        let mut jumps = Vec::new();
        for step in &steps {
            // Jumps to one place are one step.
            let flow = &self.procs[me.proc].flow;
            if let ElementKind::Goto(_) | ElementKind::Leave(_) = flow.elements[step.element].kind {
                let target = flow.target(step.element);
                if jumps.contains(&target) {
                    continue;
                }
                jumps.push(target);
            }
            let mut all = Vec::new();
            for escape in &step.unless {
                let escapes = self.step_guard(me, at, *escape)?;
                all.push(self.not(escapes));
            }
            all.push(self.step_guard(me, at, step.element)?);
            let possible = self.and(all, span);
            let one = self.cond(possible, self.int(1, span), self.int(0, span));
            count = self.binary(BinaryOp::Add, count, one);
        }
        let condition = Some(self.binary(BinaryOp::Le, count, self.int(1, span)));
        Ok(Some(self.is_deterministic(condition, span)))
    }

    /// Checks that no other receive of a deterministic process fits the message that it is given in a rendezvous.
    fn only_receive(
        &mut self,
        offer: &RendezvousOffer<'_>,
        you: &Me,
        receiver: &Receiver,
    ) -> OrReported<Option<Stmt>> {
        if !self.program.proctypes[you.proc].is_deterministic {
            return Ok(None);
        }
        let span = offer.channel.span;
        let mut fits = Vec::new();
        for (location, _) in &receiver.places {
            for other in self.procs[you.proc].flow.outgoing(*location) {
                // What is escaped from is not possible beside it.
                let weaker = other.unless.contains(&receiver.element);
                if other.element == receiver.element
                    || weaker
                    || !self.receives_on(you.proc, other.element, offer.class)
                {
                    continue;
                }
                let takes = self.takes(offer, you, other.element)?;
                fits.push(self.and(vec![self.is_at(you, *location, span), takes], span));
            }
        }
        if fits.is_empty() {
            return Ok(None);
        }
        let condition = Some(self.not(self.or(fits, span)));
        Ok(Some(self.is_deterministic(condition, span)))
    }

    fn is_deterministic(&mut self, condition: Option<Expr>, span: Span) -> Stmt {
        let property = self.named_property("D_proctype is deterministic", PropertyKind::Assertion, span);
        Stmt { kind: StmtKind::Check { kind: CheckKind::Assert, condition, property }, span }
    }

    /// Who moved last.
    fn note_last(&self, me: &Me, partner: Option<&Me>, span: Span) -> Vec<Stmt> {
        let mut body = self.note_moved(me, partner, span);
        if let Some(last) = self.last {
            body.push(self.assign(self.var_place(last, span), self.pid(me, span)));
        }
        body
    }

    /// Every rendezvous that a send can be part of.
    fn meetings(&mut self, me: &Me, element: ElementId, mode: AtomicMode) -> OrReported<Vec<StepWay>> {
        let ElementKind::Basic(kind) = self.procs[me.proc].flow.elements[element].kind.clone() else {
            return Ok(Vec::new());
        };
        let S::Send { channel, message, .. } = &*kind else { return Ok(Vec::new()) };
        let mut ways = Vec::new();
        for class in self.classes(channel)? {
            if self.channels.classes[class].capacity > 0 {
                continue;
            }
            for proc in 0..self.procs.len() {
                if proc == me.proc && self.procs[proc].capacity == 1 {
                    continue;
                }
                for receiver in self.receivers(proc, class) {
                    ways.extend(self.meeting(me, element, (channel, message), class, &receiver, mode)?);
                }
            }
        }
        Ok(ways)
    }

    /// The receives of a proctype on channels of a class.
    pub(super) fn receivers(&self, proc: usize, class: usize) -> Vec<Receiver> {
        let flow = &self.procs[proc].flow;
        let mut all: Vec<Receiver> = Vec::new();
        for location in &self.procs[proc].locations {
            for step in flow.outgoing(*location) {
                for receive in self.beginnings(proc, step.element) {
                    if !self.receives_on(proc, receive, class) {
                        continue;
                    }
                    match all.iter_mut().find(|it| it.receive == receive && it.element == step.element) {
                        Some(known) => known.places.push((*location, step.clone())),
                        None => {
                            let places = vec![(*location, step.clone())];
                            all.push(Receiver { proc, element: step.element, receive, places });
                        }
                    }
                }
            }
        }
        all
    }

    /// The statements that a step may begin with: those of a `d_step`, or itself.
    fn beginnings(&self, proc: usize, element: ElementId) -> Vec<ElementId> {
        let flow = &self.procs[proc].flow;
        match &flow.elements[element].kind {
            ElementKind::DStep(body, _) => {
                flow.outgoing(flow.hunt(body.first, false)).into_iter().map(|first| first.element).collect()
            }
            ElementKind::Basic(_)
            | ElementKind::If(_)
            | ElementKind::Do(_)
            | ElementKind::Unless(..)
            | ElementKind::Atomic(_)
            | ElementKind::Block(_)
            | ElementKind::Goto(_)
            | ElementKind::Leave(_)
            | ElementKind::Meet
            | ElementKind::Exit
            | ElementKind::End => vec![element],
        }
    }

    /// Whether a step takes what is offered in a rendezvous. As in SPIN, nothing else is possible in that moment: a step that
    /// could be taken at any other time is not.
    fn takes(&mut self, offer: &RendezvousOffer<'_>, you: &Me, element: ElementId) -> OrReported<Expr> {
        let span = offer.channel.span;
        let mut all = Vec::new();
        for first in self.beginnings(you.proc, element) {
            if !self.receives_on(you.proc, first, offer.class) {
                continue;
            }
            let ElementKind::Basic(kind) = self.procs[you.proc].flow.elements[first].kind.clone() else {
                continue;
            };
            let S::Receive(receive) = &*kind else { continue };
            let mine = self.channel_value(offer.channel, Some(offer.me))?;
            let yours = self.channel_value(&receive.channel, Some(you))?;
            let parts = self.parts(offer.class, receive, Some(you))?;
            let same = self.equal(mine, yours);
            let matches = self.matches(offer.class, &parts, &|part| offer.values[part].clone(), span);
            all.push(self.and(vec![same, matches], span));
        }
        Ok(self.or(all, span))
    }

    /// Whether a step receives from channels of a class.
    fn receives_on(&self, proc: usize, element: ElementId, class: usize) -> bool {
        let ElementKind::Basic(kind) = &self.procs[proc].flow.elements[element].kind else { return false };
        let S::Receive(receive) = &**kind else { return false };
        // Looking at a message that is not stored is an error.
        !receive.copy
            && self.sites_of(&receive.channel).iter().any(|site| self.channels.sites[*site].class == class)
    }

    fn meeting(
        &mut self,
        me: &Me,
        element: ElementId,
        (channel, message): (&VarRef, &[ast::Expr]),
        class: usize,
        receiver: &Receiver,
        mode: AtomicMode,
    ) -> OrReported<Option<StepWay>> {
        let span = self.procs[me.proc].flow.elements[element].span;
        let (proc, other) = (receiver.proc, receiver.receive);
        let ElementKind::Basic(kind) = self.procs[proc].flow.elements[other].kind.clone() else {
            return Ok(None);
        };
        let S::Receive(receive) = &*kind else { return Ok(None) };
        let mut params = Vec::new();
        let mut entry = None;
        if self.procs[proc].capacity > 1 {
            let local = self.entry_local(proc, "j", LocalKind::Bound, span);
            params.push((local, self.all_entries(proc, span)));
            entry = Some(self.read_local(local, span));
        }
        let you = Me { proc, entry };
        let mut guard: Vec<Expr> = self.must_exist(channel, Some(me))?.into_iter().collect();
        let values = self.message(class, message, Some(me), span)?;
        let offer = RendezvousOffer { me, channel, class, values };
        let mut here = Vec::new();
        for (location, step) in &receiver.places {
            let mut all = vec![self.is_at(&you, *location, span)];
            for escape in &step.unless {
                let escapes = self.takes(&offer, &you, *escape)?;
                all.push(self.not(escapes));
            }
            here.push(self.and(all, span));
        }
        guard.push(self.or(here, span));
        if let (true, Some(mine), Some(yours)) = (proc == me.proc, &me.entry, &you.entry) {
            guard.push(self.not(self.equal(mine.clone(), yours.clone())));
        }
        if let Some(provided) = &self.program.proctypes[proc].provided {
            guard.push(self.condition(provided, Some(&you))?);
        }
        let (mine, yours) =
            (self.channel_value(channel, Some(me))?, self.channel_value(&receive.channel, Some(&you))?);
        guard.push(self.equal(mine, yours));
        if self.channels.fixed(channel.variable).is_none() {
            guard.push(self.is_of_class(class, channel, Some(me))?);
        }
        let parts = self.parts(class, receive, Some(&you))?;
        guard.push(self.matches(class, &parts, &|part| offer.values[part].clone(), span));
        let guard = self.and(guard, span);
        if guard.kind == K::Const(shoal_model::Value::Bool(false)) {
            return Ok(None);
        }
        let mut body: Vec<Stmt> = self.only_receive(&offer, &you, receiver)?.into_iter().collect();
        let mut held = offer.values;
        if held.len() > 1 {
            for value in &mut held {
                let local = self.new_local("$value", value.ty, LocalKind::Variable, span);
                body.push(self.bind(local, value.clone()));
                *value = self.read_local(local, span);
            }
        }
        body.extend(self.store_parts(class, &parts, &|_, part| held[part].clone())?);
        if let ElementKind::DStep(_, exit) = self.procs[proc].flow.elements[receiver.element].kind {
            let rest = self.procs[proc].flow.target(other);
            if rest != exit {
                body.extend(self.d_step(&you, rest, exit)?);
            }
        }
        // The receiver goes on, also where the sender is in an atomic sequence.
        let target = self.procs[me.proc].flow.target(element);
        body.push(
            self.assign(self.at(me, span), self.location(me.proc, self.position(me.proc, target), span)),
        );
        let other_mode = if mode == AtomicMode::Procedure { AtomicMode::Rule } else { mode };
        body.extend(self.go(&you, receiver.element, other_mode)?);
        body.extend(self.note_last(&you, Some(me), span));
        if mode == AtomicMode::Procedure {
            body.push(Stmt { kind: StmtKind::Return(None), span });
        }
        Ok(Some(StepWay {
            params,
            guard,
            body,
            is_timeout: false,
            is_else: false,
            partner: Some((proc, other)),
        }))
    }
}
