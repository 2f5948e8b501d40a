//! Symmetric nets to a Model: a class of colours is a sort, a place an array of counters, a transition a rule with parameters.
//!
//! Nothing is unfolded, so colours that nobody orders are interchangeable. A class whose colours have neighbours, or are compared by
//! their order, is a range of numbers instead.

use std::collections::{BTreeMap, BTreeSet};

use shoal_model::{
    BinaryOp, Condition, Domain, Expr, ExprKind, LocalId, Model, Place, Projection, Property, PropertyKind,
    Quantifier, SortSize, Stmt, StmtKind, Type, TypeId, Value, VarId,
};
use shoal_syntax::{Advice, Diagnostic, Diagnostics, Span};

use crate::{
    Options, codes,
    make::{Maker, RuleLocals},
    mcc::NetQuestion,
    net::{EXAMPLE, MOST, NetNames, TokenBounds, parse_target},
    questions::{self, AskedNet},
};

/// A symmetric net as its source says it. Classes, variables, places and transitions are numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct ColouredNet {
    pub(crate) classes: Vec<ColouredClass>,
    /// Names, and classes.
    pub(crate) variables: Vec<(String, usize)>,
    pub(crate) places: Vec<ColouredPlace>,
    pub(crate) transitions: Vec<ColouredTransition>,
    pub(crate) names: NetNames,
    pub(crate) questions: Vec<NetQuestion>,
}

/// A class of colours.
#[derive(Clone, Debug)]
pub(crate) struct ColouredClass {
    pub(crate) name: String,
    pub(crate) span: Span,
    pub(crate) kind: ColourKind,
    pub(crate) size: u32,
    /// Whether something depends on the order of colours.
    pub(crate) is_ordered: bool,
    /// Whether a colour is named, other than by a variable.
    pub(crate) has_named: bool,
}

/// What the colours of a class are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColourKind {
    /// Names.
    Names,
    /// Names in a circle: each has a successor.
    Circle,
    /// Numbers, from this one on.
    Numbers(i64),
}

#[derive(Clone, Debug)]
pub(crate) struct ColouredPlace {
    pub(crate) name: String,
    pub(crate) span: Span,
    /// The classes that a colour of this place consists of.
    pub(crate) domain: Vec<usize>,
    pub(crate) marking: Vec<Addend>,
}

#[derive(Clone, Debug)]
pub(crate) struct ColouredTransition {
    pub(crate) name: String,
    pub(crate) span: Span,
    pub(crate) variables: BTreeSet<usize>,
    pub(crate) condition: Option<ColourCondition>,
    /// What it takes from places and gives to them; each place at most once on a side.
    pub(crate) take: Vec<(usize, Vec<Addend>)>,
    pub(crate) give: Vec<(usize, Vec<Addend>)>,
}

/// So many tokens of each of these colours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Addend {
    pub(crate) coefficient: i64,
    pub(crate) tuple: Vec<ColourTerm>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ColourTerm {
    Variable(usize),
    Constant(u32),
    /// So many places further in its class, which is a circle.
    Shifted(Box<ColourTerm>, i64),
    /// Every colour.
    All,
}

