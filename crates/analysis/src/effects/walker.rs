//! The walk that collects a footprint.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use shoal_model::{
    Argument, Binding, CheckKind, Code, Domain, Expr, ExprKind, FunctionId, IndexVec, Local, LocalId,
    LocalKind, Model, Node, OutputItem, Place, Quantifier, Root, Stmt, StmtKind, TypeId, UnaryOp, Value,
    walk_block, walk_code, walk_expr,
};
use shoal_syntax::Span;

use super::{
    AbstractValue, Access, AccessBase, AccessKind, AccessPath, AccessStep, CodeEffect, Deps, Fact, Footprint,
    LocalRef, Source, Written,
    update::{ExtremeUpdate, extreme, update},
};
use crate::mutant::{self, AnalysisMutant};

mod calls;
mod fold;
mod known;
mod places;

use known::{KnownParts, ends};

/// What is known where a way through the code has come to: what was written on it, and values.
type PathFacts = (Vec<AccessPath>, Vec<(AccessPath, AbstractValue)>);

/// Statements and accesses walked before a walk gives up. Far beyond any body a person writes; what it stops
/// is calls that unfold exponentially. Less for a round of a loop, whose accesses are compared in pairs.
const BUDGET: usize = 200_000;
const BUDGET_OF_ROUND: usize = 20_000;

/// Goes through code and collects its footprint.
#[derive(Clone, Debug)]
pub struct Walker<'a> {
    model: &'a Model,
    frame: Activation<'a>,
    /// The functions being walked.
    stack: Vec<FunctionId>,
    activations: u32,
    /// The activation that the walk began in.
    entry: u32,
    /// What references stand for.
    references: BTreeMap<LocalRef, AccessPath>,
    /// The values of locals that never change.
    values: BTreeMap<LocalRef, AbstractValue>,
    /// What the value of a local hangs on: for a bound variable its domain, for a parameter the argument.
    origins: BTreeMap<LocalRef, Deps>,
    /// What decides whether the present statement is executed.
    control: Deps,
    /// What is known of values here.
    facts: Rc<Vec<Fact>>,
    /// Parts of locals that are surely written by now.
    covered: Vec<AccessPath>,
    /// Parts of locals whose values are known here, as far as fields lead to them.
    known: Vec<(AccessPath, AbstractValue)>,
    /// What is known of the result of the call that was walked last.
    returned: KnownParts,
    /// Locals that range over something, so that they are defined, with their types.
    ranging: BTreeMap<LocalRef, TypeId>,
    /// Whether to tell the entries of a bag apart by their values.
    keyed: bool,
    /// Loops that are to be looked at wherever they are called, and what was found of them.
    wanted: &'a [&'a Stmt],
    met: Vec<LoopMet<'a>>,
    /// A loop to leave out; see [`Walker::after`].
    left_out: Option<&'a Stmt>,
    span: Span,
    /// How many more statements and accesses may be walked.
    budget: usize,
    out: Footprint<'a>,
}

/// An activation of a piece of code.
#[derive(Clone, Debug)]
struct Activation<'a> {
    activation: u32,
    locals: &'a IndexVec<LocalId, Local>,
    /// Locals that may be written after they are bound.
    assigned: BTreeSet<LocalId>,
    /// What decides whether the activation was left before the present statement.
    left: Deps,
    /// What is known wherever it was left.
    reached: Option<PathFacts>,
    /// All locals that were read in it.
    mentioned: Deps,
    /// What is known of its result, wherever it returned so far.
    result: Option<KnownParts>,
}

impl<'a> Activation<'a> {
    fn new(activation: u32, locals: &'a IndexVec<LocalId, Local>) -> Self {
        Activation {
            activation,
            locals,
            assigned: BTreeSet::new(),
            left: Deps::new(),
            reached: None,
            mentioned: Deps::new(),
            result: None,
        }
    }

    fn of_code(activation: u32, code: &'a Code) -> Self {
        Activation { assigned: assigned_locals(code), ..Activation::new(activation, &code.locals) }
    }

    fn local(&self, local: LocalId) -> LocalRef {
        LocalRef { activation: self.activation, local }
    }
}

