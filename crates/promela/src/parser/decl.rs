//! Declarations, and the units that a source is made of.

use std::{collections::HashMap, rc::Rc};

use shoal_syntax::{Diagnostic, Span, Spanned};

use super::{Current, Declared, Entity, Inline, MOST_ERRORS, Parsed, Parser, Reported};
use crate::{
    ast::{
        Expr, ExprKind, Field, Formula, Init, Mtype, Name, Proctype, Stmt, StmtKind, Type, Typedef, Variable,
    },
    codes,
    token::{Token, TokenKind},
};

/// How many processes, and how long arrays and channels, may be.
const MOST_ELEMENTS: i64 = 1 << 16;

impl Parser {
    /// Reads all units.
    pub(super) fn units(&mut self) {
        while self.peek().kind != TokenKind::End {
            let before = self.at;
            if self.unit().is_err() {
                self.recover(before);
                let errors = self.diagnostics.len();
                if errors >= MOST_ERRORS {
                    return;
                }
            }
        }
    }

    /// Goes on at the next word that can only begin a unit.
    fn recover(&mut self, before: usize) {
        self.proctype = None;
        self.scopes.truncate(1);
        self.active_inlines.clear();
        self.results.clear();
        self.in_function = false;
        if self.at == before {
            self.advance();
        }
        const BEGINNINGS: [&str; 8] =
            ["active", "proctype", "init", "never", "ltl", "inline", "typedef", "D_proctype"];
        while self.peek().kind != TokenKind::End && !BEGINNINGS.iter().any(|word| self.is_word(word)) {
            self.advance();
        }
    }

    fn unit(&mut self) -> Parsed<()> {
        let token = self.peek().clone();
        let word = token.word().map(|word| word.to_string()).unwrap_or_default();
        match word.as_str() {
            _ if token.is(";") => {
                self.advance();
                Ok(())
            }
            "active" | "proctype" | "D_proctype" => self.proctype(),
            "init" => self.init(),
            "never" => self.never(),
            "ltl" => self.ltl(),
            "inline" => self.inline(),
            "typedef" => self.typedef(),
            "trace" | "notrace" => self.unsupported(token.span, "`trace` and `notrace` claims"),
            "c_code" | "c_decl" | "c_state" | "c_track" | "c_expr" => {
                self.unsupported(token.span, &format!("C code (`{word}`)"))
            }
            "function" if self.dynamic => self.function(),
            _ if self.begins_decl() => {
                for declared in self.decl()? {
                    self.declare(declared, true, false);
                }
                Ok(())
            }
            _ => self.unexpected("a declaration or a proctype"),
        }
    }

    /// Whether a declaration begins here.
    pub(super) fn begins_decl(&self) -> bool {
        const TYPES: [&str; 13] = [
            "bit", "bool", "byte", "short", "int", "unsigned", "mtype", "chan", "pid", "hidden", "show",
            "xr", "xs",
        ];
        let Some(word) = self.peek().word() else { return false };
        let next = self.peek_at(1);
        // `local` and `ftype` are words of their own only before a type.
        if &**word == "local" || (self.dynamic && &**word == "ftype") {
            return next.word().is_some();
        }
        if TYPES.contains(&&**word) {
            return true;
        }
        matches!(self.lookup(word), Some(Entity::Typedef(_)))
            && (next.word().is_some() || (self.dynamic && next.is("&")))
    }

    /// A declaration. Promises about channels declare nothing.
    fn decl(&mut self) -> Parsed<Vec<Declared>> {
        let mut hidden = false;
        loop {
            if self.accept_word("hidden") {
                hidden = true;
            } else if !(self.accept_word("show")
                || (self.is_word("local") && self.peek_at(1).word().is_some()))
            {
                break;
            } else if self.is_word("local") {
                self.advance();
            }
        }
        if self.accept_word("xr") || self.accept_word("xs") {
            self.var_ref()?;
            while self.accept(",") {
                self.var_ref()?;
            }
            return Ok(Vec::new());
        }
        if self.is_word("mtype") && self.mtype_set()? {
            return Ok(Vec::new());
        }
        let ty = self.type_name()?;
        let mut all = Vec::new();
        loop {
            let mut declared = self.declarator(&ty)?;
            declared.hidden = hidden;
            all.push(declared);
            if !self.is(",") || self.another_type_follows() {
                break;
            }
            self.advance();
        }
        Ok(all)
    }

