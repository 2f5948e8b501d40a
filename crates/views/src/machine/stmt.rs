//! Statements and calls.

use shoal_model::{
    Argument, Binding, CALL_DEPTH, CheckKind, Domain, Expr, FaultKind, FunctionId, Local, LocalId, LocalKind,
    OrInternal, OutputItem, Place, Stmt, StmtKind, Type, TypeId, TypedId,
};
use shoal_syntax::Span;

use super::{Base, CellAddress, Data, ViewFlow, ViewMachine, ViewSlot, expr::Assumed};
use crate::mutant::{self, Mutant};
use crate::{
    cell::{Cell, ViewScalar},
    decision::{Decision, RunResult, SiteKey, Stop, fault},
};

impl<'m> ViewMachine<'_, 'm> {
    pub(super) fn call(
        &mut self,
        function: FunctionId,
        arguments: &'m [Argument],
        span: Span,
        site: usize,
    ) -> RunResult<Option<Data>> {
        let callee = &self.system.model.functions[function];
        let mut slots = Vec::with_capacity(callee.params.len());
        for (param, argument) in callee.params.iter().zip(arguments) {
            slots.push((*param, self.argument(argument, &callee.code.locals[*param])?));
        }
        if self.frames.len() > CALL_DEPTH {
            return fault(FaultKind::CallDepth, span);
        }
        self.push(&callee.code.locals, callee.result);
        for (param, slot) in slots {
            self.put(param, slot);
        }
        self.around.push((site, ViewScalar::Undefined));
        let flow = self.block(&callee.code.body)?;
        self.around.pop();
        self.pop();
        match (flow, callee.result) {
            (ViewFlow::Return(Some(data)), _) => Ok(Some(data)),
            (ViewFlow::Next | ViewFlow::Return(None), None) => Ok(None),
            (ViewFlow::Next | ViewFlow::Return(None), Some(_)) => fault(FaultKind::NoResult, span),
        }
    }

    fn argument(&mut self, argument: &'m Argument, local: &Local) -> RunResult<ViewSlot> {
        Ok(match argument {
            Argument::Place(place) if matches!(local.kind, LocalKind::Reference { .. }) => {
                ViewSlot::Refers(self.locate(place)?)
            }
            Argument::Place(place) => ViewSlot::Data(self.peek(place)?),
            Argument::Value(value) => {
                let data = self.eval(value)?;
                ViewSlot::Data(self.fit(data, value.ty, local.ty, value.span)?)
            }
        })
    }

    pub(crate) fn bind(&mut self, bindings: &'m [Binding]) -> RunResult {
        for binding in bindings {
            let Some(frame) = self.frames.last() else { return Ok(()) };
            let slot = self.argument(&binding.to, &frame.locals[binding.local])?;
            self.put(binding.local, slot);
        }
        Ok(())
    }

    /// Runs the body of a rule.
    pub(crate) fn body(&mut self, block: &'m [Stmt]) -> RunResult {
        self.block(block).map(|_| ())
    }

    fn block(&mut self, block: &'m [Stmt]) -> RunResult<ViewFlow> {
        for stmt in block {
            if let ViewFlow::Return(data) = self.stmt(stmt)? {
                return Ok(ViewFlow::Return(data));
            }
        }
        Ok(ViewFlow::Next)
    }

    fn stmt(&mut self, stmt: &'m Stmt) -> RunResult<ViewFlow> {
        let (span, site) = (stmt.span, stmt as *const Stmt as usize);
        match &stmt.kind {
            StmtKind::Assign(place, value) => {
                let data = self.eval(value)?;
                let location = self.locate(place)?;
                let data = self.fit(data, value.ty, place.ty, value.span)?;
                self.write(&location, place.ty, data, place.span)?;
            }
            StmtKind::Undefine(place) => {
                let location = self.locate(place)?;
                let blank = self.blank(place.ty);
                self.write(&location, place.ty, blank, place.span)?;
            }
            StmtKind::Clear(place) => {
                let location = self.locate(place)?;
                let least = self.least(place.ty, span)?;
                let data = match (self.system.model.kind(place.ty).is_scalar(), least.first()) {
                    (true, Some(cell)) => Data::Scalar(cell.unpack().or_internal("the least value is known")),
                    _ => Data::Block(least),
                };
                self.write(&location, place.ty, data, place.span)?;
            }
            StmtKind::If(arms, other) => {
                for (condition, block) in arms {
                    if self.truth(condition)? {
                        return self.block(block);
                    }
                }
                return self.block(other);
            }
            StmtKind::While { condition, body, limit } => {
                let mut rounds = 0;
                loop {
                    self.around.push((site, ViewScalar::Int(rounds as i64)));
                    if !self.truth(condition)? {
                        self.around.pop();
                        break;
                    }
                    if rounds == *limit {
                        return fault(FaultKind::LoopLimit, span);
                    }
                    rounds += 1;
                    if let ViewFlow::Return(data) = self.block(body)? {
                        self.around.pop();
                        return Ok(ViewFlow::Return(data));
                    }
                    self.around.pop();
                }
            }
            StmtKind::For { local, domain, body } => return self.for_each(stmt, *local, domain, body),
            StmtKind::Bind(bindings) => self.bind(bindings)?,
            StmtKind::Choose { local, domain } => {
                let options = self.options(domain)?;
                let value = self.choose(|_| options)?;
                self.set(*local, value);
            }
            StmtKind::Check { kind, condition, property } => {
                let holds = match condition {
                    Some(condition) => self.truth(condition)?,
                    None => false,
                };
                match kind {
                    CheckKind::Assert if !holds => return fault(FaultKind::Assertion(*property), span),
                    CheckKind::Assume if !holds => return Err(Stop::Dead),
                    CheckKind::Assert | CheckKind::Assume | CheckKind::Cover => {}
                }
            }
            StmtKind::Return(value) => {
                let result = self.frames.last().and_then(|frame| frame.result);
                let (Some(expr), Some(ty)) = (value, result) else { return Ok(ViewFlow::Return(None)) };
                let data = self.eval(expr)?;
                return match self.fit(data, expr.ty, ty, expr.span)? {
                    Data::Scalar(ViewScalar::Undefined) => fault(FaultKind::Undefined, expr.span),
                    data => Ok(ViewFlow::Return(Some(data))),
                };
            }
            StmtKind::Call(function, arguments) => {
                self.call(*function, arguments, span, site)?;
            }
            StmtKind::Output(items) => {
                for item in items {
                    if let OutputItem::Value(value) = item {
                        self.eval(value)?;
                    }
                }
            }
            StmtKind::MultisetAdd(place, value) => self.bag_add(place, value, span)?,
            StmtKind::MultisetRemove(place, slot) => {
                let location = self.locate(place)?;
                let at = usize::try_from(self.integer(slot)?).unwrap_or(usize::MAX);
                let (width, capacity) = self.bag(place)?;
                if at >= capacity || self.cell(&location, at * width)? != Cell::TAKEN {
                    return fault(FaultKind::EmptySlot, slot.span);
                }
                self.bag_set(&location, at * width, &vec![Cell::UNDEFINED; width], place.span)?;
            }
            StmtKind::MultisetRemoveIf { place, local, condition } => {
                let location = self.locate(place)?;
                let (width, capacity) = self.bag(place)?;
                let outer = self.put(*local, ViewSlot::Unbound);
                let mut removed = Vec::new();
                for slot in 0..capacity {
                    if self.cell(&location, slot * width)? == Cell::TAKEN {
                        let value = ViewScalar::Int(slot as i64);
                        self.set(*local, value);
                        self.around.push((site, value));
                        if self.truth(condition)? {
                            removed.push(slot);
                        }
                        self.around.pop();
                    }
                }
                self.put(*local, outer);
                for slot in removed {
                    self.bag_set(&location, slot * width, &vec![Cell::UNDEFINED; width], place.span)?;
                }
            }
            StmtKind::Insert { .. } | StmtKind::Remove(..) => {
                return Err(Stop::lacking("sequences".into(), span));
            }
            StmtKind::Create(..) | StmtKind::Delete(_) => {
                return Err(Stop::lacking("elements that come and go".into(), span));
            }
        }
        Ok(ViewFlow::Next)
    }

    fn bag_add(&mut self, place: &'m Place, value: &'m Expr, span: Span) -> RunResult {
        let Type::Multiset { element, .. } = self.system.model.kind(place.ty) else {
            return Err(Stop::lacking("slots of what is no multiset".into(), span));
        };
        let data = self.eval(value)?;
        let location = self.locate(place)?;
        let data = self.fit(data, value.ty, *element, value.span)?;
        let (width, capacity) = self.bag(place)?;
        let mut cells = vec![Cell::TAKEN];
        match data {
            Data::Scalar(scalar) => cells.push(Cell::pack(scalar).map_or_else(|| self.too_large(), Ok)?),
            Data::Block(block) => cells.extend(block),
        }
        for slot in 0..capacity {
            if self.cell(&location, slot * width)? != Cell::TAKEN {
                return self.bag_set(&location, slot * width, &cells, place.span);
            }
        }
        // For larger numbers of elements there may be room.
        if self.system.grows(place.ty) {
            let what = "a multiset that has more places where there are more elements, and fills up";
            return Err(Stop::lacking(what.into(), span));
        }
        fault(FaultKind::Full, span)
    }

    /// Writes the cells of a slot of a bag that is a part of the state.
    fn bag_set(&mut self, location: &CellAddress, further: usize, cells: &[Cell], span: Span) -> RunResult {
        if location.base != Base::Var {
            return Err(Stop::lacking("a multiset that is a local".into(), span));
        }
        self.wrote = true;
        for (at, cell) in cells.iter().enumerate() {
            let at = location.offset + further + at;
            if self.changes(at, *cell) {
                self.disturbed |= self.system.watchers(at);
                self.put_cell(at, *cell);
            }
        }
        Ok(())
    }

    fn least(&self, ty: TypeId, span: Span) -> RunResult<Vec<Cell>> {
        let model = self.system.model;
        Ok(match model.kind(ty) {
            Type::Record { fields } => {
                let parts = fields.iter().map(|field| self.least(field.ty, span));
                parts.collect::<RunResult<Vec<_>>>()?.concat()
            }
            Type::Array { index, element } => {
                let one = self.least(*element, span)?;
                // How many entries there are is not known of a sort with any number of elements.
                let Some(entries) = model.cardinality(*index) else {
                    return Err(Stop::lacking("this `clear`".into(), span));
                };
                one.repeat(entries as usize)
            }
            Type::Multiset { .. } => vec![Cell::UNDEFINED; self.system.layout.size(ty)],
            Type::Sequence { .. } | Type::Clock => return Err(Stop::lacking("this `clear`".into(), span)),
            Type::Bool | Type::Int { .. } | Type::Enum { .. } | Type::Ref { .. } | Type::Union { .. } => {
                let Some(least) = ViewScalar::of(&model.least(ty)) else {
                    return Err(Stop::lacking("this `clear`".into(), span));
                };
                let open = matches!(least, ViewScalar::Elem(sort, _) if self.system.any[sort.index()]);
                match Cell::pack(least).filter(|_| !open) {
                    Some(cell) => vec![cell],
                    None => return Err(Stop::lacking("`clear` of a reference".into(), span)),
                }
            }
        })
    }

    fn for_each(
        &mut self,
        stmt: &'m Stmt,
        local: LocalId,
        domain: &'m Domain,
        body: &'m [Stmt],
    ) -> RunResult<ViewFlow> {
        let site = stmt as *const Stmt as usize;
        let (values, open, _) = self.domain(domain)?;
        let facts = match open.is_empty() {
            true => None,
            false => Some(self.system.loop_at(site).ok_or_else(|| {
                Stop::lacking("internal error: a loop that was not looked at".into(), stmt.span)
            })?),
        };
        if let Some(trouble) = facts.and_then(|facts| facts.trouble) {
            let what = format!("{trouble} in a loop over a sort with any number of elements");
            return Err(Stop::lacking(what, stmt.span));
        }
        let key = self.key(site);
        let outer = self.put(local, ViewSlot::Unbound);
        let mut matter = Vec::new();
        for value in values {
            self.set(local, value);
            let before = match facts {
                Some(facts) if !facts.own_only && self.is_asked(&key, value) => {
                    Some(self.snapshot(facts, local, value))
                }
                _ => None,
            };
            self.rounds_compared += u32::from(before.is_some());
            self.around.push((site, value));
            if let ViewFlow::Return(data) = self.block(body)? {
                self.around.pop();
                return Ok(ViewFlow::Return(data));
            }
            self.around.pop();
            self.rounds_compared -= u32::from(before.is_some());
            if let (Some(before), Some(facts)) = (before, facts)
                && before != self.snapshot(facts, local, value)
            {
                matter.push(value);
            }
        }
        self.put(local, outer);
        let Some(facts) = facts else { return Ok(ViewFlow::Next) };
        for family in facts.written.iter().filter(|_| !mutant::is(Mutant::LoopsChangeNoBit)) {
            self.disturbed |= self.system.watchers_of(*family);
        }
        if facts.anything {
            self.disturbed = self.system.all_predicates();
        }
        self.wrote |= facts.anything || !facts.written.is_empty();
        if !facts.own_only
            && !mutant::is(Mutant::LoopsAreNotAsked)
            && !matches!(self.assumed(&key, &matter)?, Assumed::Nobody)
        {
            let locals = self.site_locals(site);
            return Err(Stop::asks(key, open, false, locals));
        }
        for private in &facts.private {
            self.put(*private, ViewSlot::Left);
        }
        Ok(ViewFlow::Next)
    }

    /// Whether a decision is about the round of an element.
    fn is_asked(&self, key: &SiteKey, value: ViewScalar) -> bool {
        let ViewScalar::Elem(sort, element) = value else { return false };
        self.decisions.iter().any(|decision| match decision {
            Decision::Nobody { key: of, known } => of == key && element as usize >= known[sort.index()],
            Decision::Witness { key: of, sort: s, element: e } => {
                of == key && *s == sort.index() && *e == element as usize
            }
            Decision::Somebody { .. }
            | Decision::NobodyAfter(_)
            | Decision::WitnessAfter { .. }
            | Decision::SomebodyAfter(_) => false,
        })
    }

    /// All that a round may change beyond the entries of its element.
    fn snapshot(
        &self,
        facts: &crate::effects::LoopFacts,
        local: LocalId,
        value: ViewScalar,
    ) -> (Vec<Cell>, Vec<ViewSlot>) {
        let own = |at: usize| {
            let dims = &self.system.layout.cells[at].dims;
            matches!(value, ViewScalar::Elem(sort, element)
                if dims.iter().any(|dim| dim.sort == sort.index() && dim.element == element as usize))
        };
        let cells = self.now();
        let cells = (0..cells.len()).filter(|at| !own(*at)).map(|at| cells[at]).collect();
        let mut slots = Vec::new();
        for (depth, frame) in self.frames.iter().enumerate() {
            let here = depth + 1 == self.frames.len();
            for (at, slot) in frame.slots.iter().enumerate() {
                let id = LocalId::from_index(at);
                // What is bound stays so; a parameter that is open becomes known when it is first needed.
                let bound = frame.locals[id].kind == LocalKind::Bound;
                if !bound && !(here && (id == local || facts.private.contains(&id))) {
                    slots.push(slot.clone());
                }
            }
        }
        (cells, slots)
    }
}