/// The locals that are written, or referred to and so may be, anywhere in the code.
fn assigned_locals(code: &Code) -> BTreeSet<LocalId> {
    let mut assigned = BTreeSet::new();
    let mut note = |place: &Place| {
        if let Root::Local(local) = place.root {
            assigned.insert(local);
        }
    };
    let arguments = |arguments: &[Argument], note: &mut dyn FnMut(&Place)| {
        for argument in arguments {
            if let Argument::Place(place) = argument {
                note(place);
            }
        }
    };
    walk_code(code, &mut |node| match node {
        Node::Stmt(stmt) => match &stmt.kind {
            StmtKind::Call(_, passed) => arguments(passed, &mut note),
            StmtKind::Bind(bindings) => {
                for binding in bindings {
                    arguments(std::slice::from_ref(&binding.to), &mut note);
                }
            }
            other => {
                if let Some(place) = other.written() {
                    note(place);
                }
            }
        },
        Node::Expr(Expr { kind: ExprKind::Call(_, passed), .. }) => arguments(passed, &mut note),
        _ => {}
    });
    assigned
}

impl<'a> Walker<'a> {
    /// A walker that has walked what stands before the code and is about to begin it.
    pub fn new(model: &'a Model, source: Source<'a>) -> Self {
        Walker::of_instance(model, source, &[])
    }

    /// The same, where the first parameters have these values.
    pub fn of_instance(model: &'a Model, source: Source<'a>, args: &[Value]) -> Self {
        let mut walker = Walker::of_locals(model, &source.code.locals);
        walker.frame = Activation::of_code(0, source.code);
        walker.stack.extend(source.function);
        if let Some(function) = source.function {
            walker.fix_params(function);
        }
        for (at, param) in source.params.iter().enumerate() {
            walker.bind_over(param.local, &param.domain);
            if let Some(value) = args.get(at) {
                walker.values.insert(walker.local(param.local), AbstractValue::Const(value.clone()));
            }
        }
        walker.bind(source.bindings);
        walker
    }

    /// A walker for conditions with these locals.
    pub fn of_locals(model: &'a Model, locals: &'a IndexVec<LocalId, Local>) -> Self {
        Walker {
            model,
            frame: Activation::new(0, locals),
            stack: Vec::new(),
            activations: 0,
            entry: 0,
            references: BTreeMap::new(),
            values: BTreeMap::new(),
            origins: BTreeMap::new(),
            control: Deps::new(),
            facts: Rc::default(),
            covered: Vec::new(),
            known: Vec::new(),
            returned: KnownParts::new(),
            ranging: BTreeMap::new(),
            keyed: false,
            wanted: &[],
            met: Vec::new(),
            left_out: None,
            span: Span::default(),
            budget: BUDGET,
            out: Footprint::default(),
        }
    }

