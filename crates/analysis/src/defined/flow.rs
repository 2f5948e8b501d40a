//! What code copies from where, and what it makes undefined.

use std::collections::{BTreeMap, BTreeSet};

use shoal_model::{
    Argument, Binding, Code, Domain, Expr, ExprKind, FunctionId, IndexVec, Local, LocalId, LocalKind, Model,
    Node, OutputItem, Place, Projection, Root, Rule, Stmt, StmtKind, TypeId, TypedId, walk_argument,
    walk_block, walk_code, walk_domain, walk_expr, walk_place,
};

use super::{PartsOf, SlotBase, ValueSlot, each_part, has_undefined};

/// What a way through a piece of code has surely given a value by now: locals, or fields of them.
type Given = BTreeSet<(LocalId, Vec<u32>)>;

/// A piece of code: a function, a rule or a start.
struct CodePiece<'a> {
    code: &'a Code,
    function: Option<FunctionId>,
    rule: Option<&'a Rule>,
    /// By local: what it may stand for, if it is a reference.
    targets: Vec<BTreeSet<ValueSlot>>,
    calls: Vec<(FunctionId, &'a [Argument])>,
    bindings: Vec<&'a Binding>,
    /// Whether elements come or go.
    has_population: bool,
}

impl<'a> CodePiece<'a> {
    fn new(code: &'a Code, function: Option<FunctionId>, rule: Option<&'a Rule>) -> CodePiece<'a> {
        let mut piece = CodePiece {
            code,
            function,
            rule,
            targets: vec![BTreeSet::new(); code.locals.len()],
            calls: Vec::new(),
            bindings: Vec::new(),
            has_population: false,
        };
        let mut note = |node: Node<'a>| match node {
            Node::Stmt(Stmt { kind: StmtKind::Call(callee, arguments), .. })
            | Node::Expr(Expr { kind: ExprKind::Call(callee, arguments), .. }) => {
                piece.calls.push((*callee, arguments));
            }
            Node::Stmt(Stmt { kind: StmtKind::Bind(bindings), .. }) => piece.bindings.extend(bindings),
            Node::Stmt(Stmt { kind: StmtKind::Create(..) | StmtKind::Delete(_), .. }) => {
                piece.has_population = true;
            }
            Node::Stmt(_) | Node::Expr(_) | Node::Place(_) => {}
        };
        if let Some(rule) = rule {
            rule.params.iter().for_each(|param| walk_domain(&param.domain, &mut note));
            rule.bindings.iter().for_each(|binding| walk_argument(&binding.to, &mut note));
            rule.guard.iter().for_each(|guard| walk_expr(guard, &mut note));
        }
        walk_code(code, &mut note);
        piece.bindings.extend(rule.iter().flat_map(|rule| &rule.bindings));
        piece
    }

    fn locals(&self) -> &'a IndexVec<LocalId, Local> {
        &self.code.locals
    }
}

/// All code of a model, and what was found of it.
pub(super) struct UndefinedFlow<'a> {
    model: &'a Model,
    /// The functions, the rules, then the starts.
    pieces: Vec<CodePiece<'a>>,
    /// What some reference may stand for, or for a part of it.
    referred: BTreeSet<SlotBase>,
    undefined: BTreeSet<ValueSlot>,
    /// Where what is in a slot is copied to.
    copies: BTreeMap<ValueSlot, BTreeSet<ValueSlot>>,
    /// Whether what is looked at is a part of steps. What starts leave undefined in the state is known, but not what they put into
    /// multisets.
    of_steps: bool,
}

