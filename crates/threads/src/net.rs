//! Petri nets, from any format, to a Model: each place is a counter without bound.

use std::collections::{BTreeMap, HashMap};

use shoal_model::{BinaryOp, Condition, Expr, LocalId, Model, Property, PropertyKind, Stmt, Type, VarId};
use shoal_syntax::{Advice, Diagnostic, Diagnostics, Span};

use crate::{
    Options, codes,
    make::{Maker, RuleLocals},
    mcc::NetQuestion,
    questions::{self, AskedNet},
};

/// A net as its source says it. Places are numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Net {
    pub(crate) places: Vec<(String, Span)>,
    pub(crate) rules: Vec<NetTransition>,
    /// What each place holds in the beginning.
    pub(crate) init: Vec<TokenBounds>,
    /// Each is a list of what must hold at once.
    pub(crate) targets: Vec<Vec<(usize, TokenBounds)>>,
    pub(crate) target_span: Span,
    /// What is asked besides, if no target is given.
    pub(crate) questions: Vec<NetQuestion>,
    pub(crate) names: NetNames,
}

/// By what questions call them: the numbers of places and of transitions.
#[derive(Clone, Debug, Default)]
pub(crate) struct NetNames {
    pub(crate) places: HashMap<String, usize>,
    pub(crate) rules: HashMap<String, usize>,
}

/// How many tokens: numbers that do not fit are refused where they are read.
pub(crate) type TokenCount = u32;

/// The largest number that a net may name. Those above have a meaning of their own in the engine.
const LARGEST: TokenCount = TokenCount::MAX - 2;

/// A number of tokens, if it is not too large.
pub(crate) fn tokens(number: &str, span: Span) -> Result<TokenCount, Box<Diagnostic>> {
    match number.trim().parse::<TokenCount>() {
        Ok(count) if count <= LARGEST => Ok(count),
        _ => Err(too_large(number.trim(), span)),
    }
}

/// The sum of two numbers of tokens, if it is not too large.
pub(crate) fn sum(one: TokenCount, other: TokenCount, span: Span) -> Result<TokenCount, Box<Diagnostic>> {
    let sum = u64::from(one) + u64::from(other);
    TokenCount::try_from(sum).ok().filter(|sum| *sum <= LARGEST).ok_or_else(|| too_large(sum, span))
}

fn too_large(number: impl std::fmt::Display, span: Span) -> Box<Diagnostic> {
    let message = format!("the number {number} is too large: the largest is {LARGEST}");
    Box::new(Diagnostic::error(codes::NUMBER, span, message))
}

/// From, and up to where there is an end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TokenBounds {
    pub(crate) least: TokenCount,
    pub(crate) most: Option<TokenCount>,
}

impl TokenBounds {
    pub(crate) fn exactly(value: TokenCount) -> TokenBounds {
        TokenBounds { least: value, most: Some(value) }
    }

    pub(crate) fn at_most(value: TokenCount) -> TokenBounds {
        TokenBounds { least: 0, most: Some(value) }
    }

    pub(crate) fn at_least(value: TokenCount) -> TokenBounds {
        TokenBounds { least: value, most: None }
    }
}

/// A transition.
#[derive(Clone, Debug)]
pub(crate) struct NetTransition {
    pub(crate) name: String,
    pub(crate) guard: Vec<(usize, TokenBounds)>,
    /// What a place holds after: the sum of what these held before, and a constant.
    pub(crate) updates: Vec<(usize, Vec<usize>, i64)>,
    pub(crate) span: Span,
}

/// The most that a counter can hold: as good as anything.
pub(crate) const MOST: i64 = i64::MAX - 1;