    /// In `byte a, byte b` of a parameter list the comma begins another declaration.
    fn another_type_follows(&mut self) -> bool {
        let before = self.at;
        self.advance();
        let follows = self.begins_decl();
        self.at = before;
        follows
    }

    /// `mtype = { ... }` or `mtype : name = { ... }`; false if variables are declared.
    fn mtype_set(&mut self) -> Parsed<bool> {
        let named = self.peek_at(1).is(":");
        let ahead = if named { 3 } else { 1 };
        let open = if self.peek_at(ahead).is("=") { ahead + 1 } else { ahead };
        if !self.peek_at(open).is("{") {
            return Ok(false);
        }
        self.advance();
        let set = if named { self.mtype_name()? } else { 0 };
        self.accept("=");
        self.expect("{")?;
        let mut constants = Vec::new();
        while !self.is("}") {
            let name = self.name("a symbolic constant")?;
            self.scopes[0].insert(name.node.clone(), Entity::Mtype(set, name.node.clone()));
            constants.push(name.node);
            self.accept(",");
        }
        self.expect("}")?;
        // Numbers count down within a declaration.
        self.program.mtypes[set].constants.extend(constants.into_iter().rev());
        if self.program.mtypes[set].constants.len() > 255 {
            let span = self.last_span();
            return self.error(codes::BAD_CONSTANT, span, "there are more than 255 symbolic constants");
        }
        Ok(true)
    }

    /// `: name` after `mtype`.
    fn mtype_name(&mut self) -> Parsed<usize> {
        self.expect(":")?;
        let name = self.name("the name of a set of constants")?;
        let known = self.program.mtypes.iter().position(|set| set.name.as_ref() == Some(&name.node));
        Ok(known.unwrap_or_else(|| {
            self.program.mtypes.push(Mtype { name: Some(name.node), constants: Vec::new() });
            self.program.mtypes.len() - 1
        }))
    }

    /// The name of a type; of `unsigned` without its number of bits.
    pub(super) fn type_name(&mut self) -> Parsed<Type> {
        let Some(word) = self.peek().word().cloned() else { return self.unexpected("a type") };
        let ty = match &*word {
            "bit" | "bool" => Type::Bit,
            "byte" | "pid" => Type::Byte,
            "short" => Type::Short,
            "int" => Type::Int,
            "unsigned" => Type::Unsigned(0),
            "chan" => Type::Chan,
            "ftype" if self.dynamic => Type::Function,
            "mtype" => {
                self.advance();
                return Ok(Type::Mtype(if self.is(":") { self.mtype_name()? } else { 0 }));
            }
            _ => match self.lookup(&word) {
                Some(Entity::Typedef(typedef)) => Type::Record(*typedef),
                _ => return self.unexpected("a type"),
            },
        };
        self.advance();
        Ok(ty)
    }

