//! Following rules from the values of some controls: is a part read before it is written, and what are the controls then?
//!
//! Where a part belongs to an element, a rule is followed once for every choice which of its parameters are that element.
//! All that is not known takes every way.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use shoal_model::{
    Argument, Domain, Expr, ExprKind, LocalId, Model, Node, Place, Projection, Root, Rule, Stmt, StmtKind,
    Type, UnaryOp, Value, walk_block, walk_expr,
};

use super::parts::VarParts;

pub(super) struct Follow<'a> {
    model: &'a Model,
    parts: &'a VarParts,
    /// By rule, the parts that it mentions.
    mentions: Vec<BTreeSet<usize>>,
    /// By place of the rules (where it is in memory): the parts under it, and whether it is one of them.
    places: HashMap<usize, (Vec<usize>, bool)>,
}

/// What is known of a value.
#[derive(Clone, Debug, PartialEq)]
enum KnownValue {
    Value(Value),
    /// The element whose parts are followed.
    Me,
    /// Another element of that sort.
    Other,
    Nothing,
}

/// Whose part a place is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PartOwner {
    Mine,
    Others,
    Somebodys,
}

/// One way through a rule.
#[derive(Clone, PartialEq)]
struct RulePath {
    /// The values of the controls now, where they are known.
    controls: Vec<Option<Value>>,
    /// Whether the part has been written.
    written: bool,
    left: bool,
}

/// More ways than this are not followed.
const MOST_WAYS: usize = 256;

impl<'a> Follow<'a> {
    pub(super) fn new(model: &'a Model, parts: &'a VarParts) -> Self {
        let mut places = HashMap::new();
        let mentions = |rule: &Rule| {
            let mut found = BTreeSet::new();
            let mut visit = |node: Node<'_>| {
                if let Node::Place(place) = node {
                    let under = parts.under(place);
                    found.extend(under.iter().copied());
                    places.insert(std::ptr::from_ref(place) as usize, (under, parts.at(place).is_some()));
                }
            };
            rule.guard.iter().for_each(|guard| walk_expr(guard, &mut visit));
            walk_block(&rule.code.body, &mut visit);
            found
        };
        let mentions = model.rules.iter().map(mentions).collect();
        Follow { model, parts, mentions, places }
    }

    /// The parts under a place of a rule, and whether it is one of them.
    fn at(&self, place: &Place) -> (&[usize], bool) {
        match self.places.get(&(std::ptr::from_ref(place) as usize)) {
            Some((under, is_part)) => (under, *is_part),
            None => shoal_model::internal!("a place that no rule has"),
        }
    }

    /// Parts that may tell when this one is active: those that are mentioned where it is, first those in the same record.
    pub(super) fn controls(&self, part: usize) -> Vec<usize> {
        let of = &self.parts.all[part];
        let mut near: BTreeMap<usize, usize> = BTreeMap::new();
        for mentioned in self.mentions.iter().filter(|mentioned| mentioned.contains(&part)) {
            mentioned.iter().for_each(|other| *near.entry(*other).or_default() += 1);
        }
        let fits = |other: &usize| {
            let it = &self.parts.all[*other];
            *other != part
                && !self.parts.opaque.contains(other)
                && matches!(self.model.kind(it.ty), Type::Bool | Type::Enum { .. } | Type::Int { .. })
                && (it.of.is_none() || it.of == of.of)
        };
        let mut found: Vec<usize> = near.keys().copied().filter(fits).collect();
        let sibling = |other: &usize| {
            let it = &self.parts.all[*other];
            it.var == of.var && it.path.split_last().map(|it| it.1) == of.path.split_last().map(|it| it.1)
        };
        found.sort_by_key(|other| (!sibling(other), std::cmp::Reverse(near[other]), *other));
        found.truncate(12);
        found
    }

    /// The values of controls with which a part may be read before it is written.
    pub(super) fn active(&self, part: usize, controls: &[usize], tuples: &[Vec<Value>]) -> Vec<Vec<Value>> {
        let mut active = vec![false; tuples.len()];
        // From where one comes to where without writing it.
        let mut edges: Vec<(usize, Vec<Option<Value>>)> = Vec::new();
        for (rule, mentioned) in self.model.rules.iter().zip(&self.mentions) {
            if !mentioned.contains(&part) && controls.iter().all(|it| !mentioned.contains(it)) {
                continue;
            }
            for who in self.roles(rule, part) {
                for (at, tuple) in tuples.iter().enumerate() {
                    if active[at] && !controls.iter().any(|it| mentioned.contains(it)) {
                        continue;
                    }
                    let mut run = StaleRun { follow: self, part, controls, who: who.clone(), read: false };
                    match run.rule(rule, tuple) {
                        Some(ways) => {
                            active[at] |= run.read;
                            let unwritten = ways.into_iter().filter(|way| !way.written);
                            edges.extend(unwritten.map(|way| (at, way.controls)));
                        }
                        None => active[at] = true,
                    }
                }
            }
        }
        let leads = |to: &[Option<Value>], tuple: &[Value]| {
            to.iter().zip(tuple).all(|(to, value)| to.as_ref().is_none_or(|to| to == value))
        };
        loop {
            let mut grown = false;
            for (from, to) in &edges {
                if !active[*from] && tuples.iter().zip(&active).any(|(it, active)| *active && leads(to, it)) {
                    active[*from] = true;
                    grown = true;
                }
            }
            if !grown {
                break;
            }
        }
        tuples.iter().zip(active).filter(|(_, active)| *active).map(|(tuple, _)| tuple.clone()).collect()
    }

    /// Every choice which parameters are the element whose part it is.
    fn roles(&self, rule: &Rule, part: usize) -> Vec<BTreeMap<LocalId, KnownValue>> {
        let mut roles = vec![BTreeMap::new()];
        let Some((_, sort)) = self.parts.all[part].of else { return roles };
        let is_of = |local: LocalId| {
            let ty = rule.code.locals[local].ty;
            matches!(self.model.kind(ty), Type::Ref { sort: of, nullable: false } if *of == sort)
        };
        for param in rule.params.iter().filter(|param| is_of(param.local)) {
            let with = |role: &BTreeMap<LocalId, KnownValue>, who: KnownValue| {
                let mut role = role.clone();
                role.insert(param.local, who);
                role
            };
            roles =
                roles.iter().flat_map(|it| [with(it, KnownValue::Me), with(it, KnownValue::Other)]).collect();
        }
        roles
    }
}