/// Makes the Model.
pub(crate) fn lower(
    mut net: Net,
    whole: Span,
    options: &Options,
    diagnostics: &mut Diagnostics,
) -> Option<Model> {
    settings(&mut net, whole, options, diagnostics);
    if let Some(target) = &options.target {
        match parse_target(target, &net.places, whole) {
            Ok(target) => net.targets = vec![target],
            Err(error) => diagnostics.push(*error),
        }
        net.target_span = whole;
        net.questions.clear();
    }
    if net.targets.is_empty() && net.questions.is_empty() && !diagnostics.has_errors() {
        let message = "nothing is asked: the net has no target";
        let advice = Advice::TargetOfNet(EXAMPLE);
        diagnostics.push(Diagnostic::error(codes::NO_TARGET, whole, message).advise(advice));
    }
    if diagnostics.has_errors() {
        return None;
    }
    let mut maker = Maker::new(whole);
    let counter = maker.ty(Type::Int { lo: 0, hi: MOST });
    let vars: Vec<VarId> = net.places.iter().map(|(name, span)| maker.at(*span).var(name, counter)).collect();
    maker.at(whole);
    start(&mut maker, &net, &vars, whole);
    for rule in &net.rules {
        if let Err(error) = lower_rule(&mut maker, rule, &vars, counter) {
            diagnostics.push(*error);
            return None;
        }
    }
    for question in &net.questions {
        let asked =
            questions::property(maker.at(question.span), question, &AskedPlainNet { net: &net, vars: &vars });
        maker.model.properties.push(asked);
    }
    if net.targets.is_empty() {
        return Some(maker.model);
    }
    maker.at(net.target_span);
    let one = |target: &Vec<(usize, TokenBounds)>| {
        maker.and(target.iter().flat_map(|(place, bounds)| within(&maker, vars[*place], *bounds)).collect())
    };
    let targets = net.targets.iter().map(one).collect();
    let condition = Condition { locals: Default::default(), expr: maker.not(maker.or(targets)) };
    let name = "the target is unreachable".into();
    let property = Property { name, kind: PropertyKind::Invariant(condition), span: net.target_span };
    maker.model.properties.push(property);
    Some(maker.model)
}

/// A net, and the counters of its places.
struct AskedPlainNet<'n> {
    net: &'n Net,
    vars: &'n [VarId],
}

impl AskedNet for AskedPlainNet<'_> {
    fn tokens(&self, maker: &Maker, place: usize) -> Expr {
        maker.read(maker.global(self.vars[place]))
    }

    fn enabled(&self, maker: &Maker, _: &mut RuleLocals, rule: usize) -> Expr {
        let guard = self.net.rules[rule].guard.iter();
        maker.and(guard.flat_map(|(place, bounds)| within(maker, self.vars[*place], *bounds)).collect())
    }
}

/// Initial values from the command line.
fn settings(net: &mut Net, whole: Span, options: &Options, diagnostics: &mut Diagnostics) {
    for (name, value) in &options.set {
        let place = net.places.iter().position(|(known, _)| known == name);
        let bounds = match value {
            None => Ok(TokenBounds::at_least(0)),
            Some(value) => tokens(&value.to_string(), whole).map(TokenBounds::exactly),
        };
        match (place, bounds) {
            (Some(place), Ok(bounds)) => net.init[place] = bounds,
            (None, _) => {
                let message = format!("there is no place `{name}` of the net to set");
                diagnostics.push(Diagnostic::error(codes::BAD_SETTING, whole, message));
            }
            (_, Err(_)) => {
                let message = format!("`{name}` cannot hold {} tokens", value.unwrap_or_default());
                diagnostics.push(Diagnostic::error(codes::BAD_SETTING, whole, message));
            }
        }
    }
}

/// What a target of a net looks like.
pub(crate) const EXAMPLE: &str = "place>=1,other>=2";

/// `p>=1,q>=2`.
pub(crate) fn parse_target(
    text: &str,
    places: &[(String, Span)],
    whole: Span,
) -> Result<Vec<(usize, TokenBounds)>, Box<Diagnostic>> {
    let wrong = |message: String| {
        let advice = Advice::FormOfTarget(EXAMPLE);
        Box::new(Diagnostic::error(codes::UNEXPECTED, whole, message).advise(advice))
    };
    let part = |part: &str| {
        let (name, count) = part.split_once(">=").ok_or_else(|| wrong(format!("{part:?} is no target")))?;
        let count = count.trim();
        if count.is_empty() || !count.bytes().all(|digit| digit.is_ascii_digit()) {
            return Err(wrong(format!("{count:?} is no number")));
        }
        let count = tokens(count, whole)?;
        let place = places.iter().position(|(known, _)| known == name.trim());
        let place = place.ok_or_else(|| wrong(format!("the net has no place {:?}", name.trim())))?;
        Ok((place, TokenBounds::at_least(count)))
    };
    text.split(',').map(part).collect()
}

/// What must hold of a counter.
fn within(maker: &Maker, var: VarId, bounds: TokenBounds) -> Vec<Expr> {
    let read = || maker.read(maker.global(var));
    let least =
        (bounds.least > 0).then(|| maker.binary(BinaryOp::Ge, read(), maker.number(i64::from(bounds.least))));
    let most = bounds.most.map(|most| maker.binary(BinaryOp::Le, read(), maker.number(i64::from(most))));
    least.into_iter().chain(most).collect()
}