    fn declarator(&mut self, ty: &Type) -> Parsed<Declared> {
        let mut ty = ty.clone();
        if self.dynamic && self.accept("&") {
            self.refuse_channels_in(&ty, self.last_span(), "as an object")?;
            ty = Type::Pointer(Box::new(ty));
        }
        let name = self.name("a name")?;
        if matches!(ty, Type::Unsigned(_)) {
            self.expect(":")?;
            let bits = self.constant()?;
            match u32::try_from(bits) {
                Ok(bits @ 1..=32) => ty = Type::Unsigned(bits),
                _ => return self.error(codes::BAD_CONSTANT, self.last_span(), "a number has 1 to 32 bits"),
            }
        }
        let mut length = None;
        if self.accept("[") {
            let elements = self.constant()?;
            self.expect("]")?;
            if !(1..=MOST_ELEMENTS).contains(&elements) {
                let message = format!("an array has 1 to {MOST_ELEMENTS} elements, not {elements}");
                return self.error(codes::BAD_CONSTANT, self.last_span(), message);
            }
            length = u32::try_from(elements).ok();
        }
        let init = if self.accept("=") { Some(self.initialiser()?) } else { None };
        Ok(Declared { name, ty, length, init, hidden: false })
    }

    fn initialiser(&mut self) -> Parsed<Init> {
        if self.is("[") {
            return self.channel();
        }
        if self.accept("{") {
            let mut values = vec![self.expr()?];
            while self.accept(",") {
                values.push(self.expr()?);
            }
            self.expect("}")?;
            return Ok(Init::List(values));
        }
        if self.dynamic && self.is_word("new") && self.lookup("new").is_none() {
            self.advance();
            return Ok(Init::New(self.type_name()?));
        }
        Ok(Init::Value(self.expr()?))
    }

    /// `[n] of { types }`.
    fn channel(&mut self) -> Parsed<Init> {
        self.expect("[")?;
        let capacity = self.constant()?;
        self.expect("]")?;
        if !(0..=MOST_ELEMENTS).contains(&capacity) {
            let message = format!("a channel holds 0 to {MOST_ELEMENTS} messages");
            return self.error(codes::BAD_CONSTANT, self.last_span(), message);
        }
        self.expect_word("of")?;
        self.expect("{")?;
        let mut fields = Vec::new();
        while !self.is("}") {
            let mut ty = self.type_name()?;
            if self.dynamic && self.accept("&") {
                ty = Type::Pointer(Box::new(ty));
            }
            if matches!(ty, Type::Unsigned(_)) {
                return self.unsupported(self.last_span(), "`unsigned` in a message");
            }
            self.refuse_channels_in(&ty, self.last_span(), "in a message")?;
            fields.push(ty);
            self.accept(",");
        }
        self.expect("}")?;
        Ok(Init::Channel { capacity: capacity as u32, fields })
    }

    /// The value of a constant expression. Global variables with a first value that is constant count as constants.
    fn constant(&mut self) -> Parsed<i64> {
        let expr = self.expr()?;
        match self.fold(&expr) {
            Some(value) => Ok(value),
            None => self.error(codes::BAD_CONSTANT, expr.span, "this is not a constant"),
        }
    }

    pub(super) fn fold(&self, expr: &Expr) -> Option<i64> {
        Some(match &expr.kind {
            ExprKind::Int(value) => *value,
            ExprKind::Mtype(_, number) => i64::from(*number),
            ExprKind::Neg(of) => self.fold(of)?.checked_neg()?,
            ExprKind::Not(of) => i64::from(self.fold(of)? == 0),
            ExprKind::BitNot(of) => !self.fold(of)?,
            ExprKind::Equal(a, b) => i64::from(self.fold(a)? == self.fold(b)?),
            ExprKind::NotEqual(a, b) => i64::from(self.fold(a)? != self.fold(b)?),
            ExprKind::And(a, b) => i64::from(self.fold(a)? != 0 && self.fold(b)? != 0),
            ExprKind::Or(a, b) => i64::from(self.fold(a)? != 0 || self.fold(b)? != 0),
            ExprKind::Cond(c, a, b) => self.fold(if self.fold(c)? != 0 { a } else { b })?,
            ExprKind::Binary(op, a, b) => match op.apply(self.fold(a)?, self.fold(b)?).ok()? {
                shoal_model::Value::Int(value) => value,
                shoal_model::Value::Bool(value) => i64::from(value),
                _ => return None,
            },
            ExprKind::Var(var) if var.index.is_none() && var.fields.is_empty() => {
                match &self.program.variables[var.variable].init {
                    Some(Init::Value(value)) => self.fold(value)?,
                    _ => return None,
                }
            }
            _ => return None,
        })
    }