    /// The footprint collected.
    pub fn finish(self) -> Footprint<'a> {
        self.out
    }

    /// The local in the activation that is being walked.
    pub fn local(&self, local: LocalId) -> LocalRef {
        self.frame.local(local)
    }

    /// Looks at these loops from now on, in functions that are called as well.
    pub fn look_at(&mut self, wanted: &'a [&'a Stmt]) {
        self.wanted = wanted;
    }

    /// What was found of the loops that were to be looked at.
    pub fn met(self) -> (Vec<LoopMet<'a>>, Footprint<'a>) {
        (self.met, self.out)
    }

    /// A walker at this point that has collected nothing: footprints of long code are not copied.
    fn fork(&self) -> Walker<'a> {
        Walker {
            model: self.model,
            frame: self.frame.clone(),
            stack: self.stack.clone(),
            activations: self.activations,
            entry: self.entry,
            references: self.references.clone(),
            values: self.values.clone(),
            origins: self.origins.clone(),
            control: self.control.clone(),
            facts: self.facts.clone(),
            covered: self.covered.clone(),
            known: self.known.clone(),
            returned: KnownParts::new(),
            ranging: self.ranging.clone(),
            keyed: self.keyed,
            wanted: self.wanted,
            met: Vec::new(),
            left_out: self.left_out,
            span: self.span,
            budget: self.budget,
            out: Footprint::default(),
        }
    }

    /// The footprint of one round of a loop that stands at this point.
    pub fn round(&self, local: LocalId, body: &'a [Stmt]) -> Footprint<'a> {
        let mut walker = self.fork();
        walker.budget = BUDGET_OF_ROUND;
        walker.control.clear();
        walker.covered.clear();
        walker.known.clear();
        walker.keyed = true;
        walker.wanted = &[];
        walker.entry = self.frame.activation;
        walker.frame.left.clear();
        walker.fix(local, Deps::new());
        walker.out.bound.clear();
        walker.block(body);
        walker.out
    }

    /// What the code that `walk` walks may read of what a loop in it, or in what it calls, left in locals.
    pub fn after(mut self, stmt: &'a Stmt, walk: impl FnOnce(&mut Walker<'a>)) -> LeftInLocals<'a> {
        self.left_out = Some(stmt);
        walk(&mut self);
        let lost = |event: &CodeEffect| matches!(event, CodeEffect::TooLarge | CodeEffect::Recursion(_));
        let gave_up = self.out.events.iter().any(|(event, _)| lost(event));
        let of_local = |access: &Access<'_>| matches!(access.location.base, AccessBase::Local(_));
        let accesses = self.out.accesses.into_iter().filter(|access| access.exposed && of_local(access));
        LeftInLocals { accesses: accesses.collect(), gave_up }
    }

    /// Walks statements.
    pub fn block(&mut self, block: &'a [Stmt]) {
        for stmt in block {
            self.span = stmt.span;
            self.stmt(stmt);
        }
    }

    /// Walks a condition that decides nothing after it.
    pub fn condition(&mut self, condition: &'a Expr) {
        self.span = condition.span;
        self.expr(condition);
    }

    /// Walks bindings; they hold for what is walked from now on.
    pub fn bind(&mut self, bindings: &'a [Binding]) {
        for binding in bindings {
            let target = self.local(binding.local);
            let (kind, fixed) = self.target(binding.local);
            self.pass(&binding.to, target, kind, fixed);
        }
    }

    fn target(&self, local: LocalId) -> (LocalKind, bool) {
        (self.frame.locals[local].kind, !self.frame.assigned.contains(&local))
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        if self.is_spent() {
            return;
        }
        match &stmt.kind {
            StmtKind::Assign(place, value) => self.assign(place, value),
            StmtKind::Clear(place) => self.write(place, Written::Least, Deps::new()),
            StmtKind::Undefine(place) => self.write(place, Written::Undefined, Deps::new()),
            StmtKind::If(arms, other) if let Some(found) = extreme(arms, other).filter(|_| self.keyed) => {
                self.keep_extreme(&found);
            }
            StmtKind::If(arms, other) => self.branch(arms, other),
            StmtKind::While { condition, body, .. } => {
                self.enter_loop(stmt);
                self.again(|walker| {
                    let deps = walker.expr(condition);
                    walker.rounds(deps, true_facts(walker, condition), body);
                });
            }
            StmtKind::For { local, domain, body } => self.for_loop(stmt, *local, domain, body),
            StmtKind::Bind(bindings) => self.bind(bindings),
            StmtKind::Choose { local, domain } => {
                let may_be_empty = self.may_be_empty(domain);
                self.event(CodeEffect::Choose { may_be_empty });
                self.bind_over(*local, domain);
                let local = self.local(*local);
                self.out.chosen.insert(local);
            }
            StmtKind::Check { kind, condition, .. } => {
                if *kind == CheckKind::Assume {
                    self.event(CodeEffect::Assume);
                }
                condition.iter().for_each(|condition| drop(self.expr(condition)));
            }
            StmtKind::Return(value) => self.leave(value.as_ref()),
            StmtKind::Call(function, arguments) => drop(self.call(*function, arguments)),
            StmtKind::Output(items) => items.iter().for_each(|item| self.output(item)),
            StmtKind::MultisetAdd(place, value) => {
                let deps = self.expr(value);
                if self.keyed {
                    let added = AccessKind::Write(Written::Added);
                    self.access_part(place, AccessStep::Room, added.clone(), deps.clone());
                    return self.access_part(place, AccessStep::Entry(self.sym(value)), added, deps);
                }
                self.write(place, Written::Added, deps);
            }
            StmtKind::MultisetRemove(place, slot) => self.remove_slot(place, slot),
            StmtKind::MultisetRemoveIf { place, local, condition }
                if let Some(key) = self.key(place, *local, condition) =>
            {
                let deps = self.expr(key);
                let (removed, changed) =
                    (AccessKind::Write(Written::Removed), AccessKind::Write(Written::Changed));
                self.access_part(place, AccessStep::Room, removed, deps.clone());
                self.access_part(place, AccessStep::Entry(self.sym(key)), changed, deps);
            }
            StmtKind::MultisetRemoveIf { place, local, condition } => {
                self.read(place);
                self.fix(*local, Deps::new());
                let deps = self.expr(condition);
                self.write(place, Written::Changed, deps);
            }
            StmtKind::Insert { place, at, value } => {
                let mut deps = self.expr(value);
                at.iter().for_each(|at| deps.extend(self.expr(at)));
                self.change(place, deps);
            }
            StmtKind::Remove(place, at) => {
                let deps = self.expr(at);
                self.change(place, deps);
            }
            StmtKind::Create(place, _) => {
                self.event(CodeEffect::Create);
                self.write(place, Written::Changed, Deps::new());
            }
            StmtKind::Delete(element) => {
                self.event(CodeEffect::Delete);
                self.expr(element);
            }
        }
    }

    fn assign(&mut self, place: &'a Place, value: &'a Expr) {
        if let Some((written, operands)) = update(self.model, self.frame.locals, place, value) {
            let deps = operands.into_iter().flat_map(|operand| self.expr(operand)).collect();
            return self.write(place, written, deps);
        }
        let deps = self.expr(value);
        let parts = self.parts(value);
        let written = match (self.sym(value), &value.kind) {
            (AbstractValue::Unknown, ExprKind::Read(from) | ExprKind::Peek(from)) => {
                Written::Copy(self.resolve(from).0)
            }
            (sym, _) => Written::Value(sym),
        };
        let (location, path_deps) = self.resolve(place);
        self.access(
            place,
            location.clone(),
            AccessKind::Write(written),
            deps.into_iter().chain(path_deps).collect(),
        );
        self.know(&location, &parts);
    }

    /// Keeps the higher or the lower of two values, where some conditions hold. The values are compared whichever of them it is.
    fn keep_extreme(&mut self, found: &ExtremeUpdate<'a>) {
        let deps = self.chain(found.conditions, false);
        let facts = found.conditions.iter().flat_map(|condition| true_facts(self, condition)).collect();
        self.scope(deps, facts, |walker| {
            let deps = walker.expr(found.value);
            walker.write(found.place, found.written.clone(), deps);
        });
    }

    fn branch(&mut self, arms: &'a [(Expr, Vec<Stmt>)], other: &'a [Stmt]) {
        let (control, facts) = (self.control.clone(), self.facts.clone());
        let before = (self.covered.clone(), self.known.clone());
        let mut after: Option<PathFacts> = None;
        let mut join = |walker: &mut Self, ended: bool| {
            let covered = std::mem::replace(&mut walker.covered, before.0.clone());
            let known = std::mem::replace(&mut walker.known, before.1.clone());
            // Nothing comes from there to what stands after the branches.
            if ended {
                return;
            }
            after = Some(meet(after.take(), (covered, known)));
        };
        let (mut decided, mut stays) = (false, facts);
        for (condition, block) in arms {
            let deps = self.expr(condition);
            let truth = self.truth(condition);
            if truth == Some(false) {
                continue;
            }
            self.control.extend(deps);
            let outside = self.facts.clone();
            let holds = true_facts(self, condition);
            Rc::make_mut(&mut self.facts).extend(holds);
            if mutant::is(AnalysisMutant::ArmsAreNotTaken) && ends(block) {
                continue;
            }
            self.block(block);
            self.facts = outside;
            let fails = false_facts(self, condition);
            // Where the arm does not come out of the branch, the condition does not hold behind it.
            if ends(block) {
                Rc::make_mut(&mut stays).extend(fails.iter().cloned());
            }
            Rc::make_mut(&mut self.facts).extend(fails);
            join(self, ends(block));
            decided = truth == Some(true);
            if decided {
                break;
            }
        }
        if !decided {
            self.block(other);
            join(self, ends(other));
        }
        self.control = control;
        self.facts = stays;
        (self.covered, self.known) = after.unwrap_or(before);
    }

    fn for_loop(&mut self, stmt: &'a Stmt, local: LocalId, domain: &'a Domain, body: &'a [Stmt]) {
        if self.left_out.is_some_and(|left_out| std::ptr::eq(left_out, stmt)) {
            self.domain(domain);
            // Activations are counted as in a walk that leaves nothing out: they are compared.
            let mut aside = self.fork();
            aside.left_out = None;
            aside.fix(local, Deps::new());
            aside.known.clear();
            aside.block(body);
            (self.activations, self.budget) = (aside.activations, aside.budget);
            self.forget_written(&aside.out.accesses);
            return self.covered.clear();
        }
        self.bind_over(local, domain);
        if self.wanted.iter().any(|wanted| std::ptr::eq(*wanted, stmt)) {
            let own = self.activations + 1;
            self.met.push(LoopMet {
                stmt,
                domain,
                local: self.local(local),
                own,
                round: self.round(local, body),
            });
        }
        self.enter_loop(stmt);
        let deps = self.origins.get(&self.local(local)).cloned().unwrap_or_default();
        self.rounds(deps, Vec::new(), body);
    }

    /// Walks one round of a loop for all of them. If a round may leave the code, that decides whether the
    /// statements before it are executed again.
    fn rounds(&mut self, deps: Deps, facts: Vec<Fact>, body: &'a [Stmt]) {
        let first = self.out.accesses.len();
        self.again(|walker| walker.scope(deps, facts, |walker| walker.block(body)));
        for access in &mut self.out.accesses[first..] {
            access.deps.extend(self.frame.left.iter().copied());
        }
    }

    /// Walks something that may come again: what is known before it need not hold then.
    fn again(&mut self, walk: impl FnOnce(&mut Self)) {
        let first = self.out.accesses.len();
        let known = if mutant::is(AnalysisMutant::LoopsForgetNothing) {
            self.known.clone()
        } else {
            std::mem::take(&mut self.known)
        };
        walk(self);
        self.known = known;
        let accesses = std::mem::take(&mut self.out.accesses);
        self.forget_written(&accesses[first..]);
        self.out.accesses = accesses;
    }

    /// What is known after the rounds of a loop is what was known before it and none of them writes.
    fn forget_written(&mut self, accesses: &[Access<'_>]) {
        let spent = self.budget == 0;
        let written = |location: &AccessPath| {
            accesses.iter().any(|access| access.is_write() && access.location.may_meet(location))
        };
        self.known.retain(|(location, _)| !spent && !written(location));
    }

    /// Walks something that may not happen, or happen again and again.
    fn scope(&mut self, deps: Deps, facts: Vec<Fact>, walk: impl FnOnce(&mut Self)) {
        let before = (self.control.clone(), self.facts.clone(), self.covered.clone());
        let known = self.known.clone();
        self.control.extend(deps);
        Rc::make_mut(&mut self.facts).extend(facts);
        walk(self);
        (self.control, self.facts, self.covered) = before;
        self.known = common(known, &self.known);
    }

    /// A round of this loop may follow another in which the loop left out was executed.
    fn enter_loop(&mut self, stmt: &'a Stmt) {
        let Some(left_out) = self.left_out else { return };
        // It may also be in something that is called.
        let mut inside = false;
        walk_block(std::slice::from_ref(stmt), &mut |node| match node {
            Node::Stmt(stmt) => {
                inside |= std::ptr::eq(stmt, left_out) || matches!(stmt.kind, StmtKind::Call(..));
            }
            Node::Expr(expr) => inside |= matches!(expr.kind, ExprKind::Call(..)),
            Node::Place(_) => {}
        });
        if inside {
            self.covered.clear();
        }
    }

    /// The way through the present activation ends here.
    fn leave(&mut self, value: Option<&'a Expr>) {
        if let Some(value) = value {
            self.expr(value);
            let parts = self.parts(value);
            self.note_result(parts);
        }
        if self.frame.activation == self.entry {
            self.event(CodeEffect::Return);
        }
        self.frame.left.extend(self.control.iter().copied());
        let here = (self.covered.clone(), self.known.clone());
        self.frame.reached = Some(meet(self.frame.reached.take(), here));
    }

    fn output(&mut self, item: &'a OutputItem) {
        match item {
            OutputItem::Text(_) => {}
            // What is shown does not matter; whether showing it faults does.
            OutputItem::Value(Expr { kind: ExprKind::Peek(place), .. }) => drop(self.resolve(place)),
            OutputItem::Value(value) => drop(self.expr(value)),
        }
    }

    fn remove_slot(&mut self, place: &'a Place, slot: &'a Expr) {
        let mut deps = self.expr(slot);
        let sym = self.sym(slot);
        let (mut location, path_deps) = self.resolve(place);
        deps.extend(path_deps);
        location.path.push(AccessStep::Slot(sym));
        self.access(place, location, AccessKind::Write(Written::Changed), deps);
    }

    fn expr(&mut self, expr: &'a Expr) -> Deps {
        match &expr.kind {
            ExprKind::Const(_) => Deps::new(),
            ExprKind::Read(place)
            | ExprKind::Peek(place)
            | ExprKind::IsUndefined(place)
            | ExprKind::Len(place) => self.read(place),
            ExprKind::Unary(_, operand)
            | ExprKind::IsMember(operand, _)
            | ExprKind::Ordinal(operand)
            | ExprKind::ElementAt(_, operand)
            | ExprKind::Entry(_, operand)
            | ExprKind::Exists(operand) => self.expr(operand),
            ExprKind::Binary(_, left, right) | ExprKind::Equal(left, right) => {
                let mut deps = self.expr(left);
                deps.extend(self.expr(right));
                deps
            }
            ExprKind::And(operands) => self.chain(operands, false),
            ExprKind::Or(operands) => self.chain(operands, true),
            ExprKind::Implies(left, right) => {
                let mut deps = self.expr(left);
                let facts = true_facts(self, left);
                self.scope(deps.clone(), facts, |walker| deps.extend(walker.expr(right)));
                deps
            }
            ExprKind::Cond(condition, then, other) => {
                let mut deps = self.expr(condition);
                let (control, holds) = (deps.clone(), true_facts(self, condition));
                self.scope(control.clone(), holds, |walker| deps.extend(walker.expr(then)));
                let fails = false_facts(self, condition);
                self.scope(control, fails, |walker| deps.extend(walker.expr(other)));
                deps
            }
            // Whether all entries are equal to something depends on the others as well.
            ExprKind::Quantified {
                quantifier: Quantifier::Count | Quantifier::Exists,
                local,
                domain: Domain::Slots(bag),
                body,
            } if let Some(key) = self.key(bag, *local, body) => {
                let mut deps = self.expr(key);
                self.access_part(bag, AccessStep::Entry(self.sym(key)), AccessKind::Read, deps.clone());
                let (location, path_deps) = self.resolve(bag);
                deps.extend(path_deps);
                if let AccessBase::Local(local) = location.base {
                    deps.extend(self.mention(local));
                }
                deps
            }
            ExprKind::Quantified { local, domain, body, .. } => {
                let mut deps = self.bind_over(*local, domain);
                let calls = has_call(body);
                let mut walk = |walker: &mut Self| {
                    walker.scope(deps.clone(), Vec::new(), |walker| deps.extend(walker.expr(body)));
                };
                if calls {
                    self.again(walk)
                } else {
                    walk(self)
                }
                deps
            }
            ExprKind::Call(function, arguments) => self.call(*function, arguments),
        }
    }

    /// Operands that are evaluated until one is `by`.
    fn chain(&mut self, operands: &'a [Expr], by: bool) -> Deps {
        let mut deps = Deps::new();
        self.scope(Deps::new(), Vec::new(), |walker| {
            for operand in operands {
                deps.extend(walker.expr(operand));
                walker.control.extend(deps.iter().copied());
                if walker.truth(operand) == Some(by) {
                    break;
                }
                let facts = if by { false_facts(walker, operand) } else { true_facts(walker, operand) };
                Rc::make_mut(&mut walker.facts).extend(facts);
            }
        });
        deps
    }

    fn domain(&mut self, domain: &'a Domain) -> Deps {
        match domain {
            Domain::Type(_) => Deps::new(),
            Domain::Range { from, to, by } => {
                let mut deps = self.expr(from);
                deps.extend(self.expr(to));
                deps.extend(self.expr(by));
                deps
            }
            Domain::Slots(place) => self.read(place),
        }
    }

    fn may_be_empty(&self, domain: &Domain) -> bool {
        match domain {
            Domain::Type(ty) => self.model.cardinality(*ty).is_none_or(|values| values == 0),
            Domain::Range { .. } | Domain::Slots(_) => true,
        }
    }

    fn event(&mut self, event: CodeEffect) {
        self.out.events.push((event, self.span));
    }

    /// Counts a statement or an access; whether the walk has become too long, which is said once.
    fn is_spent(&mut self) -> bool {
        match self.budget {
            0 => true,
            1 => {
                self.budget = 0;
                self.event(CodeEffect::TooLarge);
                true
            }
            _ => {
                self.budget -= 1;
                false
            }
        }
    }
}

