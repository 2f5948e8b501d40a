//! The order in which elements came to satisfy a predicate: a list that the machine keeps beside the model.
//!
//! Whenever a rule has written, through a local that names an element, what the predicate reads of that element, the element
//! is put at the end of the list or taken out of it. So the four variables are a list at any time, whatever the model does,
//! and what no list looks like is no part of any state.

use std::collections::BTreeMap;

use shoal_certificate::OpenPredicate;
use shoal_model::{
    ExprKind, LocalKind, Model, Place, Projection, Root, SortId, Stmt, Type, TypeDef, TypedId, Value, Var,
    VarId,
};
use shoal_syntax::Span;

use super::{
    facts::{Path, WindowPredicate, may_meet},
    machine::{WindowMachine, WindowResult, WindowSlot, WindowStop, lacking},
    structure::{Name, STAR, WindowStructure},
};

/// A predicate, and the variables that keep who satisfies it: always the last four of the model.
pub(crate) struct WindowOrder<'m> {
    pub(crate) predicate: WindowPredicate<'m>,
    first: VarId,
    last: VarId,
    before: VarId,
    after: VarId,
}

/// The model with the variables of the list. Nothing if there is no such sort.
pub(crate) fn with_list(model: &Model, order: &OpenPredicate) -> Option<Model> {
    let sort = model.sorts.ids().nth(order.sort as usize)?;
    let mut model = model.clone();
    let one = model.types.push(TypeDef { name: None, kind: Type::Ref { sort, nullable: false } });
    let each = model.types.push(TypeDef { name: None, kind: Type::Array { index: one, element: one } });
    for (name, ty) in [("first", one), ("last", one), ("before", each), ("after", each)] {
        model.vars.push(Var { name: format!("${name}"), ty, span: Span::default() });
    }
    Some(model)
}

impl<'m> WindowOrder<'m> {
    /// Nothing where the predicate is more than a comparison of what is kept for its element.
    pub(crate) fn of(model: &Model, predicate: WindowPredicate<'m>) -> Option<WindowOrder<'m>> {
        let indices = |path: &Path| path.1.iter().filter(|step| step.is_none()).count();
        let fits = predicate.shared.is_empty() && predicate.own.iter().all(|path| indices(path) == 1);
        let mut vars = model.vars.ids().skip(model.vars.len().checked_sub(4)?);
        let (first, last, before, after) = (vars.next()?, vars.next()?, vars.next()?, vars.next()?);
        fits.then_some(WindowOrder { predicate, first, last, before, after })
    }

    fn sort(&self) -> SortId {
        self.predicate.sort
    }

    /// Whether a structure can be a part of a state with a list.
    pub(crate) fn allows(&self, structure: &WindowStructure) -> bool {
        let values = &structure.values;
        let (first, last) = match (name(&values[self.first.index()]), name(&values[self.last.index()])) {
            (Some(first), Some(last)) => (first, last),
            (None, None) => return self.neighbours(structure).iter().all(|(_, b, a)| b.or(*a).is_none()),
            (Some(_), None) | (None, Some(_)) => return false,
        };
        let mut next: BTreeMap<Name, Name> = BTreeMap::new();
        let mut previous: BTreeMap<Name, Name> = BTreeMap::new();
        let mut link = |a: Name, b: Name| {
            *next.entry(a).or_insert(b) == b
                && *previous.entry(b).or_insert(a) == a
                && a != last
                && b != first
        };
        for (is, before, after) in self.neighbours(structure) {
            if before.is_some_and(|before| !link(before, is)) || after.is_some_and(|after| !link(is, after)) {
                return false;
            }
        }
        for (is, before, after) in self.neighbours(structure) {
            let is_in = is == first || is == last || next.contains_key(&is) || previous.contains_key(&is);
            if is_in && (before.is_none() != (is == first) || after.is_none() != (is == last)) {
                return false;
            }
        }
        // The line that leads on from an element; longer than all links together if it comes back.
        let line = |from: Name| {
            let mut line = vec![from];
            while let Some(to) = line.last().and_then(|at| next.get(at))
                && line.len() <= next.len() + 1
            {
                line.push(*to);
            }
            line
        };
        let from_first = line(first);
        let whole = from_first.last() == Some(&last);
        next.keys().all(|from| line(*from).len() <= next.len() + 1)
            && (!whole || from_first.len() == next.len() + 1)
    }

    /// The known elements, each with those before and after it.
    fn neighbours(&self, structure: &WindowStructure) -> Vec<(Name, Option<Name>, Option<Name>)> {
        let entry = |var: VarId, at: u32| match &structure.values[var.index()] {
            Value::Array(entries) => name(&entries[at as usize]),
            _ => None,
        };
        let known = 0..structure.known[self.sort().index()];
        known.map(|at| ((self.sort(), at), entry(self.before, at), entry(self.after, at))).collect()
    }

    /// The stars that lead to more of the list.
    pub(crate) fn stars(&self, structure: &WindowStructure) -> Vec<Name> {
        let ends = [self.first, self.last].map(|var| name(&structure.values[var.index()]));
        let next = self.neighbours(structure).into_iter().flat_map(|(_, before, after)| [after, before]);
        let mut stars: Vec<Name> = Vec::new();
        for star in ends.into_iter().chain(next).flatten().filter(|name| name.1 >= STAR) {
            if !stars.contains(&star) {
                stars.push(star);
            }
        }
        stars
    }

    /// The index of a place that is written, if it names the element whose predicate may change.
    fn element<'p>(&self, place: &'p Place) -> Option<&'p Place> {
        let Root::Var(var) = place.root else { return None };
        let step = |projection: &Projection| match projection {
            Projection::Field(at) => Some(*at),
            Projection::Index(_) | Projection::Slot(_) | Projection::Item(_) => None,
        };
        let written: Path = (var, place.path.iter().map(step).collect());
        let index = |own: &Path| match place.path.get(own.1.iter().position(Option::is_none)?) {
            Some(Projection::Index(index)) => match &index.kind {
                ExprKind::Read(place) | ExprKind::Peek(place) => Some(place),
                _ => None,
            },
            _ => None,
        };
        self.predicate.own.iter().filter(|own| may_meet(own, &written)).find_map(index)
    }
}