#[derive(Clone, Debug)]
pub(crate) enum ColourCondition {
    And(Vec<ColourCondition>),
    Or(Vec<ColourCondition>),
    Not(Box<ColourCondition>),
    /// Colours of a class.
    Compare(ColourOrder, usize, ColourTerm, ColourTerm),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColourOrder {
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

type Lowered<T> = Result<T, Box<Diagnostic>>;

/// Makes the Model.
pub(crate) fn lower(
    net: ColouredNet,
    whole: Span,
    options: &Options,
    diagnostics: &mut Diagnostics,
) -> Option<Model> {
    match lowered(net, whole, options) {
        Ok(model) if !diagnostics.has_errors() => Some(model),
        Ok(_) => None,
        Err(error) => {
            diagnostics.push(*error);
            None
        }
    }
}

fn lowered(mut net: ColouredNet, whole: Span, options: &Options) -> Lowered<Model> {
    let names: Vec<(String, Span)> = net.places.iter().map(|it| (it.name.clone(), it.span)).collect();
    let target = options.target.as_ref().map(|target| parse_target(target, &names, whole)).transpose()?;
    let questions = std::mem::take(&mut net.questions);
    if target.is_none() && questions.is_empty() {
        let message = "nothing is asked: the net has no target";
        let advice = Advice::TargetOfNet(EXAMPLE);
        return Err(Box::new(Diagnostic::error(codes::NO_TARGET, whole, message).advise(advice)));
    }
    let mut asked: BTreeSet<usize> = target.iter().flatten().map(|(place, _)| *place).collect();
    if target.is_none() {
        asked.extend(questions.iter().flat_map(NetQuestion::places));
    }
    let mut lowering = Lowering::new(&net, &asked, whole, options)?;
    lowering.start(whole)?;
    for transition in &net.transitions {
        lowering.rule(transition)?;
    }
    match target {
        Some(target) => lowering.target(&target, whole),
        None => {
            for question in &questions {
                lowering.maker.at(question.span);
                let property = questions::property(&lowering.maker, question, &lowering);
                lowering.maker.model.properties.push(property);
            }
        }
    }
    Ok(lowering.maker.model)
}

/// A Model in the making.
struct Lowering<'n> {
    net: &'n ColouredNet,
    maker: Maker,
    counter: TypeId,
    /// The type of the colours of each class, and how many there are: nothing if any number.
    classes: Vec<(TypeId, Option<u32>)>,
    vars: Vec<VarId>,
    /// For places with colours that are asked about: all their tokens.
    totals: BTreeMap<usize, VarId>,
}

/// What stands for the variables of a transition.
type ColourLocals = BTreeMap<usize, LocalId>;

impl<'n> Lowering<'n> {
    fn new(
        net: &'n ColouredNet,
        asked: &BTreeSet<usize>,
        whole: Span,
        options: &Options,
    ) -> Lowered<Lowering<'n>> {
        let mut maker = Maker::new(whole);
        let sizes = sizes(net, whole, options)?;
        let mut classes = Vec::new();
        for (class, size) in net.classes.iter().zip(sizes) {
            maker.at(class.span);
            let ty = match size {
                Some(size) if class.is_ordered => maker.ty(Type::Int { lo: 0, hi: i64::from(size) - 1 }),
                size => {
                    let size = size.map_or(SortSize::Any, SortSize::Fixed);
                    // Elements are shown by their numbers, where these are not negative.
                    let first = match class.kind {
                        ColourKind::Numbers(first) => u32::try_from(first).unwrap_or(1),
                        ColourKind::Names | ColourKind::Circle => 1,
                    };
                    maker.sort(&class.name, size, first).1
                }
            };
            classes.push((ty, size));
        }
        let counter = maker.ty(Type::Int { lo: 0, hi: MOST });
        let mut vars = Vec::new();
        let mut totals = BTreeMap::new();
        for (number, place) in net.places.iter().enumerate() {
            maker.at(place.span);
            let array = |element: TypeId, class: &usize| {
                let index = classes[*class].0;
                maker.ty(Type::Array { index, element })
            };
            let ty = place.domain.iter().rev().fold(counter, array);
            vars.push(maker.var(&place.name, ty));
            if asked.contains(&number) && !place.domain.is_empty() {
                totals.insert(number, maker.var(&format!("tokens in {}", place.name), counter));
            }
        }
        Ok(Lowering { net, maker, counter, classes, vars, totals })
    }