    /// Makes a name known in the innermost scope.
    pub(super) fn declare(&mut self, declared: Declared, global: bool, param: bool) -> usize {
        let Declared { name, ty, length, init, hidden } = declared;
        let id = self.program.variables.len();
        let late = self.proctype.as_ref().is_some_and(|current| current.begun);
        let scope = self.scopes.len() - 1;
        if let Some(Entity::Variable(other)) = self.scopes[scope].get(&name.node) {
            let other = self.program.variables[*other].name.span;
            let message = format!("`{}` is declared twice", name.node);
            self.diagnostics.push(
                Diagnostic::error(codes::DECLARED_TWICE, name.span, message)
                    .also(other, "it is declared here too"),
            );
        }
        self.scopes[scope].insert(name.node.clone(), Entity::Variable(id));
        let variable = Variable {
            name,
            ty,
            length,
            init,
            is_param: param,
            is_late: late,
            is_global: global,
            is_hidden: hidden,
        };
        self.program.variables.push(variable);
        if let Some(current) = &mut self.proctype {
            current.variables.push(id);
        }
        if !param {
            self.declare_channels_of(id);
        }
        id
    }

    /// A declaration among statements. One after the first statement is a step that assigns the first value.
    pub(super) fn local_decl(&mut self) -> Parsed<Vec<Stmt>> {
        let start = self.peek().span;
        let late = self.proctype.as_ref().is_some_and(|current| current.begun);
        let mut steps = Vec::new();
        for declared in self.decl()? {
            let (span, length, pointer) = (
                declared.name.span,
                declared.length,
                matches!(declared.ty, Type::Pointer(_) | Type::Function),
            );
            let plain = !matches!(declared.ty, Type::Record(_));
            if late {
                self.refuse_channels_in(&declared.ty, span, "after the first statement")?;
            }
            let first = match &declared.init {
                Some(Init::Value(value)) => Some(value.clone()),
                Some(Init::List(values)) => values.first().cloned(),
                Some(Init::Channel { .. }) if late => {
                    let message = "a channel is made where its proctype begins, before the first statement";
                    return self.error(codes::MISPLACED, span, message);
                }
                Some(Init::Channel { .. }) => None,
                Some(Init::New(_)) => {
                    let message = "only a global variable can begin with an object; assign it in a statement";
                    return self.error(codes::MISPLACED, span, message);
                }
                None if pointer => Some(Expr { kind: ExprKind::Null, span }),
                None => Some(Expr { kind: ExprKind::Int(0), span }),
            };
            let chan = declared.ty == Type::Chan && declared.init.is_none();
            let variable = self.declare(declared, false, false);
            if !late || !plain || chan {
                continue;
            }
            if let Some(value) = first {
                // Of an array only the first element is assigned, as SPIN does.
                let zero = Expr { kind: ExprKind::Int(0), span };
                let index = length.map(|_| Box::new(zero));
                let place = crate::ast::VarRef { variable, index, fields: Vec::new(), span };
                steps.push(Stmt { kind: StmtKind::Assign(Some(place), value), span: self.span_from(start) });
            }
        }
        Ok(steps)
    }

    fn typedef(&mut self) -> Parsed<()> {
        self.expect_word("typedef")?;
        let name = self.name("the name of a type")?;
        let id = self.program.typedefs.len();
        // Its name is known inside: a field may point to another object of the same type.
        self.program.typedefs.push(Typedef { name: name.clone(), fields: Vec::new() });
        self.scopes[0].insert(name.node, Entity::Typedef(id));
        self.expect("{")?;
        let mut fields: Vec<Field> = Vec::new();
        while !self.is("}") {
            if self.accept(";") || self.accept(",") {
                continue;
            }
            if !self.begins_decl() {
                return self.unexpected("a field");
            }
            for declared in self.decl()? {
                if declared.ty == Type::Record(id) {
                    return self.error(codes::BAD_TYPE, declared.name.span, "a record cannot contain itself");
                }
                let Declared { name, ty, length, init, .. } = declared;
                fields.push(Field { name, ty, length, init });
            }
        }
        self.expect("}")?;
        self.program.typedefs[id].fields = fields;
        Ok(())
    }