impl Activation<'_> {
    /// Whether a place is a bound local: it has one value, so that reading it is no access.
    fn is_bound(&self, place: &Place) -> bool {
        match place.root {
            Root::Local(local) => self.locals[local].kind == LocalKind::Bound,
            Root::Var(_) => false,
        }
    }
}

/// A loop that was met on the way, where it stands.
#[derive(Clone, Debug)]
pub struct LoopMet<'a> {
    /// The loop.
    pub stmt: &'a Stmt,
    /// What it goes through.
    pub domain: &'a Domain,
    /// Its variable.
    pub local: LocalRef,
    /// Activations from this one on belong to a round.
    pub own: u32,
    /// What one round does.
    pub round: Footprint<'a>,
}

/// What code may read of what a loop in it left in locals: reads outside the loop that are not surely preceded by a write
/// which comes after it.
pub struct LeftInLocals<'a> {
    accesses: Vec<Access<'a>>,
    /// Whether not all of the code was walked.
    gave_up: bool,
}

impl LeftInLocals<'_> {
    /// Whether it may read what the loop left at a location.
    pub fn reads(&self, location: &AccessPath) -> bool {
        let in_local = matches!(location.base, AccessBase::Local(_));
        !in_local || self.gave_up || self.accesses.iter().any(|access| access.exposes(location))
    }
}

