//! Concurrent boolean programs, in the dialect of SATABS and BOPPO (`.bp`; labels may be numbers) and in that of BoPP (`.nbp`).
//!
//! A source is parsed to statements, procedures are inlined to flat code, the code is simplified (dead locals are forgotten,
//! steps that do nothing are left out), and each instruction becomes a rule.

mod ast;
mod flat;
mod flow;
mod inline;
mod lexer;
mod lower;
mod parser;
mod vocabulary;

use shoal_model::Model;
use shoal_syntax::{Diagnostics, SourceId, SourceMap};

use crate::Options;

pub use vocabulary::VOCABULARY;

/// How expressions are read: whether `a & b = c` is `(a & b) = c` or `a & (b = c)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precedence {
    /// As SATABS does: equality binds loosest.
    Satabs,
    /// As BoPP does: equality binds tightest.
    Bopp,
}

/// Makes a model of a boolean program.
pub(crate) fn load(
    sources: &SourceMap,
    id: SourceId,
    dialect: Precedence,
    options: &Options,
) -> (Option<Model>, Diagnostics) {
    let mut diagnostics = Diagnostics::new();
    let program = match parser::parse(sources.file(id).text(), id, dialect) {
        Ok(program) => program,
        Err(errors) => {
            errors.into_iter().for_each(|error| diagnostics.push(error));
            return (None, diagnostics);
        }
    };
    let Some(mut code) = inline::inline(&program, id, dialect, options, &mut diagnostics) else {
        return (None, diagnostics);
    };
    if let Err(error) = flow::simplify(&mut code) {
        diagnostics.push(*error);
        return (None, diagnostics);
    }
    let model = lower::lower(&code, sources, id, options, &mut diagnostics);
    (model, diagnostics)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first error of a program, if it has one.
    fn error(dialect: Precedence, text: &str) -> Option<String> {
        let mut sources = SourceMap::new();
        let id = sources.add("a.bp", text);
        let (model, diagnostics) = load(&sources, id, dialect, &Options::default());
        assert_eq!(model.is_none(), diagnostics.has_errors(), "{text}");
        diagnostics.iter().find(|_| model.is_none()).map(|found| found.message.clone())
    }

    #[test]
    fn atomic_sections_are_left_again_or_refused() {
        let program = |body: &str| {
            format!(
                "decl b := F; void f() begin return; end void main() begin start_thread goto other; {body} other: assert(!b); end"
            )
        };
        let refused = [
            ("atomic_begin; goto out; atomic_end; out: end_thread;", "ends inside"),
            ("atomic_begin; b := T; end_thread;", "ends inside"),
            ("atomic_begin; return; atomic_end;", "ends inside"),
            ("atomic_begin; if b then return; fi; atomic_end; end_thread;", "ends inside"),
            ("atomic_begin; l: b := T; goto l;", "never left"),
            ("atomic_begin; while T do b := !b; od; atomic_end; end_thread;", "never left"),
            ("atomic_begin; wait; atomic_end; end_thread;", "nobody can wake"),
            ("atomic_begin; atomic_begin; atomic_end; end_thread;", "nested"),
            (
                "if b then goto in; fi; atomic_begin; in: skip; b := T; atomic_end; end_thread;",
                "inside and outside",
            ),
            ("atomic_end; end_thread;", "no atomic section"),
        ];
        for (body, why) in refused {
            let error = error(Precedence::Satabs, &program(body)).unwrap_or_else(|| panic!("read: {body}"));
            assert!(error.contains(why), "{error}: {body}");
        }
        let fine = [
            "atomic_begin; if b then goto out; fi; b := T; out: atomic_end; end_thread;",
            "atomic_begin; while * do b := !b; od; atomic_end; end_thread;",
            "atomic_begin; assume(F); atomic_end; end_thread;",
            "atomic_begin; f(); atomic_end; end_thread;",
        ];
        for body in fine {
            assert_eq!(error(Precedence::Satabs, &program(body)), None, "{body}");
        }
    }

    #[test]
    fn labels_that_nobody_declares_matter_where_somebody_jumps() {
        let program = |condition: &str| {
            format!("decl b := 0; void main() begin 0: if {condition} then goto 170; fi; 1: assert(!b); end")
        };
        assert_eq!(error(Precedence::Bopp, &program("0")), None);
        for (dialect, condition) in [
            (Precedence::Bopp, "b"),
            (Precedence::Bopp, "*"),
            (Precedence::Bopp, "1"),
            (Precedence::Satabs, "F"),
        ] {
            let error = error(dialect, &program(condition)).expect("an error");
            assert!(error.contains("`170` is not declared"), "{error}");
        }
    }
}