struct StaleRun<'f, 'a> {
    follow: &'f Follow<'a>,
    part: usize,
    controls: &'f [usize],
    who: BTreeMap<LocalId, KnownValue>,
    read: bool,
}

impl StaleRun<'_, '_> {
    /// The ways through a rule, and whether they read; nothing if they are too many.
    fn rule(&mut self, rule: &Rule, tuple: &[Value]) -> Option<Vec<RulePath>> {
        let controls = tuple.iter().cloned().map(Some).collect();
        let way = RulePath { controls, written: false, left: false };
        if let Some(guard) = &rule.guard
            && self.truth(guard, &way) == Some(false)
        {
            return Some(Vec::new());
        }
        self.block(&rule.code.body, vec![way])
    }

    fn block(&mut self, block: &[Stmt], mut ways: Vec<RulePath>) -> Option<Vec<RulePath>> {
        for stmt in block {
            let mut next: Vec<RulePath> = Vec::new();
            for way in ways {
                let more = if way.left { vec![way] } else { self.stmt(stmt, way)? };
                more.into_iter().for_each(|way| {
                    if !next.contains(&way) {
                        next.push(way);
                    }
                });
            }
            if next.len() > MOST_WAYS {
                return None;
            }
            ways = next;
        }
        Some(ways)
    }

    fn stmt(&mut self, stmt: &Stmt, mut way: RulePath) -> Option<Vec<RulePath>> {
        match &stmt.kind {
            StmtKind::Assign(place, value) => {
                let value = self.value(value, &way);
                self.indices(place, &way);
                Some(self.write(place, value, way))
            }
            StmtKind::Clear(place) => {
                self.indices(place, &way);
                let least = match self.follow.model.kind(place.ty).is_scalar() {
                    true => KnownValue::Value(self.follow.model.least(place.ty)),
                    false => KnownValue::Nothing,
                };
                Some(self.write(place, least, way))
            }
            StmtKind::Undefine(place) => {
                self.indices(place, &way);
                Some(self.write(place, KnownValue::Nothing, way))
            }
            StmtKind::If(arms, other) => {
                let mut out = Vec::new();
                for (condition, block) in arms {
                    let truth = self.truth(condition, &way);
                    if truth != Some(false) {
                        out.extend(self.block(block, vec![way.clone()])?);
                    }
                    if truth == Some(true) {
                        return Some(out);
                    }
                }
                out.extend(self.block(other, vec![way])?);
                Some(out)
            }
            StmtKind::For { local, domain, body } => self.rounds(*local, domain, body, way),
            StmtKind::Choose { local, domain } => {
                self.domain(domain, &way);
                self.who.insert(*local, KnownValue::Nothing);
                Some(vec![way])
            }
            StmtKind::Check { condition, .. } => {
                condition.iter().for_each(|condition| drop(self.value(condition, &way)));
                Some(vec![way])
            }
            StmtKind::Return(value) => {
                value.iter().for_each(|value| drop(self.value(value, &way)));
                way.left = true;
                Some(vec![way])
            }
            StmtKind::Bind(_)
            | StmtKind::Call(..)
            | StmtKind::While { .. }
            | StmtKind::Output(_)
            | StmtKind::MultisetAdd(..)
            | StmtKind::MultisetRemove(..)
            | StmtKind::MultisetRemoveIf { .. }
            | StmtKind::Insert { .. }
            | StmtKind::Remove(..)
            | StmtKind::Create(..)
            | StmtKind::Delete(_) => {
                // All that they mention is opaque, and locals hold anything.
                self.mention(stmt);
                Some(vec![way])
            }
        }
    }