fn start(maker: &mut Maker, net: &Net, vars: &[VarId], whole: Span) {
    let mut head = RuleLocals::default();
    let mut body: Vec<Stmt> = Vec::new();
    let mut open = Vec::new();
    for (place, bounds) in net.init.iter().enumerate() {
        let value = match bounds.most {
            Some(most) if most == bounds.least => maker.number(i64::from(most)),
            most => {
                let name = &net.places[place].0;
                let to = maker.number(most.map_or(MOST, i64::from));
                let domain = maker.range(maker.number(i64::from(bounds.least)), to);
                let local: LocalId = head.param(name, maker.integer, domain, whole);
                if most.is_none() {
                    open.push(name.as_str());
                }
                maker.read(maker.local(local, maker.integer))
            }
        };
        body.push(maker.assign(maker.global(vars[place]), value));
    }
    let name = match open[..] {
        [] => "the initial marking".into(),
        _ if open.len() > 6 => format!("any number of tokens in {} places", open.len()),
        _ => format!("any number of tokens in {}", open.join(", ")),
    };
    let rule = maker.rule(&name, head, None, body);
    maker.model.starts.push(rule);
}

fn lower_rule(
    maker: &mut Maker,
    rule: &NetTransition,
    vars: &[VarId],
    counter: shoal_model::TypeId,
) -> Result<(), Box<Diagnostic>> {
    maker.at(rule.span);
    let mut bounds: BTreeMap<usize, TokenBounds> = BTreeMap::new();
    for (place, more) in &rule.guard {
        let known = bounds.entry(*place).or_default();
        known.least = known.least.max(more.least);
        known.most = known.most.into_iter().chain(more.most).min();
    }
    // A place from which more is taken than the guard asks for must hold as much.
    for (place, sum, constant) in rule.updates.iter().filter(|update| update.2 < 0) {
        let taken = tokens(&constant.unsigned_abs().to_string(), rule.span)?;
        if sum == &[*place] {
            let known = bounds.entry(*place).or_default();
            known.least = known.least.max(taken);
            continue;
        }
        // From a sum more can be taken than one of its parts has, and then nobody says from which.
        let there: u64 =
            sum.iter().map(|from| bounds.get(from).map_or(0, |known| u64::from(known.least))).sum();
        if there < u64::from(taken) {
            let message =
                format!("not supported: {taken} taken from a sum of which the guard ensures {there}");
            return Err(Box::new(Diagnostic::error(codes::UNSUPPORTED, rule.span, message)));
        }
    }
    let mut head = RuleLocals::default();
    let mut body = Vec::new();
    let mut old: BTreeMap<usize, LocalId> = BTreeMap::new();
    for (place, sum, _) in &rule.updates {
        for from in sum.iter().filter(|from| *from != place) {
            // What is read elsewhere is noted before anything changes.
            old.entry(*from).or_insert_with(|| {
                let local = head.variable(&format!("old_{from}"), counter, rule.span);
                body.push(maker.assign(maker.local(local, counter), maker.read(maker.global(vars[*from]))));
                local
            });
        }
    }
    for (place, sum, constant) in &rule.updates {
        let mut value: Option<Expr> = None;
        for from in sum {
            let read = match old.get(from) {
                Some(local) if from != place => maker.read(maker.local(*local, counter)),
                _ => maker.read(maker.global(vars[*from])),
            };
            value =
                Some(value.map_or(read.clone(), |value| maker.binary(BinaryOp::Add, value, read.clone())));
        }
        let value = match (value, *constant) {
            (None, constant) => maker.number(constant),
            (Some(value), 0) => value,
            (Some(value), constant) if constant > 0 => {
                maker.binary(BinaryOp::Add, value, maker.number(constant))
            }
            (Some(value), constant) => {
                maker.binary(BinaryOp::Sub, value, maker.number(constant.saturating_neg()))
            }
        };
        body.push(maker.assign(maker.global(vars[*place]), value));
    }
    let trivial = |bounds: &TokenBounds| *bounds == TokenBounds::default();
    let parts = bounds.iter().filter(|(_, bounds)| !trivial(bounds));
    let parts: Vec<Expr> = parts.flat_map(|(place, bounds)| within(maker, vars[*place], *bounds)).collect();
    let guard = (!parts.is_empty()).then(|| maker.and(parts));
    let rule = maker.rule(&rule.name, head, guard, body);
    maker.model.rules.push(rule);
    Ok(())
}
