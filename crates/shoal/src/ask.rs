//! Expressions in the language of a model, asked of its states.
//!
//! The source is loaded again with a property that holds the expression (`wording`), so that the language's own front end gives it its
//! meaning. Where that makes more of the model than one property, it was not an expression. Languages that have no words for
//! properties in their texts are asked in words of ours (`plain`).

mod plain;
mod wording;

use shoal_interpret::Interpreter;
use shoal_model::{
    Condition, Expr, ExprKind, Fault, Formula, Interval, Model, Node, Property, PropertyId, PropertyKind,
    Root, State, Type, UnaryOp, Value, walk_condition,
};

use crate::{Error, Loaded, load_sources};

/// An expression that can be asked of the states of a model.
#[derive(Clone, Debug)]
pub struct Asked {
    loaded: Loaded,
    never: PropertyId,
    /// It, as a condition: what is not 0 is true in some languages.
    condition: Option<Condition>,
    /// It, with its value; not if that is a truth value.
    value: Option<Condition>,
}

/// Reads an expression in the language of a model: a condition, or something that has a value.
pub fn ask(loaded: &Loaded, text: &str) -> Result<Asked, Error> {
    let Some(wording) = wording::of(loaded) else { return ask_plainly(loaded, text) };
    let same = with(loaded, &wording.same(text), &wording).and_then(|found| found.map(left_side));
    let never =
        with(loaded, &wording.never(text), &wording).and_then(|found| found.map(|it| Ok(opposite(it))));
    let is_truth = |loaded: &Loaded, it: &Condition| *loaded.model.kind(it.expr.ty) == Type::Bool;
    match (never, same) {
        (Ok(never), Ok(same)) => {
            let value = Some(same.condition.clone()).filter(|it| !is_truth(&same.loaded, it));
            Ok(never.asked(value))
        }
        (Ok(never), Err(_)) => Ok(never.asked(None)),
        (Err(_), Ok(same)) => {
            let AskedModel { loaded, never, condition } = same;
            Ok(Asked { loaded, never, condition: None, value: Some(condition) })
        }
        (Err(error), Err(_)) => Err(error),
    }
}

/// The model with a property more, and the condition that the property is about.
struct AskedModel {
    loaded: Loaded,
    never: PropertyId,
    condition: Condition,
}

impl AskedModel {
    fn map(self, make: impl FnOnce(Condition) -> Result<Condition, Error>) -> Result<AskedModel, Error> {
        Ok(AskedModel { condition: make(self.condition)?, ..self })
    }

    /// Asked as a condition: the property says that it is never so.
    fn asked(mut self, value: Option<Condition>) -> Asked {
        let never = opposite(self.condition.clone());
        self.loaded.model.properties[self.never].kind = PropertyKind::Invariant(never);
        self.loaded.model.assert_well_formed("asking of it");
        Asked { loaded: self.loaded, never: self.never, condition: Some(self.condition), value }
    }
}

/// The model with what is asked in it.
fn with(loaded: &Loaded, property: &str, wording: &wording::Wording) -> Result<AskedModel, Error> {
    let again = load_sources(&wording.sources(loaded, property), &loaded.options)?;
    let never = added(&loaded.model, &again.model);
    let never = never.ok_or_else(|| Error::NotRunnable("that is not one expression".into()))?;
    let condition = match &again.model.properties[never].kind {
        PropertyKind::Invariant(condition) => condition.clone(),
        PropertyKind::Temporal(_, Formula::Always(within, of)) if *within == Interval::default() => {
            match &**of {
                Formula::Atom(condition) => condition.clone(),
                _ => return Err(Error::NotRunnable("that is not about one state".into())),
            }
        }
        PropertyKind::Unclear(why) => return Err(Error::NotRunnable(why.clone())),
        _ => return Err(Error::NotRunnable("that is not about one state".into())),
    };
    Ok(AskedModel { loaded: again, never, condition })
}

/// The one property that a model has more than another, if that is all that they differ in.
fn added(model: &Model, again: &Model) -> Option<PropertyId> {
    let types = |model: &Model| -> Vec<(String, String)> {
        model.vars.iter().map(|var| (var.name.clone(), model.show_type(var.ty).to_string())).collect()
    };
    let same = model.rules.len() == again.rules.len()
        && model.starts.len() == again.starts.len()
        && model.functions.len() == again.functions.len()
        && model.properties.len() + 1 == again.properties.len()
        && types(model) == types(again);
    let names =
        |model: &Model| -> Vec<String> { model.properties.iter().map(|it| it.name.clone()).collect() };
    let (before, mut after) = (names(model), names(again));
    let at = before.iter().zip(&after).position(|(one, other)| one != other).unwrap_or(before.len());
    if !same {
        return None;
    }
    after.remove(at);
    (before == after).then(|| again.properties.ids().nth(at)).flatten()
}