    fn mention(&mut self, stmt: &Stmt) {
        let (parts, part) = (self.follow.parts, self.part);
        let mut read = false;
        walk_block(std::slice::from_ref(stmt), &mut |node| {
            if let Node::Place(place) = node {
                read |= parts.under(place).contains(&part);
            }
        });
        self.read |= read;
    }

    /// The rounds of a loop: of the element and, before and after it, of any others.
    fn rounds(
        &mut self,
        local: LocalId,
        domain: &Domain,
        body: &[Stmt],
        way: RulePath,
    ) -> Option<Vec<RulePath>> {
        self.domain(domain, &way);
        let mine = match (domain, self.follow.parts.all[self.part].of) {
            (Domain::Type(ty), Some((_, sort))) => {
                matches!(self.follow.model.kind(*ty), Type::Ref { sort: of, .. } if *of == sort)
            }
            _ => false,
        };
        let before = self.who.remove(&local);
        let mut ways = vec![way];
        let rounds: &[(KnownValue, bool)] = if mine {
            &[(KnownValue::Other, false), (KnownValue::Me, true), (KnownValue::Other, false)]
        } else {
            &[(KnownValue::Nothing, false), (KnownValue::Nothing, false)]
        };
        for (who, surely) in rounds {
            self.who.insert(local, who.clone());
            let skipped = if *surely { Vec::new() } else { ways.clone() };
            let mut after = self.block(body, ways)?;
            after.extend(skipped.into_iter().filter(|way| !after.contains(way)).collect::<Vec<_>>());
            ways = after;
        }
        self.who.remove(&local);
        self.who.extend(before.map(|before| (local, before)));
        Some(ways)
    }

    fn domain(&mut self, domain: &Domain, way: &RulePath) {
        match domain {
            Domain::Type(_) => {}
            Domain::Range { from, to, by } => {
                [from, to, by].into_iter().for_each(|bound| drop(self.value(bound, way)));
            }
            Domain::Slots(place) => self.indices(place, way),
        }
    }

    fn indices(&mut self, place: &Place, way: &RulePath) {
        for step in &place.path {
            match step {
                Projection::Field(_) => {}
                Projection::Index(at) | Projection::Slot(at) | Projection::Item(at) => {
                    self.value(at, way);
                }
            }
        }
    }

    fn whose(&mut self, element: Option<&Expr>, way: &RulePath) -> PartOwner {
        match element.map(|element| self.value(element, way)) {
            None | Some(KnownValue::Me) => PartOwner::Mine,
            Some(KnownValue::Other) => PartOwner::Others,
            Some(KnownValue::Nothing | KnownValue::Value(_)) => PartOwner::Somebodys,
        }
    }

    fn write(&mut self, place: &Place, value: KnownValue, mut way: RulePath) -> Vec<RulePath> {
        if let Root::Local(local) = place.root {
            if place.path.is_empty() {
                self.who.insert(local, KnownValue::Nothing);
            }
            return vec![way];
        }
        let (follow, parts) = (self.follow, self.follow.parts);
        let element = element(place);
        let (under, is_part) = follow.at(place);
        let whole = !is_part;
        let mut out = Vec::new();
        for &part in under {
            // All entries of an array at once: also mine.
            let whose = match (element, parts.all[part].of) {
                (Some(element), Some(_)) => self.whose(Some(element), &way),
                _ => PartOwner::Mine,
            };
            if whose == PartOwner::Others {
                continue;
            }
            if part == self.part {
                way.written |= whose == PartOwner::Mine;
            }
            if let Some(at) = self.controls.iter().position(|it| *it == part) {
                let now = match (&value, whole) {
                    (KnownValue::Value(value), false) => Some(value.clone()),
                    _ => None,
                };
                if whose == PartOwner::Somebodys && way.controls[at] != now {
                    out.push(way.clone());
                }
                way.controls[at] = now;
            }
        }
        out.push(way);
        out
    }

    fn truth(&mut self, expr: &Expr, way: &RulePath) -> Option<bool> {
        match self.value(expr, way) {
            KnownValue::Value(Value::Bool(truth)) => Some(truth),
            _ => None,
        }
    }

