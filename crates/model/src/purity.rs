//! What functions do besides computing.

use crate::{
    Argument, Code, Expr, ExprKind, LocalId, LocalKind, Model, Node, Place, Root, Stmt, StmtKind, TypedId,
    walk_code,
};

/// What running code may change that is there before and after it; the later, the more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FunctionEffect {
    /// Nothing: it only computes.
    Nothing,
    /// What its reference parameters stand for.
    Parameters,
    /// The state; or it chooses, creates or deletes.
    State,
}

impl Model {
    /// For each function, whether it writes nothing but its own locals, chooses, creates and deletes nothing. A least fixpoint, so
    /// recursion is no obstacle.
    pub fn pure_functions(&self) -> Vec<bool> {
        let mut effects = vec![FunctionEffect::Nothing; self.functions.len()];
        loop {
            let before = effects.clone();
            for (id, function) in self.functions.enumerate() {
                effects[id.index()] = effect_of(&function.code, &before);
            }
            if effects == before {
                return effects.into_iter().map(|effect| effect == FunctionEffect::Nothing).collect();
            }
        }
    }
}

/// The effect of code, where those of functions are known.
pub fn effect_of(code: &Code, functions: &[FunctionEffect]) -> FunctionEffect {
    let writes = CodeWrites::of(code);
    let mut effect = FunctionEffect::Nothing;
    walk_code(code, &mut |node| {
        effect = effect.max(match node {
            Node::Stmt(stmt) => match &stmt.kind {
                StmtKind::Choose { .. } | StmtKind::Create(..) | StmtKind::Delete(_) => FunctionEffect::State,
                StmtKind::Call(function, arguments) => writes.call(functions[function.index()], arguments),
                other => other.written().map_or(FunctionEffect::Nothing, |place| writes.to(place)),
            },
            Node::Expr(Expr { kind: ExprKind::Call(function, arguments), .. }) => {
                writes.call(functions[function.index()], arguments)
            }
            Node::Expr(_) | Node::Place(_) => FunctionEffect::Nothing,
        });
    });
    effect
}

/// What writes of a piece of code mean.
struct CodeWrites<'c> {
    code: &'c Code,
    /// What aliases stand for, in the order of the text.
    bound: Vec<(LocalId, &'c Argument)>,
}

impl<'c> CodeWrites<'c> {
    fn of(code: &'c Code) -> CodeWrites<'c> {
        let mut bound = Vec::new();
        walk_code(code, &mut |node| {
            let Node::Stmt(Stmt { kind: StmtKind::Bind(bindings), .. }) = node else { return };
            bound.extend(bindings.iter().map(|binding| (binding.local, &binding.to)));
        });
        CodeWrites { code, bound }
    }

    /// A call that writes to what its parameters stand for writes to what is passed on.
    fn call(&self, callee: FunctionEffect, arguments: &[Argument]) -> FunctionEffect {
        match callee {
            FunctionEffect::Nothing | FunctionEffect::State => callee,
            FunctionEffect::Parameters => arguments
                .iter()
                .map(|argument| self.through(argument))
                .max()
                .unwrap_or(FunctionEffect::Nothing),
        }
    }

    /// What is written if something that stands for an argument is.
    fn through(&self, argument: &Argument) -> FunctionEffect {
        match argument {
            Argument::Place(place) => self.to(place),
            Argument::Value(_) => FunctionEffect::Nothing,
        }
    }

    fn to(&self, place: &Place) -> FunctionEffect {
        match place.root {
            Root::Var(_) => FunctionEffect::State,
            Root::Local(local) => self.to_local(local, self.bound.len()),
        }
    }

    /// An alias stands for what it was bound to: of an alias, too, that one of the `before` was.
    fn to_local(&self, local: LocalId, before: usize) -> FunctionEffect {
        match self.code.locals.get(local).map(|local| local.kind) {
            Some(LocalKind::Variable) => FunctionEffect::Nothing,
            Some(LocalKind::Reference { .. }) => {
                let mut found = None;
                for (at, (_, to)) in self.bound[..before].iter().enumerate().filter(|(_, it)| it.0 == local) {
                    found = found.max(Some(match to {
                        Argument::Place(Place { root: Root::Local(local), .. }) => self.to_local(*local, at),
                        to => self.through(to),
                    }));
                }
                found.unwrap_or(FunctionEffect::Parameters)
            }
            Some(LocalKind::Bound) | None => FunctionEffect::State,
        }
    }
}
