//! Which names are known where.

use std::collections::HashMap;

use shoal_model::{Expr, FunctionId, LocalId, Place, TypeId, VarId};
use shoal_syntax::Span;

/// What a name stands for.
#[derive(Clone, Debug)]
pub(crate) enum Symbol {
    /// A constant, a member of an enumeration, or an alias for a value that is known.
    Constant(Expr),
    /// A type.
    Type(TypeId),
    /// A state variable.
    Var(VarId),
    /// A local.
    Local {
        /// Which.
        local: LocalId,
        /// Whether it may be assigned to.
        writable: bool,
    },
    /// A position in a multiset, bound by `choose` and the like.
    Slot {
        /// Which.
        local: LocalId,
        /// The multiset.
        bag: Place,
    },
    /// An alias in a property: the place it stands for. Nothing changes while a property is evaluated, so there
    /// is no need to bind it.
    Place(Place),
    /// An alias in a property: the value it stands for.
    Value(Expr),
    /// A function or procedure.
    Function(FunctionId),
    /// Something whose declaration is wrong; uses are not reported again.
    Broken,
}

/// Nested scopes, the innermost last. A name hides the same name further out.
#[derive(Debug)]
pub(crate) struct Scopes {
    scopes: Vec<HashMap<String, (Symbol, Span)>>,
}

impl Scopes {
    /// Only the global scope.
    pub(crate) fn new() -> Self {
        Scopes { scopes: vec![HashMap::new()] }
    }

    /// Opens a scope.
    pub(crate) fn enter(&mut self) {
        self.scopes.push(HashMap::new());
    }

    /// Closes the innermost scope.
    pub(crate) fn leave(&mut self) {
        self.scopes.pop();
    }

    /// Adds a name to the innermost scope; gives the place of an earlier declaration there.
    pub(crate) fn declare(&mut self, name: &str, symbol: Symbol, span: Span) -> Option<Span> {
        let scope = self.scopes.last_mut()?;
        scope
            .insert(name.to_string(), (symbol, span))
            .map(|(_, earlier)| earlier)
            .filter(|earlier| *earlier != span)
    }

    /// What a name stands for.
    pub(crate) fn find(&self, name: &str) -> Option<&(Symbol, Span)> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name))
    }

    /// All names that are known here and stand for something the predicate accepts.
    pub(crate) fn names(&self, wanted: impl Fn(&Symbol) -> bool) -> Vec<&str> {
        let all = self.scopes.iter().flatten();
        let mut names: Vec<&str> =
            all.filter(|(_, (symbol, _))| wanted(symbol)).map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names
    }

    /// The global names that `--set` could have meant.
    pub(crate) fn global_constants(&self) -> Vec<String> {
        self.scopes[0]
            .iter()
            .filter(|(_, (symbol, _))| matches!(symbol, Symbol::Constant(_)))
            .map(|(name, _)| name.clone())
            .collect()
    }
}