    fn value(&mut self, expr: &Expr, way: &RulePath) -> KnownValue {
        let truth =
            |truth: Option<bool>| truth.map_or(KnownValue::Nothing, |it| KnownValue::Value(Value::Bool(it)));
        match &expr.kind {
            ExprKind::Const(Value::Elem(..)) => KnownValue::Nothing,
            ExprKind::Const(value) => KnownValue::Value(value.clone()),
            ExprKind::Read(place) | ExprKind::Peek(place) => self.place(place, way),
            ExprKind::Unary(UnaryOp::Not, of) => truth(self.truth(of, way).map(|it| !it)),
            ExprKind::Equal(a, b) => {
                let (a, b) = (self.value(a, way), self.value(b, way));
                truth(match (a, b) {
                    (KnownValue::Value(a), KnownValue::Value(b)) => Some(a == b),
                    (KnownValue::Me, KnownValue::Me) => Some(true),
                    (KnownValue::Me, KnownValue::Other) | (KnownValue::Other, KnownValue::Me) => Some(false),
                    _ => None,
                })
            }
            ExprKind::And(of) => truth(self.junction(of, false, way)),
            ExprKind::Or(of) => truth(self.junction(of, true, way)),
            ExprKind::Implies(a, b) => truth(match self.truth(a, way) {
                Some(false) => Some(true),
                Some(true) => self.truth(b, way),
                None => self.truth(b, way).filter(|it| *it),
            }),
            ExprKind::Cond(condition, then, other) => match self.truth(condition, way) {
                Some(true) => self.value(then, way),
                Some(false) => self.value(other, way),
                None => {
                    let (then, other) = (self.value(then, way), self.value(other, way));
                    if then == other && then != KnownValue::Other { then } else { KnownValue::Nothing }
                }
            },
            ExprKind::Quantified { local, domain, body, .. } => {
                self.domain(domain, way);
                let before = self.who.remove(local);
                for who in [KnownValue::Me, KnownValue::Other, KnownValue::Nothing] {
                    self.who.insert(*local, who);
                    self.value(body, way);
                }
                self.who.remove(local);
                self.who.extend(before.map(|before| (*local, before)));
                KnownValue::Nothing
            }
            ExprKind::Binary(_, a, b) => {
                self.value(a, way);
                self.value(b, way);
                KnownValue::Nothing
            }
            ExprKind::Unary(UnaryOp::Neg | UnaryOp::BitNot, of)
            | ExprKind::IsMember(of, _)
            | ExprKind::Ordinal(of)
            | ExprKind::ElementAt(_, of)
            | ExprKind::Entry(_, of)
            | ExprKind::Exists(of) => {
                self.value(of, way);
                KnownValue::Nothing
            }
            ExprKind::IsUndefined(place) | ExprKind::Len(place) => {
                self.place(place, way);
                KnownValue::Nothing
            }
            ExprKind::Call(_, arguments) => {
                for argument in arguments {
                    match argument {
                        Argument::Place(place) => drop(self.place(place, way)),
                        Argument::Value(value) => drop(self.value(value, way)),
                    }
                }
                KnownValue::Nothing
            }
        }
    }

    /// Until one has the value that decides.
    fn junction(&mut self, of: &[Expr], decides: bool, way: &RulePath) -> Option<bool> {
        let mut sure = true;
        for operand in of {
            match self.truth(operand, way) {
                Some(truth) if truth == decides => return Some(decides),
                Some(_) => {}
                None => sure = false,
            }
        }
        sure.then_some(!decides)
    }

    fn place(&mut self, place: &Place, way: &RulePath) -> KnownValue {
        self.indices(place, way);
        if let Root::Local(local) = place.root {
            return match place.path.is_empty() {
                true => self.who.get(&local).cloned().unwrap_or(KnownValue::Nothing),
                false => KnownValue::Nothing,
            };
        }
        let (&[part], true) = self.follow.at(place) else {
            self.read |= self.follow.at(place).0.contains(&self.part) && !way.written;
            return KnownValue::Nothing;
        };
        let whose = self.whose(element(place), way);
        if part == self.part {
            self.read |= whose != PartOwner::Others && !(way.written && whose == PartOwner::Mine);
        }
        match self.controls.iter().position(|it| *it == part) {
            Some(at) if whose == PartOwner::Mine => {
                way.controls[at].clone().map_or(KnownValue::Nothing, KnownValue::Value)
            }
            _ => KnownValue::Nothing,
        }
    }
}

/// The expression for the element whose part a place is.
fn element(place: &Place) -> Option<&Expr> {
    place.path.iter().find_map(|step| match step {
        Projection::Index(element) => Some(element),
        _ => None,
    })
}