    fn start(&mut self, whole: Span) -> Lowered<()> {
        let net = self.net;
        self.maker.at(whole);
        let mut head = RuleLocals::default();
        let mut body = Vec::new();
        let none = ColourLocals::new();
        for (number, place) in net.places.iter().enumerate() {
            let everywhere = vec![ColourTerm::All; place.domain.len()];
            body.push(
                self.each(&mut head, number, &everywhere, &none, |lowering, _| lowering.maker.number(0)),
            );
            if let Some(total) = self.totals.get(&number) {
                body.push(self.maker.assign(self.maker.global(*total), self.maker.number(0)));
            }
            is_there(&place.marking, place.span)?;
            self.effect(&mut head, &mut body, number, &place.marking, &none, place.span)?;
        }
        let rule = self.maker.rule("the initial marking", head, None, body);
        self.maker.model.starts.push(rule);
        Ok(())
    }

    fn rule(&mut self, transition: &ColouredTransition) -> Lowered<()> {
        self.maker.at(transition.span);
        let mut head = RuleLocals::default();
        let mut locals = ColourLocals::new();
        for variable in &transition.variables {
            let (name, class) = &self.net.variables[*variable];
            let ty = self.classes[*class].0;
            locals.insert(*variable, head.param(name, ty, Domain::Type(ty), transition.span));
        }
        let guard = self.guard(transition, &mut head, &locals);
        let mut body = Vec::new();
        for (_, bag) in transition.take.iter().chain(&transition.give) {
            is_there(bag, transition.span)?;
        }
        for (place, bag) in effects(transition) {
            self.effect(&mut head, &mut body, place, &bag, &locals, transition.span)?;
        }
        let rule = self.maker.rule(&transition.name, head, Some(guard), body);
        self.maker.model.rules.push(rule);
        Ok(())
    }

    /// Whether a transition can fire with these colours.
    fn guard(&self, transition: &ColouredTransition, head: &mut RuleLocals, locals: &ColourLocals) -> Expr {
        let condition = transition.condition.iter().map(|condition| self.condition(condition, locals));
        let mut parts: Vec<Expr> = condition.collect();
        for (place, bag) in &transition.take {
            parts.push(self.enough(*place, bag, head, locals));
        }
        self.maker.and(parts)
    }

    /// Whether a place has all tokens of a bag.
    fn enough(&self, place: usize, bag: &[Addend], head: &mut RuleLocals, locals: &ColourLocals) -> Expr {
        let domain = &self.net.places[place].domain;
        let is_plain = |addend: &Addend| addend.coefficient > 0 && !addend.tuple.contains(&ColourTerm::All);
        if bag.iter().all(is_plain) {
            // Each colour by itself, with others that happen to be the same.
            let parts = bag.iter().map(|addend| {
                let colour = self.colours(domain, &addend.tuple, locals);
                let needed = self.needed(domain, bag, &colour, locals);
                self.maker.binary(BinaryOp::Ge, self.tokens_of(place, colour), needed)
            });
            return self.maker.and(parts.collect());
        }
        // Every colour there is.
        let bound: Vec<(LocalId, TypeId)> = domain
            .iter()
            .map(|class| {
                let ty = self.classes[*class].0;
                (head.bound(&self.net.classes[*class].name, ty, self.net.places[place].span), ty)
            })
            .collect();
        let colour: Vec<Expr> =
            bound.iter().map(|(local, ty)| self.maker.read(self.maker.local(*local, *ty))).collect();
        let needed = self.needed(domain, bag, &colour, locals);
        let enough = self.maker.binary(BinaryOp::Ge, self.tokens_of(place, colour), needed);
        bound.iter().rev().fold(enough, |body, (local, ty)| {
            self.maker.quantified(Quantifier::Forall, *local, Domain::Type(*ty), body)
        })
    }

    /// How many tokens of a colour are in a bag.
    fn needed(&self, domain: &[usize], bag: &[Addend], colour: &[Expr], locals: &ColourLocals) -> Expr {
        let mut sum: Option<Expr> = None;
        for addend in bag {
            let terms = addend.tuple.iter().zip(domain).zip(colour);
            let equal =
                terms.filter(|((term, _), _)| **term != ColourTerm::All).map(|((term, class), colour)| {
                    self.maker.equal(self.colour(*class, term, locals), colour.clone())
                });
            let equal: Vec<Expr> = equal.filter(|it| !is_same(it)).collect();
            let number = self.maker.number(addend.coefficient);
            let part = match equal.is_empty() {
                true => number,
                false => {
                    let none = self.maker.number(0);
                    let parts = (Box::new(self.maker.and(equal)), Box::new(number), Box::new(none));
                    self.maker.expr(ExprKind::Cond(parts.0, parts.1, parts.2), self.maker.integer)
                }
            };
            sum = Some(match sum {
                None => part,
                Some(sum) => self.maker.binary(BinaryOp::Add, sum, part),
            });
        }
        sum.unwrap_or_else(|| self.maker.number(0))
    }