/// What stands on both sides of an equation.
fn left_side(condition: Condition) -> Result<Condition, Error> {
    match condition.expr.kind {
        ExprKind::Equal(left, _) => Ok(Condition { locals: condition.locals, expr: *left }),
        _ => Err(Error::NotRunnable("that has no value".into())),
    }
}

fn opposite(condition: Condition) -> Condition {
    let Condition { locals, expr } = condition;
    let expr = match expr.kind {
        ExprKind::Unary(UnaryOp::Not, inner) => *inner,
        _ => Expr { ty: expr.ty, span: expr.span, kind: ExprKind::Unary(UnaryOp::Not, Box::new(expr)) },
    };
    Condition { locals, expr }
}

/// Asks a model whose language has no words for it.
fn ask_plainly(loaded: &Loaded, text: &str) -> Result<Asked, Error> {
    let mut loaded = loaded.clone();
    let condition = plain::read(&mut loaded.model, text)?;
    let is_truth = *loaded.model.kind(condition.expr.ty) == Type::Bool;
    let kind = PropertyKind::Invariant(opposite(condition.clone()));
    if is_truth {
        let span = condition.expr.span;
        let never = loaded.model.properties.push(Property { name: text.into(), kind, span });
        loaded.asked.push(never);
        return Ok(AskedModel { loaded, never, condition }.asked(None));
    }
    let first = loaded.model.properties.ids().next();
    let never = first.ok_or_else(|| Error::NotRunnable("that is no condition".into()))?;
    Ok(Asked { loaded, never, condition: None, value: Some(condition) })
}

impl Asked {
    /// The model with the property that the expression is never true. It is violated by a run to a state where it is. Only of a
    /// condition.
    pub fn never(&self) -> (&Loaded, PropertyId) {
        (&self.loaded, self.never)
    }

    /// Whether it is a condition.
    pub fn is_condition(&self) -> bool {
        self.condition.is_some()
    }

    /// Whether it reads what a clock shows: then it has no one value in a zone.
    pub fn reads_clocks(&self) -> bool {
        let model = &self.loaded.model;
        let is_clock = |node: Node<'_>| match node {
            Node::Expr(expr) => model.type_contains(expr.ty, &|part| *part == Type::Clock),
            Node::Place(place) => match place.root {
                Root::Var(var) => {
                    model.type_contains(model.vars[var].ty, &|part| *part == Type::Clock)
                        && place.path.is_empty()
                }
                Root::Local(_) => false,
            },
            Node::Stmt(_) => false,
        };
        let mut found = false;
        for condition in [&self.condition, &self.value].into_iter().flatten() {
            walk_condition(condition, &mut |node| {
                // What a function reads is not seen here.
                let calls = matches!(node, Node::Expr(Expr { kind: ExprKind::Call(..), .. }));
                found |= is_clock(node) || calls && model.has_clocks();
            });
        }
        found
    }

    /// Whether it is a condition that holds in a state.
    pub fn holds(&self, state: &State) -> bool {
        let Some(condition) = &self.condition else { return false };
        self.evaluated(state, condition).is_ok_and(|value| value.as_bool() == Some(true))
    }

    /// What it is in a state.
    pub fn value(&self, state: &State) -> Result<Value, Fault> {
        match self.value.as_ref().or(self.condition.as_ref()) {
            Some(expression) => self.evaluated(state, expression),
            None => shoal_model::internal!("an expression that is nothing was asked"),
        }
    }

    fn evaluated(&self, state: &State, expression: &Condition) -> Result<Value, Fault> {
        let sized;
        let model = match self.loaded.model.has_unfixed_sorts() {
            true => {
                sized = self.loaded.model.sized_as(state);
                &sized
            }
            false => &self.loaded.model,
        };
        let Ok(interpreter) = Interpreter::new(model) else { return Ok(Value::Undefined) };
        interpreter.value(state, &expression.locals, &expression.expr)
    }
}