impl<'a> UndefinedFlow<'a> {
    /// Nothing if steps create or delete elements.
    pub(super) fn new(model: &'a Model) -> Option<UndefinedFlow<'a>> {
        let functions =
            model.functions.enumerate().map(|(id, function)| CodePiece::new(&function.code, Some(id), None));
        let rules = model.rules.iter().chain(model.starts.iter());
        let rules = rules.map(|rule| CodePiece::new(&rule.code, None, Some(rule)));
        let mut flow = UndefinedFlow {
            model,
            pieces: functions.chain(rules).collect(),
            referred: BTreeSet::new(),
            undefined: BTreeSet::new(),
            copies: BTreeMap::new(),
            of_steps: true,
        };
        let of_steps = flow.pieces_of_steps();
        if flow.pieces.iter().zip(&of_steps).any(|(piece, of_steps)| *of_steps && piece.has_population) {
            return None;
        }
        flow.bind_references();
        for (at, of_steps) in of_steps.into_iter().enumerate() {
            flow.of_steps = of_steps;
            flow.piece(at);
        }
        Some(flow)
    }

    /// The slots that may be undefined if some are.
    pub(super) fn close(mut self, starts: impl Iterator<Item = ValueSlot>) -> BTreeSet<ValueSlot> {
        self.undefined.extend(starts);
        let mut waiting: Vec<ValueSlot> = self.undefined.iter().cloned().collect();
        while let Some(slot) = waiting.pop() {
            for to in self.copies.get(&slot).into_iter().flatten() {
                if self.undefined.insert(to.clone()) {
                    waiting.push(to.clone());
                }
            }
        }
        self.undefined
    }

    /// By piece: whether it is a rule, or a function that rules call.
    fn pieces_of_steps(&self) -> Vec<bool> {
        let first = self.model.functions.len();
        let mut waiting: Vec<usize> = (first..first + self.model.rules.len()).collect();
        let mut found = vec![false; self.pieces.len()];
        while let Some(at) = waiting.pop() {
            if !std::mem::replace(&mut found[at], true) {
                waiting.extend(self.pieces[at].calls.iter().map(|(callee, _)| callee.index()));
            }
        }
        found
    }

    /// Finds what references stand for, until that is all.
    fn bind_references(&mut self) {
        let mut more = true;
        while std::mem::take(&mut more) {
            for at in 0..self.pieces.len() {
                let mut found: Vec<(usize, LocalId, BTreeSet<ValueSlot>)> = Vec::new();
                let piece = &self.pieces[at];
                for binding in &piece.bindings {
                    found.push((at, binding.local, self.referred(at, &binding.to, (at, binding.local))));
                }
                for (callee, arguments) in &piece.calls {
                    for (param, to) in self.model.functions[*callee].params.iter().zip(*arguments) {
                        let target = (callee.index(), *param);
                        found.push((target.0, *param, self.referred(at, to, target)));
                    }
                }
                for (piece, local, targets) in found {
                    if !self.refers(piece, local) {
                        continue;
                    }
                    self.referred.extend(targets.iter().map(|slot| slot.base));
                    let known = &mut self.pieces[piece].targets[local.index()];
                    let before = known.len();
                    known.extend(targets);
                    more |= known.len() > before;
                }
            }
        }
    }

    fn refers(&self, piece: usize, local: LocalId) -> bool {
        matches!(self.pieces[piece].locals()[local].kind, LocalKind::Reference { .. })
    }

    /// What a reference stands for that is bound to an argument. A value is in a temporary, which is taken for the local itself.
    fn referred(&self, at: usize, argument: &Argument, local: (usize, LocalId)) -> BTreeSet<ValueSlot> {
        match argument {
            Argument::Place(place) => self.slots(at, place),
            Argument::Value(_) => BTreeSet::from([ValueSlot::whole(SlotBase::Local(local.0, local.1))]),
        }
    }

    /// What a place may be.
    fn slots(&self, at: usize, place: &Place) -> BTreeSet<ValueSlot> {
        let fields = fields(place);
        let one = |base| BTreeSet::from([ValueSlot { base, fields: fields.clone() }]);
        match place.root {
            Root::Var(var) => one(SlotBase::Var(var)),
            Root::Local(local) => match self.pieces[at].locals()[local].kind {
                LocalKind::Bound | LocalKind::Variable => one(SlotBase::Local(at, local)),
                LocalKind::Reference { .. } => {
                    let targets = &self.pieces[at].targets[local.index()];
                    targets.iter().map(|target| target.part(&fields)).collect()
                }
            },
        }
    }

    fn piece(&mut self, at: usize) {
        let (code, function, rule) = (self.pieces[at].code, self.pieces[at].function, self.pieces[at].rule);
        let mut given = Given::new();
        if let Some(function) = function {
            given.extend(self.model.functions[function].params.iter().map(|param| (*param, Vec::new())));
        }
        if let Some(rule) = rule {
            rule.params.iter().for_each(|param| self.domain(at, &param.domain, &given));
            self.bind(at, &rule.bindings, &mut given);
            rule.guard.iter().for_each(|guard| self.expr(at, guard, &given));
        }
        self.block(at, &code.body, &mut given);
    }

    /// Whether nothing that stands after the block is executed.
    fn block(&mut self, at: usize, block: &'a [Stmt], given: &mut Given) -> bool {
        block.iter().any(|stmt| self.stmt(at, stmt, given))
    }

    /// Whether nothing that stands after the statement is executed.
    fn stmt(&mut self, at: usize, stmt: &'a Stmt, given: &mut Given) -> bool {
        match &stmt.kind {
            StmtKind::Assign(place, value) => {
                self.place(at, place, given);
                self.expr(at, value, given);
                self.gets(at, &self.slots(at, place), place.ty, value, given);
                self.give(at, place, given);
            }
            StmtKind::MultisetAdd(place, value) => self.put_in(at, place, value, given),
            StmtKind::Insert { place, at: position, value } => {
                position.iter().for_each(|position| self.expr(at, position, given));
                self.put_in(at, place, value, given);
            }
            StmtKind::Clear(place) => {
                self.place(at, place, given);
                self.give(at, place, given);
            }
            StmtKind::Undefine(place) => {
                self.place(at, place, given);
                let own = self.own(at, place);
                if let Some(local) = own {
                    given.retain(|(other, _)| *other != local);
                }
                // Who looks at a local through a reference does not know of that.
                if own.is_none_or(|local| self.referred.contains(&SlotBase::Local(at, local))) {
                    self.lose(&self.slots(at, place), place.ty, PartsOf::Itself);
                }
            }
            StmtKind::If(arms, other) => return self.branch(at, arms, other, given),
            StmtKind::While { condition, body, .. } => {
                self.rounds(at, body, given, |flow, given| flow.expr(at, condition, given));
            }
            StmtKind::For { domain, body, .. } => {
                self.domain(at, domain, given);
                self.rounds(at, body, given, |_, _| {});
            }
            StmtKind::Bind(bindings) => self.bind(at, bindings, given),
            StmtKind::Choose { domain, .. } => self.domain(at, domain, given),
            StmtKind::Check { condition, .. } => {
                condition.iter().for_each(|condition| self.expr(at, condition, given));
            }
            StmtKind::Return(value) => {
                if let (Some(value), Some(function)) = (value, self.pieces[at].function) {
                    self.expr(at, value, given);
                    let result = BTreeSet::from([ValueSlot::whole(SlotBase::Result(function))]);
                    self.gets(at, &result, value.ty, value, given);
                }
                return true;
            }
            StmtKind::Call(callee, arguments) => {
                arguments.iter().for_each(|argument| self.argument(at, argument, given));
                self.call(at, *callee, arguments, given);
            }
            StmtKind::Output(items) => {
                for item in items {
                    if let OutputItem::Value(value) = item {
                        self.expr(at, value, given);
                    }
                }
            }
            StmtKind::MultisetRemove(place, other)
            | StmtKind::Remove(place, other)
            | StmtKind::MultisetRemoveIf { place, condition: other, .. } => {
                self.place(at, place, given);
                self.expr(at, other, given);
            }
            // Only starts have these.
            StmtKind::Create(place, _) => self.place(at, place, given),
            StmtKind::Delete(element) => self.expr(at, element, given),
        }
        false
    }

    /// A multiset or a sequence gets an element.
    fn put_in(&mut self, at: usize, place: &'a Place, value: &'a Expr, given: &Given) {
        self.place(at, place, given);
        self.expr(at, value, given);
        self.gets(at, &self.slots(at, place), value.ty, value, given);
    }

    fn branch(
        &mut self,
        at: usize,
        arms: &'a [(Expr, Vec<Stmt>)],
        other: &'a [Stmt],
        given: &mut Given,
    ) -> bool {
        let mut after: Option<Given> = None;
        for (condition, block) in arms {
            self.expr(at, condition, given);
            self.arm(at, block, given, &mut after);
        }
        self.arm(at, other, given, &mut after);
        let ends = after.is_none();
        *given = after.unwrap_or_default();
        ends
    }

    /// What is given after an arm, too, is given after all arms.
    fn arm(&mut self, at: usize, block: &'a [Stmt], given: &Given, after: &mut Option<Given>) {
        let mut here = given.clone();
        if !self.block(at, block, &mut here) {
            *after = Some(match after.take() {
                Some(after) => after.intersection(&here).cloned().collect(),
                None => here,
            });
        }
    }

    /// What is made undefined in a round of a loop is so in the next one, and after it.
    fn rounds(
        &mut self,
        at: usize,
        body: &'a [Stmt],
        given: &mut Given,
        before: impl FnOnce(&mut Self, &Given),
    ) {
        walk_block(body, &mut |node| {
            if let Node::Stmt(Stmt { kind: StmtKind::Undefine(place), .. }) = node
                && let Some(local) = self.own(at, place)
            {
                given.retain(|(other, _)| *other != local);
            }
        });
        before(self, given);
        self.block(at, body, &mut given.clone());
    }

    /// The local variable that a place is, or is a part of.
    fn own(&self, at: usize, place: &Place) -> Option<LocalId> {
        match place.root {
            Root::Local(local) if self.pieces[at].locals()[local].kind == LocalKind::Variable => Some(local),
            Root::Local(_) | Root::Var(_) => None,
        }
    }

    /// A place is given a value.
    fn give(&self, at: usize, place: &Place, given: &mut Given) {
        let by_fields = place.path.iter().all(|step| matches!(step, Projection::Field(_)));
        if let Some(local) = self.own(at, place).filter(|_| by_fields) {
            given.insert((local, fields(place)));
        }
    }

    fn bind(&mut self, at: usize, bindings: &'a [Binding], given: &mut Given) {
        for binding in bindings {
            self.argument(at, &binding.to, given);
            self.pass(at, &binding.to, (at, binding.local), given);
            given.insert((binding.local, Vec::new()));
        }
    }

    fn call(&mut self, at: usize, callee: FunctionId, arguments: &'a [Argument], given: &Given) {
        for (param, argument) in self.model.functions[callee].params.iter().zip(arguments) {
            self.pass(at, argument, (callee.index(), *param), given);
        }
    }

    /// An argument goes to a local of a piece of code.
    fn pass(&mut self, at: usize, argument: &Argument, (piece, local): (usize, LocalId), given: &Given) {
        let to = BTreeSet::from([ValueSlot::whole(SlotBase::Local(piece, local))]);
        match argument {
            Argument::Value(value) => self.gets(at, &to, value.ty, value, given),
            Argument::Place(place) if self.refers(piece, local) => {
                // Who has the reference does not know what was given a value here.
                for part in self.not_given(at, place, place.ty, given) {
                    self.slots(at, place).iter().for_each(|slot| self.add_undefined(slot.part(&part)));
                }
            }
            Argument::Place(place) => self.copy(at, &to, place.ty, place, given),
        }
    }

    /// Slots get a value of a type.
    fn gets(&mut self, at: usize, to: &BTreeSet<ValueSlot>, ty: TypeId, value: &Expr, given: &Given) {
        let is_scalar = self.model.kind(ty).is_scalar();
        match &value.kind {
            ExprKind::Const(value) if !has_undefined(value) => {}
            // Faults if it is undefined.
            ExprKind::Read(_) if is_scalar => {}
            ExprKind::Read(from) | ExprKind::Peek(from) if is_scalar || from.ty == ty => {
                self.copy(at, to, ty, from, given);
            }
            ExprKind::Call(function, _)
                if is_scalar || self.model.functions[*function].result == Some(ty) =>
            {
                self.copy_slot(to, ty, &ValueSlot::whole(SlotBase::Result(*function)));
            }
            ExprKind::Cond(_, then, other) => {
                self.gets(at, to, ty, then, given);
                self.gets(at, to, ty, other, given);
            }
            ExprKind::Const(_) | ExprKind::Peek(_) => self.lose(to, ty, PartsOf::Contents),
            // What is computed is defined. Of something composite, it is not known what it was put together from.
            _ if is_scalar => {}
            _ => self.lose(to, ty, PartsOf::Contents),
        }
    }

    fn copy(&mut self, at: usize, to: &BTreeSet<ValueSlot>, ty: TypeId, from: &Place, given: &Given) {
        for part in self.not_given(at, from, ty, given) {
            to.iter().for_each(|slot| self.add_undefined(slot.part(&part)));
        }
        for slot in self.slots(at, from) {
            self.copy_slot(to, ty, &slot);
        }
    }

    fn copy_slot(&mut self, to: &BTreeSet<ValueSlot>, ty: TypeId, from: &ValueSlot) {
        let model = self.model;
        each_part(model, ty, PartsOf::Contents, &mut |part| {
            let targets = to.iter().map(|slot| slot.part(part));
            let targets = targets.filter(|slot| self.of_steps || !slot.is_of_state(model));
            self.copies.entry(from.part(part)).or_default().extend(targets);
        });
    }

    fn lose(&mut self, slots: &BTreeSet<ValueSlot>, ty: TypeId, which: PartsOf) {
        let model = self.model;
        for slot in slots {
            each_part(model, ty, which, &mut |part| self.add_undefined(slot.part(part)));
        }
    }

    fn add_undefined(&mut self, slot: ValueSlot) {
        if self.of_steps || !slot.is_of_state(self.model) {
            self.undefined.insert(slot);
        }
    }

    /// The parts of a local variable that may not have been given a value yet.
    fn not_given(&self, at: usize, place: &Place, ty: TypeId, given: &Given) -> Vec<Vec<u32>> {
        let Some(local) = self.own(at, place) else { return Vec::new() };
        let (before, mut missing) = (fields(place), Vec::new());
        each_part(self.model, ty, PartsOf::Itself, &mut |part| {
            let whole: Vec<u32> = [&before, part].concat();
            if !(0..=whole.len()).any(|length| given.contains(&(local, whole[..length].to_vec()))) {
                missing.push(part.to_vec());
            }
        });
        missing
    }

    /// Looks for calls in an expression.
    fn expr(&mut self, at: usize, expr: &'a Expr, given: &Given) {
        walk_expr(expr, &mut |node| self.node(at, node, given));
    }

    fn place(&mut self, at: usize, place: &'a Place, given: &Given) {
        walk_place(place, &mut |node| self.node(at, node, given));
    }

    fn domain(&mut self, at: usize, domain: &'a Domain, given: &Given) {
        walk_domain(domain, &mut |node| self.node(at, node, given));
    }

    fn argument(&mut self, at: usize, argument: &'a Argument, given: &Given) {
        walk_argument(argument, &mut |node| self.node(at, node, given));
    }

    fn node(&mut self, at: usize, node: Node<'a>, given: &Given) {
        if let Node::Expr(Expr { kind: ExprKind::Call(callee, arguments), .. }) = node {
            self.call(at, *callee, arguments, given);
        }
    }
}

/// The fields on the way to a place.
fn fields(place: &Place) -> Vec<u32> {
    let field = |step: &Projection| match step {
        Projection::Field(field) => Some(*field),
        Projection::Index(_) | Projection::Slot(_) | Projection::Item(_) => None,
    };
    place.path.iter().filter_map(field).collect()
}