    fn inline(&mut self) -> Parsed<()> {
        self.expect_word("inline")?;
        let name = self.name("the name of an inline")?;
        self.expect("(")?;
        let mut params = Vec::new();
        while !self.is(")") {
            params.push(self.name("a parameter")?.node);
            if !self.accept(",") {
                break;
            }
        }
        self.expect(")")?;
        let body = self.braced()?;
        self.inlines.insert(name.node, Inline { params, body });
        Ok(())
    }

    /// The tokens between braces, with the braces.
    fn braced(&mut self) -> Parsed<Vec<Token>> {
        if !self.is("{") {
            return self.unexpected("`{`");
        }
        let open = self.peek().span;
        let mut depth = 0;
        let mut tokens = Vec::new();
        loop {
            let token = self.advance();
            depth += i32::from(token.is("{")) - i32::from(token.is("}"));
            if token.kind == TokenKind::End {
                return self.error(codes::UNEXPECTED, open, "this `{` has no `}`");
            }
            tokens.push(token);
            if depth == 0 {
                return Ok(tokens);
            }
        }
    }

    fn proctype(&mut self) -> Parsed<()> {
        let mut active = 0;
        if self.accept_word("active") {
            active = 1;
            if self.accept("[") {
                let count = self.constant()?;
                self.expect("]")?;
                active = match u32::try_from(count) {
                    Ok(count @ 0..=255) => count,
                    _ => {
                        return self.error(
                            codes::BAD_CONSTANT,
                            self.last_span(),
                            "0 to 255 processes can be active",
                        );
                    }
                };
            }
        }
        if !(self.accept_word("proctype") || self.accept_word("D_proctype")) {
            return self.unexpected("`proctype`");
        }
        let name = self.name("the name of a proctype")?;
        let proctype = self.process(name, active, true)?;
        if let Some(other) = self.program.proctypes.iter().find(|other| other.name.node == proctype.name.node)
        {
            let other = other.name.span;
            let message = format!("the proctype `{}` is declared twice", proctype.name.node);
            let diagnostic = Diagnostic::error(codes::DECLARED_TWICE, proctype.name.span, message);
            return self.report(diagnostic.also(other, "it is declared here too"));
        }
        self.program.proctypes.push(proctype);
        Ok(())
    }

    fn init(&mut self) -> Parsed<()> {
        let span = self.expect_word("init")?;
        let proctype = self.process(Spanned::new("init".into(), span), 1, false)?;
        self.program.proctypes.push(proctype);
        Ok(())
    }

    fn never(&mut self) -> Parsed<()> {
        let span = self.expect_word("never")?;
        let name = match self.peek().word() {
            Some(_) => self.name("the name of a claim")?,
            None => Spanned::new("never".into(), span),
        };
        let claim = self.process(name, 1, false)?;
        self.program.nevers.push(claim);
        Ok(())
    }

    fn function(&mut self) -> Parsed<()> {
        self.expect_word("function")?;
        let name = self.name("the name of a function")?;
        self.in_function = true;
        let function = self.process(name, 0, true);
        self.in_function = false;
        self.program.functions.push(function?);
        Ok(())
    }

    /// Functions may be called before they are declared.
    pub(super) fn find_functions(&mut self) {
        if !self.dynamic {
            return;
        }
        for pair in self.tokens.windows(2) {
            if pair[0].is_word("function")
                && let Some(name) = pair[1].word()
            {
                self.functions.push(name.clone());
            }
        }
    }