    /// Adds a bag to a place. What is added goes before what is taken, so that no number is negative in between.
    fn effect(
        &self,
        head: &mut RuleLocals,
        body: &mut Vec<Stmt>,
        place: usize,
        bag: &[Addend],
        locals: &ColourLocals,
        span: Span,
    ) -> Lowered<()> {
        let (more, less): (Vec<_>, Vec<_>) = bag.iter().partition(|addend| addend.coefficient > 0);
        for addend in more.into_iter().chain(less) {
            let value = |lowering: &Self, before: Expr| lowering.changed(before, addend.coefficient);
            body.push(self.each(head, place, &addend.tuple, locals, value));
        }
        let Some(total) = self.totals.get(&place) else { return Ok(()) };
        let mut sum = 0i64;
        for addend in bag {
            let colours =
                self.colours_of(place, &addend.tuple).and_then(|it| it.checked_mul(addend.coefficient));
            sum = match colours.and_then(|colours| sum.checked_add(colours)) {
                Some(sum) => sum,
                None => {
                    let name = &self.net.places[place].name;
                    let message = format!(
                        "not supported: how many tokens there are in {name:?} when a class has any number of colours"
                    );
                    return Err(Box::new(Diagnostic::error(codes::UNSUPPORTED, span, message)));
                }
            };
        }
        if sum != 0 {
            let total = self.maker.global(*total);
            let value = self.changed(self.maker.read(total.clone()), sum);
            body.push(self.maker.assign(total, value));
        }
        Ok(())
    }

    fn changed(&self, before: Expr, by: i64) -> Expr {
        let op = if by < 0 { BinaryOp::Sub } else { BinaryOp::Add };
        self.maker.binary(op, before, self.maker.number(by.abs()))
    }

    /// How many colours a tuple stands for; nothing if any number.
    fn colours_of(&self, place: usize, tuple: &[ColourTerm]) -> Option<i64> {
        let classes = tuple.iter().zip(&self.net.places[place].domain);
        let all = classes.filter(|(term, _)| **term == ColourTerm::All);
        all.map(|(_, class)| self.classes[*class].1)
            .try_fold(1i64, |product, size| product.checked_mul(i64::from(size?)))
    }

    /// Gives the tokens of each of these colours a value.
    fn each(
        &self,
        head: &mut RuleLocals,
        place: usize,
        tuple: &[ColourTerm],
        locals: &ColourLocals,
        value: impl Fn(&Self, Expr) -> Expr,
    ) -> Stmt {
        let mut loops = Vec::new();
        let mut colour = Vec::new();
        for (term, class) in tuple.iter().zip(&self.net.places[place].domain) {
            if *term != ColourTerm::All {
                colour.push(self.colour(*class, term, locals));
                continue;
            }
            let ty = self.classes[*class].0;
            let local = head.bound(&self.net.classes[*class].name, ty, self.net.places[place].span);
            colour.push(self.maker.read(self.maker.local(local, ty)));
            loops.push((local, ty));
        }
        let at = self.entry(place, colour);
        let assign = self.maker.assign(at.clone(), value(self, self.maker.read(at)));
        loops.into_iter().rev().fold(assign, |body, (local, ty)| {
            self.maker.stmt(StmtKind::For { local, domain: Domain::Type(ty), body: vec![body] })
        })
    }