fn name(value: &Value) -> Option<Name> {
    match value {
        Value::Elem(sort, number) => Some((*sort, *number)),
        _ => None,
    }
}

impl<'m> WindowMachine<'_, 'm> {
    /// Keeps the order after a statement.
    pub(crate) fn keep_order(&mut self, stmt: &'m Stmt) -> WindowResult {
        let facts = self.facts;
        let Some(order) = facts.order.as_ref().filter(|_| self.keeps_order) else { return Ok(()) };
        let Some(index) = stmt.kind.written().and_then(|place| order.element(place)) else { return Ok(()) };
        let (Root::Local(local), true) = (index.root, index.path.is_empty()) else { return Ok(()) };
        let frame = self.frame();
        let about = &frame.locals[local];
        let is_element =
            *facts.shape.model.kind(about.ty) == Type::Ref { sort: order.sort(), nullable: false };
        if !is_element || matches!(about.kind, LocalKind::Reference { .. }) {
            return Ok(());
        }
        let WindowSlot::Value(Value::Elem(sort, number)) = frame.slots[local.index()].clone() else {
            return lacking("internal error: an element that was written has no name");
        };
        if number >= STAR {
            return Err(WindowStop::Resolve((sort, number)));
        }
        // One after the other, and nobody can tell who was first.
        if self.rounds > 0 {
            return lacking("the order in which elements come where several come at once");
        }
        self.arrive(order, (sort, number))
    }

    fn arrive(&mut self, order: &WindowOrder<'m>, is: Name) -> WindowResult {
        let defined = |path: &Path| {
            let mut value = &self.values[path.0.index()];
            for step in &path.1 {
                value = match (step, value) {
                    (Some(at), Value::Record(fields)) => &fields[*at as usize],
                    (None, Value::Array(entries)) => &entries[is.1 as usize],
                    _ => return false,
                };
            }
            *value != Value::Undefined
        };
        let defined = order.predicate.own.iter().all(defined);
        let belongs = defined && self.satisfies_predicate(&order.predicate, is.1)?;
        let whole = |machine: &Self, var: VarId| name(&machine.values[var.index()]);
        let (first, last) = (whole(self, order.first), whole(self, order.last));
        let (before, after) = (self.neighbour(order.before, is.1), self.neighbour(order.after, is.1));
        let is_in = first == Some(is) || before.is_some();
        match (is_in, belongs) {
            (false, true) => {
                match last {
                    Some(last) => self.connect(order.after, last, Some(is)),
                    None => self.values[order.first.index()] = value(Some(is)),
                }
                self.connect(order.before, is, last);
                self.values[order.last.index()] = value(Some(is));
            }
            (true, false) => {
                match before {
                    Some(before) => self.connect(order.after, before, after),
                    None => self.values[order.first.index()] = value(after),
                }
                match after {
                    Some(after) => self.connect(order.before, after, before),
                    None => self.values[order.last.index()] = value(before),
                }
                self.connect(order.before, is, None);
                self.connect(order.after, is, None);
            }
            (true, true) | (false, false) => {}
        }
        Ok(())
    }

    fn neighbour(&self, var: VarId, of: u32) -> Option<Name> {
        match &self.values[var.index()] {
            Value::Array(entries) => name(&entries[of as usize]),
            _ => None,
        }
    }

    /// What is kept for elements that are not known is not seen.
    fn connect(&mut self, var: VarId, of: Name, to: Option<Name>) {
        if let (Value::Array(entries), true) = (&mut self.values[var.index()], of.1 < STAR) {
            entries[of.1 as usize] = value(to);
        }
    }
}

fn value(name: Option<Name>) -> Value {
    name.map_or(Value::Undefined, |(sort, number)| Value::Elem(sort, number))
}