/// What is known where two ways meet; one way, if there is only that.
fn meet(one: Option<PathFacts>, other: PathFacts) -> PathFacts {
    match one {
        Some((covered, known)) => (common(covered, &other.0), common(known, &other.1)),
        None => other,
    }
}

fn has_call(expr: &Expr) -> bool {
    let mut found = false;
    walk_expr(expr, &mut |node| found |= matches!(node, Node::Expr(Expr { kind: ExprKind::Call(..), .. })));
    found
}

/// What two lists have in common.
fn common<T: PartialEq>(one: Vec<T>, other: &[T]) -> Vec<T> {
    one.into_iter().filter(|item| other.contains(item)).collect()
}

/// What is known where the condition holds.
fn true_facts(walker: &Walker<'_>, condition: &Expr) -> Vec<Fact> {
    match &condition.kind {
        ExprKind::Unary(UnaryOp::Not, operand) => false_facts(walker, operand),
        ExprKind::And(operands) => operands.iter().flat_map(|operand| true_facts(walker, operand)).collect(),
        ExprKind::IsMember(operand, member) => match walker.sym(operand) {
            AbstractValue::Unknown => Vec::new(),
            sym => vec![Fact::Is(sym, *member)],
        },
        _ => Vec::new(),
    }
}

/// What is known where the condition does not hold.
fn false_facts(walker: &Walker<'_>, condition: &Expr) -> Vec<Fact> {
    match &condition.kind {
        ExprKind::Unary(UnaryOp::Not, operand) => true_facts(walker, operand),
        ExprKind::Or(operands) => operands.iter().flat_map(|operand| false_facts(walker, operand)).collect(),
        ExprKind::Equal(left, right) => match (walker.sym(left), walker.sym(right)) {
            (AbstractValue::Unknown, _) | (_, AbstractValue::Unknown) => Vec::new(),
            (left, right) => vec![Fact::Differ(left, right)],
        },
        ExprKind::IsMember(operand, member) => match walker.sym(operand) {
            AbstractValue::Fixed(local) => walker.is_other(local, operand.ty, *member),
            AbstractValue::Const(_) | AbstractValue::Unknown => Vec::new(),
        },
        _ => Vec::new(),
    }
}