    /// What follows the name of a proctype.
    fn process(&mut self, name: Name, active: u32, with_params: bool) -> Parsed<Proctype> {
        self.proctype = Some(Current::default());
        self.scopes.push(HashMap::new());
        let mut params = Vec::new();
        if with_params {
            self.expect("(")?;
            while !self.is(")") {
                if self.accept(";") || self.accept(",") {
                    continue;
                }
                if !self.begins_decl() {
                    return self.unexpected("a parameter");
                }
                for declared in self.decl()? {
                    if declared.length.is_some() {
                        return self.error(
                            codes::BAD_TYPE,
                            declared.name.span,
                            "a parameter cannot be an array",
                        );
                    }
                    self.refuse_channels_in(&declared.ty, declared.name.span, "as a parameter")?;
                    params.push(self.declare(declared, false, true));
                }
            }
            self.expect(")")?;
        }
        let mut result = None;
        if self.in_function && self.accept(":") {
            let ty = self.type_name()?;
            result = Some(if self.accept("&") { Type::Pointer(Box::new(ty)) } else { ty });
        }
        if self.is_word("priority") {
            let span = self.advance().span;
            if self.constant()? != 1 {
                return self.unsupported(span, "process priorities");
            }
        }
        let provided = if self.accept_word("provided") { Some(self.expr()?) } else { None };
        self.expect("{")?;
        let body = self.sequence("}")?;
        let end = self.expect("}")?;
        self.scopes.pop();
        let variables = self.proctype.take().ok_or(Reported)?.variables;
        Ok(Proctype { name, active, params, variables, provided, body, result, end })
    }

    fn ltl(&mut self) -> Parsed<()> {
        self.expect_word("ltl")?;
        let name = match self.peek().word() {
            Some(_) => Some(self.name("the name of a formula")?),
            None => None,
        };
        let mut tokens = self.braced()?;
        tokens.pop();
        let formula: Vec<Token> = tokens.drain(1..).collect();
        self.formulas.push((name, formula));
        Ok(())
    }

    /// Reads the formulas, when all that they can name is declared.
    pub(super) fn late_formulas(&mut self) {
        for (name, tokens) in std::mem::take(&mut self.formulas) {
            let span: Span = tokens.last().map_or_else(Span::default, |token| token.span);
            self.tokens = tokens;
            self.tokens.push(Token { kind: TokenKind::End, span, first: true, spaced: true });
            self.at = 0;
            self.in_formula = true;
            if let Ok(formula) = self.formula() {
                if self.peek().kind == TokenKind::End || self.is(";") {
                    self.program.formulas.push(Formula { name, formula });
                } else {
                    let _ = self.unexpected::<()>("the end of the formula");
                }
            }
            self.in_formula = false;
        }
    }

    /// What a call of an inline is replaced by.
    pub(super) fn inline_body(&mut self, name: &Name, arguments: &[Vec<Token>]) -> Parsed<Vec<Token>> {
        let Some(inline) = self.inlines.get(&name.node).cloned() else { return self.unknown(name) };
        if self.active_inlines.contains(&name.node) {
            let message = format!("the inline `{}` calls itself", name.node);
            return self.error(codes::TOO_DEEP, name.span, message);
        }
        if arguments.len() != inline.params.len() {
            let (wanted, given) = (inline.params.len(), arguments.len());
            let message = format!("the inline `{}` takes {wanted} arguments, not {given}", name.node);
            return self.error(codes::WRONG_COUNT, name.span, message);
        }
        let argument = |word: &Rc<str>| inline.params.iter().position(|param| param == word);
        let mut body = Vec::new();
        for token in inline.body {
            match token.word().and_then(argument) {
                Some(at) => {
                    let first = body.len();
                    body.extend(arguments[at].iter().cloned());
                    if let Some(replaced) = body.get_mut(first) {
                        replaced.first = token.first;
                    }
                }
                None => body.push(token),
            }
        }
        Ok(body)
    }
}
