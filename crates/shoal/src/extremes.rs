//! The least and greatest value of something in the states in which a condition holds.
//!
//! Engines tell whether a state can be reached, so a value is found by bounds on it: how far is it reached? Bounds that grow are
//! asked for until one is not reached, then those between the last two. What a bound adds to a model are constants that clocks are
//! compared with, and engines are exact about those.
//!
//! Bounds that grow for ever are found before: a clock has no greatest value if and only if, from some state that can be reached,
//! time can diverge without the clock being set, and all that time a state that counts can be reached without setting it. (There
//! are finitely many regions, so a run that lets the clock grow beyond all of them comes back to one, after at least a unit of
//! time.) A clock that is beyond every value that it is ever set to has not been set, which a formula can say. A state that counts
//! may be one where time ends, and such states are on no run that the formula speaks of: so whoever counts may leave for where time
//! goes on.

use shoal_model::{
    BinaryOp, Code, Condition, Expr, ExprKind, Extreme, Formula, Interval, Logic, Model, Node, Observer,
    OnlyProgress, Place, Property, PropertyId, PropertyKind, Root, Rule, Runs, Statistics, Stmt, StmtKind,
    StopReason, Type, UnaryOp, Value, Var, Verdict, walk_code,
};

use crate::{CheckOptions, Checkpoints, Error, Loaded, check};

/// What was found out about a value.
pub(crate) struct ExtremeFound {
    pub(crate) verdict: Verdict,
    /// The value.
    pub(crate) words: Option<String>,
    /// What it took: of the last question.
    pub(crate) statistics: Statistics,
}

/// Values of integers beyond this are not told.
const FARTHEST: i64 = 1 << 40;
/// A clock that gets so far is asked whether there is an end to it.
const FAR: i64 = 16;
/// Bounds that are asked for at once.
const AT_ONCE: i64 = 8;

/// Why a value is not known.
enum ExtremeLost {
    Stopped(StopReason),
    Error(Error),
}

type ExtremeResult<T> = Result<T, ExtremeLost>;

impl From<Error> for ExtremeLost {
    fn from(error: Error) -> ExtremeLost {
        ExtremeLost::Error(error)
    }
}

fn lost<T>(why: impl Into<String>) -> ExtremeResult<T> {
    Err(ExtremeLost::Stopped(StopReason::Unsupported(why.into())))
}

/// Finds a value that is asked for.
pub(crate) fn find(
    loaded: &Loaded,
    property: PropertyId,
    options: &CheckOptions,
    observer: &mut dyn Observer,
) -> Result<ExtremeFound, Error> {
    let PropertyKind::Extreme(extreme) = &loaded.model.properties[property].kind else {
        return Err(Error::Internal("a value is looked for that nobody asks for".into()));
    };
    let mut seeker = Seeker { loaded, extreme, options, observer, statistics: Statistics::default() };
    let value = seeker.value();
    let statistics = seeker.statistics;
    match value {
        Ok(words) => Ok(ExtremeFound { verdict: Verdict::Holds, words: Some(words), statistics }),
        Err(ExtremeLost::Stopped(reason)) => {
            Ok(ExtremeFound { verdict: Verdict::Unknown(reason), words: None, statistics })
        }
        Err(ExtremeLost::Error(error)) => Err(error),
    }
}

struct Seeker<'a> {
    loaded: &'a Loaded,
    extreme: &'a Extreme,
    options: &'a CheckOptions,
    observer: &'a mut dyn Observer,
    statistics: Statistics,
}