    fn entry(&self, place: usize, colour: Vec<Expr>) -> Place {
        let path = colour.into_iter().map(Projection::Index).collect();
        Place { path, ty: self.counter, ..self.maker.global(self.vars[place]) }
    }

    fn tokens_of(&self, place: usize, colour: Vec<Expr>) -> Expr {
        self.maker.read(self.entry(place, colour))
    }

    fn colours(&self, domain: &[usize], tuple: &[ColourTerm], locals: &ColourLocals) -> Vec<Expr> {
        domain.iter().zip(tuple).map(|(class, term)| self.colour(*class, term, locals)).collect()
    }

    /// One colour.
    fn colour(&self, class: usize, term: &ColourTerm, locals: &ColourLocals) -> Expr {
        let (ty, size) = self.classes[class];
        match term {
            ColourTerm::Variable(variable) => {
                let Some(local) = locals.get(variable) else {
                    shoal_model::internal!("a transition has all variables that it uses")
                };
                self.maker.read(self.maker.local(*local, ty))
            }
            ColourTerm::Constant(colour) => match self.maker.model.kind(ty) {
                Type::Ref { sort, .. } => self.maker.expr(ExprKind::Const(Value::Elem(*sort, *colour)), ty),
                _ => self.maker.number(i64::from(*colour)),
            },
            ColourTerm::Shifted(of, by) => {
                let Some(size) = size.map(i64::from) else {
                    shoal_model::internal!("a class whose colours have successors has a size")
                };
                let by = self.maker.number(by.rem_euclid(size));
                let moved = self.maker.binary(BinaryOp::Add, self.colour(class, of, locals), by);
                self.maker.binary(BinaryOp::Rem, moved, self.maker.number(size))
            }
            ColourTerm::All => shoal_model::internal!("every colour is not one colour"),
        }
    }

    fn condition(&self, condition: &ColourCondition, locals: &ColourLocals) -> Expr {
        let parts =
            |parts: &[ColourCondition]| parts.iter().map(|part| self.condition(part, locals)).collect();
        match condition {
            ColourCondition::And(of) => self.maker.and(parts(of)),
            ColourCondition::Or(of) => self.maker.or(parts(of)),
            ColourCondition::Not(of) => self.maker.not(self.condition(of, locals)),
            ColourCondition::Compare(order, class, left, right) => {
                let (left, right) = (self.colour(*class, left, locals), self.colour(*class, right, locals));
                match order {
                    ColourOrder::Equal => self.maker.equal(left, right),
                    ColourOrder::Unequal => self.maker.not(self.maker.equal(left, right)),
                    ColourOrder::Less => self.maker.binary(BinaryOp::Lt, left, right),
                    ColourOrder::AtMost => self.maker.binary(BinaryOp::Le, left, right),
                    ColourOrder::Greater => self.maker.binary(BinaryOp::Gt, left, right),
                    ColourOrder::AtLeast => self.maker.binary(BinaryOp::Ge, left, right),
                }
            }
        }
    }

    fn target(&mut self, target: &[(usize, TokenBounds)], whole: Span) {
        self.maker.at(whole);
        let at_least = |(place, bounds): &(usize, TokenBounds)| {
            let least = self.maker.number(i64::from(bounds.least));
            self.maker.binary(BinaryOp::Ge, self.tokens(&self.maker, *place), least)
        };
        let reached = self.maker.and(target.iter().map(at_least).collect());
        let condition = Condition { locals: Default::default(), expr: self.maker.not(reached) };
        let name = "the target is unreachable".into();
        let kind = PropertyKind::Invariant(condition);
        self.maker.model.properties.push(Property { name, kind, span: whole });
    }
}

