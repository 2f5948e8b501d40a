//! Expressions in the language of a model, asked of its states.
//!
//! The source is loaded again with the expression in an invariant behind it, so that the language's own front end gives it its
//! meaning. Where that makes more of the model than one invariant, it was not an expression.

use shoal_interpret::Interpreter;
use shoal_model::{Condition, Expr, ExprKind, Fault, Model, PropertyId, PropertyKind, State, Value};

use crate::{Error, Loaded, Sources, load::MURPHI, load_sources};

/// An expression that can be asked of the states of a model.
#[derive(Clone, Debug)]
pub struct Asked {
    loaded: Loaded,
    never: PropertyId,
    value: Option<(Condition, Expr)>,
}

/// The name of the invariant.
const ASKED: &str = "$asked";

/// Reads an expression in the language of a model: a condition, or something that has a value. Only Murphi models can be asked;
/// the language of others is refused by name.
pub fn ask(loaded: &Loaded, text: &str) -> Result<Asked, Error> {
    if loaded.language != MURPHI {
        return Err(Error::NotRunnable(format!(
            "expressions are not supported in {} models",
            loaded.language
        )));
    }
    // A line of its own, or a comment at its end would hide what follows.
    let condition = with(loaded, &format!("!(\n{text}\n)"));
    let (loaded, never, is_truth) = match condition {
        Ok((again, never)) => (again, never, true),
        Err(error) => match with(loaded, &format!("(\n{text}\n) = (\n{text}\n)")) {
            Ok((again, never)) => (again, never, false),
            Err(_) => return Err(error),
        },
    };
    let PropertyKind::Invariant(condition) = &loaded.model.properties[never].kind else {
        return Err(Error::Internal("what is asked is no invariant".into()));
    };
    let value = match &condition.expr.kind {
        ExprKind::Equal(left, _) if !is_truth => Some((condition.clone(), (**left).clone())),
        _ => None,
    };
    Ok(Asked { never, value, loaded })
}

/// The model with an invariant more.
fn with(loaded: &Loaded, condition: &str) -> Result<(Loaded, PropertyId), Error> {
    let mut files = loaded.sources.files();
    let main = files.next().ok_or_else(|| Error::Internal("a model without a source".into()))?;
    let text = format!("{}\ninvariant \"{ASKED}\" {condition};\n", main.text());
    let texts =
        files.fold(Sources::text(main.name(), text), |texts, file| texts.with(file.name(), file.text()));
    let again = load_sources(&texts, &loaded.options)?;
    let mut found = again.model.properties.enumerate().filter(|(_, property)| property.name == ASKED);
    match (found.next(), found.next()) {
        (Some((never, _)), None) if is_the_same(&loaded.model, &again.model) => Ok((again.clone(), never)),
        _ => Err(Error::NotRunnable("that is not one expression".into())),
    }
}

/// Whether a model has one property more than another, and nothing else.
fn is_the_same(model: &Model, again: &Model) -> bool {
    model.rules.len() == again.rules.len()
        && model.starts.len() == again.starts.len()
        && model.vars.iter().map(|var| &var.name).eq(again.vars.iter().map(|var| &var.name))
        && model.functions.len() == again.functions.len()
        && model.properties.len() + 1 == again.properties.len()
}

impl Asked {
    /// The model with the property that the expression is never true. It is violated by a run to a state where it is.
    pub fn never(&self) -> (&Loaded, PropertyId) {
        (&self.loaded, self.never)
    }

    /// Whether it is a condition.
    pub fn is_condition(&self) -> bool {
        self.value.is_none()
    }

    /// What it is in a state.
    pub fn value(&self, state: &State) -> Result<Value, Fault> {
        let model = self.loaded.model.sized_as(state);
        let Ok(interpreter) = Interpreter::new(&model) else { return Ok(Value::Undefined) };
        match (&self.value, &self.loaded.model.properties[self.never].kind) {
            (Some((condition, expr)), _) => interpreter.value(state, &condition.locals, expr),
            (None, PropertyKind::Invariant(never)) => {
                interpreter.holds(state, never).map(|it| Value::Bool(!it))
            }
            (None, _) => Ok(Value::Undefined),
        }
    }
}