impl Seeker<'_> {
    fn value(&mut self) -> ExtremeResult<String> {
        if !self.is_reached(self.extreme.given())? {
            return Ok("no state that can be reached satisfies the condition".into());
        }
        match (self.loaded.model.kind(self.extreme.of.ty), self.extreme.greatest) {
            (Type::Clock, true) => self.greatest_time(),
            (Type::Clock, false) => self.least_time(),
            (Type::Int { lo, hi }, _) => self.integer(*lo, *hi),
            _ => lost("the least or greatest value of what is no number"),
        }
    }

    /// The least or greatest integer. The least is the opposite of the greatest of the opposites.
    fn integer(&mut self, lo: i64, hi: i64) -> ExtremeResult<String> {
        let (greatest, extreme) = (self.extreme.greatest, self.extreme);
        let reaches = |bound: i64| match greatest {
            true => extreme.compared(BinaryOp::Ge, bound),
            false => extreme.compared(BinaryOp::Le, -bound),
        };
        let (lo, hi) = (lo.max(-FARTHEST), hi.min(FARTHEST));
        let (first, last) = if greatest { (lo, hi) } else { (-hi, -lo) };
        let mut bounds: Vec<i64> = (0..=40).flat_map(|bit| [1 << bit, -(1_i64 << bit)]).chain([0]).collect();
        bounds.extend([first, last]);
        bounds.retain(|bound| (first..=last).contains(bound));
        bounds.sort_unstable();
        bounds.dedup();
        let reached = self.reached(bounds.iter().map(|bound| reaches(*bound)).collect())?;
        let far = reached.iter().take_while(|reached| **reached).count();
        let value = match (far, bounds.get(far)) {
            (0, _) => return lost(format!("values beyond {FARTHEST}")),
            (_, None) if last == FARTHEST || -last == FARTHEST => {
                return lost(format!("values beyond {FARTHEST}"));
            }
            (_, None) => last,
            (_, Some(next)) => self.last(bounds[far - 1], *next, &reaches)?,
        };
        Ok(if greatest { value.to_string() } else { (-value).to_string() })
    }

    /// The greatest value of a clock, or what it only comes near to.
    fn greatest_time(&mut self) -> ExtremeResult<String> {
        let extreme = self.extreme;
        let beyond = |bound: i64| extreme.compared(BinaryOp::Gt, bound - 1);
        let known = greatest_set(&self.loaded.model);
        let far = known.unwrap_or(FAR).max(FAR);
        let (mut low, mut high) = (0, far);
        if self.is_reached(beyond(far))? {
            let Some(set) = known else {
                return lost("a clock that is set to what is not known to be small");
            };
            if self.has_no_end(set)? {
                return Ok("unbounded".into());
            }
            while self.is_reached(beyond(high))? {
                (low, high) = (high, high.saturating_mul(2));
            }
        }
        let value = self.last(low, high, &beyond)?;
        Ok(match self.is_reached(extreme.compared(BinaryOp::Ge, value))? {
            true => format!("<= {value}"),
            false => format!("< {value}"),
        })
    }

    /// The least value of a clock. Some state counts, so it is not beyond every bound.
    fn least_time(&mut self) -> ExtremeResult<String> {
        let extreme = self.extreme;
        let mut high = 1;
        while !self.is_reached(extreme.compared(BinaryOp::Lt, high))? {
            high *= 2;
        }
        // The opposite: up to where is it not yet reached?
        let (mut low, mut high) = (high / 2, high);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            match self.is_reached(extreme.compared(BinaryOp::Lt, middle))? {
                true => high = middle,
                false => low = middle,
            }
        }
        let value = high - 1;
        Ok(match self.is_reached(extreme.compared(BinaryOp::Le, value))? {
            true => format!(">= {value}"),
            false => format!("> {value}"),
        })
    }

    /// The last bound that is reached, from one that is and before one that is not.
    fn last(
        &mut self,
        mut low: i64,
        mut high: i64,
        reaches: &dyn Fn(i64) -> Condition,
    ) -> ExtremeResult<i64> {
        while high - low > 1 {
            let step = ((high - low) / AT_ONCE).max(1);
            let bounds: Vec<i64> =
                (1..).map(|at| low + at * step).take_while(|bound| *bound < high).collect();
            let reached = self.reached(bounds.iter().map(|bound| reaches(*bound)).collect())?;
            let far = reached.iter().take_while(|reached| **reached).count();
            high = bounds.get(far).copied().unwrap_or(high);
            low = if far == 0 { low } else { bounds[far - 1] };
        }
        Ok(low)
    }

    /// Whether a clock, which is set to no more than this, grows for ever.
    fn has_no_end(&mut self, set: i64) -> ExtremeResult<bool> {
        let always = Expr { kind: ExprKind::Const(Value::Bool(true)), ..self.extreme.given.clone() };
        let unset = Extreme { given: always, ..self.extreme.clone() }.compared(BinaryOp::Gt, set);
        let mut asked = self.loaded.clone();
        let counts = add_exit(&mut asked.model, self.extreme.compared(BinaryOp::Gt, set));
        let on_some_path = |formula| Formula::SomePath(Box::new(formula));
        let boxed = |formula| (Interval::default(), Box::new(formula));
        let (at_any_time, goal) = (boxed(Formula::Atom(unset)), boxed(Formula::Atom(counts)));
        let may_count = on_some_path(Formula::Until(Interval::default(), at_any_time.1, goal.1));
        let (interval, may_count) = boxed(may_count);
        let goes_on = on_some_path(Formula::Always(interval, may_count));
        let (interval, goes_on) = boxed(goes_on);
        let formula = on_some_path(Formula::Eventually(interval, goes_on));
        let answers = self.ask_of(asked, vec![PropertyKind::Temporal(Logic::Tctl, formula)])?;
        Ok(answers[0])
    }

    fn is_reached(&mut self, condition: Condition) -> ExtremeResult<bool> {
        Ok(self.reached(vec![condition])?[0])
    }

    /// Which conditions hold in some state that can be reached.
    fn reached(&mut self, conditions: Vec<Condition>) -> ExtremeResult<Vec<bool>> {
        self.ask(conditions.into_iter().map(|condition| PropertyKind::Cover(Some(condition))).collect())
    }

    /// Asks other questions of the model, all at once.
    fn ask(&mut self, kinds: Vec<PropertyKind>) -> ExtremeResult<Vec<bool>> {
        self.ask_of(self.loaded.clone(), kinds)
    }

    fn ask_of(&mut self, mut asked: Loaded, kinds: Vec<PropertyKind>) -> ExtremeResult<Vec<bool>> {
        // Time that stands still is no time that passes.
        asked.model.runs = Runs::Divergent;
        let span = self.extreme.of.span;
        let property = |kind| Property { name: "a bound on a value".into(), kind, span };
        let own: Vec<PropertyId> =
            kinds.into_iter().map(|kind| asked.model.properties.push(property(kind))).collect();
        let asks_faults = |(_, of): &(PropertyId, &Property)| of.kind == PropertyKind::NoFaults;
        let known = asked.model.properties.enumerate().find(asks_faults).map(|(id, _)| id);
        let no_faults =
            known.unwrap_or_else(|| asked.model.properties.push(property(PropertyKind::NoFaults)));
        asked.asked = own.iter().copied().chain([no_faults]).collect();
        let options = CheckOptions {
            properties: Vec::new(),
            patience: None,
            checkpoints: Checkpoints::default(),
            ..self.options.clone()
        };
        let report = check(&asked, &options, &mut OnlyProgress(self.observer))?;
        self.statistics = report.outcome.statistics.clone();
        // Something that faults may be the value itself, or what leads to it.
        for result in report.outcome.results.iter().filter(|result| result.property == no_faults) {
            match &result.verdict {
                Verdict::Holds => {}
                Verdict::Violated(_) => return lost("values of a model with a run-time error"),
                Verdict::Unknown(reason) => return Err(ExtremeLost::Stopped(reason.clone())),
            }
        }
        let mut answers = Vec::new();
        for result in report.outcome.results.iter().filter(|result| own.contains(&result.property)) {
            answers.push(match &result.verdict {
                Verdict::Holds => true,
                Verdict::Violated(_) => false,
                Verdict::Unknown(reason) => return Err(ExtremeLost::Stopped(reason.clone())),
            });
        }
        match answers.len() == own.len() {
            true => Ok(answers),
            false => Err(Error::Internal("a bound on a value has no answer".into()).into()),
        }
    }
}