impl AskedNet for Lowering<'_> {
    fn tokens(&self, maker: &Maker, place: usize) -> Expr {
        let var = match self.net.places[place].domain.is_empty() {
            true => self.vars[place],
            false => match self.totals.get(&place) {
                Some(total) => *total,
                None => shoal_model::internal!("the tokens of a place that is asked about are counted"),
            },
        };
        maker.read(maker.global(var))
    }

    fn enabled(&self, maker: &Maker, locals: &mut RuleLocals, rule: usize) -> Expr {
        let transition = &self.net.transitions[rule];
        let mut colours = ColourLocals::new();
        for variable in &transition.variables {
            let (name, class) = &self.net.variables[*variable];
            let local = locals.bound(name, self.classes[*class].0, transition.span);
            colours.insert(*variable, local);
        }
        let guard = self.guard(transition, locals, &colours);
        colours.iter().rev().fold(guard, |body, (variable, local)| {
            let ty = self.classes[self.net.variables[*variable].1].0;
            maker.quantified(Quantifier::Exists, *local, Domain::Type(ty), body)
        })
    }
}

/// How many colours each class has: as the net says, or as the command line does where no colour is named.
fn sizes(net: &ColouredNet, whole: Span, options: &Options) -> Lowered<Vec<Option<u32>>> {
    let mut sizes: Vec<Option<u32>> = net.classes.iter().map(|it| Some(it.size)).collect();
    let wrong = |message: String| Err(Box::new(Diagnostic::error(codes::BAD_SETTING, whole, message)));
    for (name, value) in &options.set {
        let Some(class) = net.classes.iter().position(|class| class.name == *name) else {
            return wrong(format!("there is no class `{name}` of the net to set"));
        };
        if net.classes[class].has_named {
            return wrong(format!("the net names colours of `{name}`, so there are as many as it says"));
        }
        sizes[class] = match value {
            None if net.classes[class].is_ordered => {
                return wrong(format!("the colours of `{name}` have an order: there cannot be any number"));
            }
            None => None,
            Some(value) => match u32::try_from(*value) {
                Ok(size) if (1..100_000).contains(&size) => Some(size),
                _ => return wrong(format!("`{name}` cannot have {value} colours")),
            },
        };
    }
    Ok(sizes)
}

/// What a transition adds to each place that it changes: what it gives without what it takes.
fn effects(transition: &ColouredTransition) -> BTreeMap<usize, Vec<Addend>> {
    let mut sums: BTreeMap<usize, BTreeMap<Vec<ColourTerm>, i64>> = BTreeMap::new();
    for (side, sign) in [(&transition.give, 1), (&transition.take, -1)] {
        for (place, bag) in side {
            for addend in bag {
                *sums.entry(*place).or_default().entry(addend.tuple.clone()).or_default() +=
                    sign * addend.coefficient;
            }
        }
    }
    let bag = |sums: BTreeMap<Vec<ColourTerm>, i64>| {
        let changed = sums.into_iter().filter(|(_, coefficient)| *coefficient != 0);
        changed.map(|(tuple, coefficient)| Addend { coefficient, tuple }).collect()
    };
    sums.into_iter().map(|(place, sums)| (place, bag(sums))).collect()
}

/// Refuses a bag that may take away what it does not have: each part that is taken away has to lie in one that is there.
fn is_there(bag: &[Addend], span: Span) -> Lowered<()> {
    let mut left: Vec<(i64, &[ColourTerm])> =
        bag.iter().filter(|it| it.coefficient > 0).map(|it| (it.coefficient, &it.tuple[..])).collect();
    for addend in bag.iter().filter(|addend| addend.coefficient < 0) {
        let lies_in = |tuple: &[ColourTerm]| {
            let mut terms = tuple.iter().zip(&addend.tuple);
            terms.all(|(whole, part)| whole == part || *whole == ColourTerm::All)
        };
        let needed = -addend.coefficient;
        let Some(from) = left.iter_mut().find(|(there, tuple)| *there >= needed && lies_in(tuple)) else {
            let message = "not supported: a term that may take away more than it has";
            return Err(Box::new(Diagnostic::error(codes::UNSUPPORTED, span, message)));
        };
        from.0 -= needed;
    }
    Ok(())
}

/// Whether both sides of an equation are written alike.
fn is_same(equation: &Expr) -> bool {
    matches!(&equation.kind, ExprKind::Equal(left, right) if left.kind == right.kind)
}