/// Lets whoever counts leave, for where nothing happens and no invariant stops time. Gives the condition under which a state counts
/// that has not been left.
fn add_exit(model: &mut Model, counts: Condition) -> Condition {
    let (ty, span) = (counts.expr.ty, counts.expr.span);
    let expr = |kind| Expr { kind, ty, span };
    let left = model.vars.push(Var { name: "$left".into(), ty, span });
    let place = Place { root: Root::Var(left), path: Vec::new(), ty, span };
    let has_left = expr(ExprKind::Read(place.clone()));
    let stays = expr(ExprKind::Unary(UnaryOp::Not, Box::new(has_left.clone())));
    let leave = |value| {
        let value = expr(ExprKind::Const(Value::Bool(value)));
        Stmt { kind: StmtKind::Assign(place.clone(), value), span }
    };
    let anyhow = |condition: &mut Condition| {
        let parts = vec![has_left.clone(), condition.expr.clone()];
        condition.expr = expr(ExprKind::Or(parts));
    };
    model.starts.iter_mut().for_each(|start| start.code.body.insert(0, leave(false)));
    for rule in model.rules.iter_mut() {
        let parts = std::iter::once(stays.clone()).chain(rule.guard.take());
        rule.guard = Some(expr(ExprKind::And(parts.collect())));
    }
    model.while_time_passes.iter_mut().for_each(anyhow);
    for property in model.properties.iter_mut() {
        if let PropertyKind::Assume(Some(condition)) = &mut property.kind {
            anyhow(condition);
        }
    }
    let counts = Condition { expr: expr(ExprKind::And(vec![stays, counts.expr])), locals: counts.locals };
    model.rules.push(Rule {
        name: "leave".into(),
        params: Vec::new(),
        bindings: Vec::new(),
        guard: Some(counts.expr.clone()),
        code: Code { locals: counts.locals.clone(), body: vec![leave(true)] },
        priority: model.rules.iter().map(|rule| rule.priority).max().unwrap_or_default(),
        urgent: false,
        span,
    });
    counts
}

/// The greatest value that a clock of the model is set to; nothing if that is not known to be small.
fn greatest_set(model: &Model) -> Option<i64> {
    let mut greatest = Some(0);
    let mut look = |node: Node<'_>| {
        let Node::Stmt(Stmt { kind: StmtKind::Assign(place, value), .. }) = node else { return };
        if !model.type_contains(place.ty, &|part| *part == Type::Clock) {
            return;
        }
        let most = match (&value.kind, model.kind(value.ty)) {
            (ExprKind::Const(Value::Int(number)), _) => Some(*number),
            (_, Type::Int { hi, .. }) => Some(*hi),
            _ => None,
        };
        let most = most.filter(|most| *most <= LARGEST_SET);
        greatest = greatest.zip(most).map(|(known, most)| known.max(most));
    };
    let starts = model.starts.iter().map(|start| &start.code);
    let rules = model.rules.iter().map(|rule| &rule.code);
    let functions = model.functions.iter().map(|function| &function.code);
    starts.chain(rules).chain(functions).for_each(|code| walk_code(code, &mut look));
    greatest
}

/// Clocks that are set to more than this are said to be set to anything.
const LARGEST_SET: i64 = 1 << 20;
