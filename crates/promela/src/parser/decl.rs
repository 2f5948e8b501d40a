//! Declarations of variables, channels and types.

use shoal_model::MOST_PARTS;
use shoal_syntax::Diagnostic;

use super::{DeclaredItem, Entity, OrReported, Parser, STDIN, no_input};
use crate::{
    ast::{Expr, ExprKind, Field, Init, Mtype, Promise, Stmt, StmtKind, Type, Typedef, Use, Variable},
    codes,
};

/// How many processes, and how long arrays and channels, may be.
const MOST_ELEMENTS: i64 = 1 << 16;

impl Parser {
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
    pub(super) fn decl(&mut self) -> OrReported<Vec<DeclaredItem>> {
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
        if self.promises()? {
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

    /// What is promised of channels, if that begins here. Who promises something outside of a proctype says nothing.
    fn promises(&mut self) -> OrReported<bool> {
        let never = match () {
            () if self.accept_word("xr") => Use::Receive,
            () if self.accept_word("xs") => Use::Send,
            () => return Ok(false),
        };
        loop {
            let channel = self.var_ref()?;
            if let Some(current) = &mut self.proctype {
                current.promises.push(Promise { never, channel });
            }
            if !self.accept(",") {
                return Ok(true);
            }
        }
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
    fn mtype_set(&mut self) -> OrReported<bool> {
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
    fn mtype_name(&mut self) -> OrReported<usize> {
        self.expect(":")?;
        let name = self.name("the name of a set of constants")?;
        let known = self.program.mtypes.iter().position(|set| set.name.as_ref() == Some(&name.node));
        Ok(known.unwrap_or_else(|| {
            self.program.mtypes.push(Mtype { name: Some(name.node), constants: Vec::new() });
            self.program.mtypes.len() - 1
        }))
    }

    /// The name of a type; of `unsigned` without its number of bits.
    pub(super) fn type_name(&mut self) -> OrReported<Type> {
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

    fn declarator(&mut self, ty: &Type) -> OrReported<DeclaredItem> {
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
        if self.parts(&ty).saturating_mul(length.map_or(1, u64::from)) > MOST_PARTS {
            return self.error(codes::BAD_TYPE, self.last_span(), "a variable has too many parts");
        }
        let init = if self.accept("=") { Some(self.initialiser()?) } else { None };
        Ok(DeclaredItem { name, ty, length, init, hidden: false })
    }

    fn initialiser(&mut self) -> OrReported<Init> {
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
    fn channel(&mut self) -> OrReported<Init> {
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
    pub(super) fn constant(&mut self) -> OrReported<i64> {
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
    pub(super) fn declare(&mut self, declared: DeclaredItem, global: bool, param: bool) -> usize {
        let DeclaredItem { name, ty, length, init, hidden } = declared;
        let id = self.program.variables.len();
        let late = self.proctype.as_ref().is_some_and(|current| current.begun);
        let scope = self.scopes.len() - 1;
        if &*name.node == STDIN && ty == Type::Chan && init.is_none() {
            self.diagnostics.push(no_input(name.span));
        }
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
    pub(super) fn local_decl(&mut self) -> OrReported<Vec<Stmt>> {
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

    /// How many numbers a variable of a type is.
    fn parts(&self, ty: &Type) -> u64 {
        match ty {
            Type::Record(record) => self.program.typedefs[*record].parts,
            Type::Bit
            | Type::Byte
            | Type::Short
            | Type::Int
            | Type::Unsigned(_)
            | Type::Mtype(_)
            | Type::Chan
            | Type::Pointer(_)
            | Type::Function => 1,
        }
    }

    pub(super) fn typedef(&mut self) -> OrReported<()> {
        self.expect_word("typedef")?;
        let name = self.name("the name of a type")?;
        let id = self.program.typedefs.len();
        // Its name is known inside: a field may point to another object of the same type.
        self.program.typedefs.push(Typedef { name: name.clone(), fields: Vec::new(), parts: 1 });
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
                let DeclaredItem { name, ty, length, init, .. } = declared;
                fields.push(Field { name, ty, length, init });
            }
        }
        self.expect("}")?;
        // Counted as it is made: records of records double with each, and nothing may walk through all of that.
        let counted = fields.iter().map(|field| self.parts(&field.ty) * field.length.map_or(1, u64::from));
        let parts = counted.fold(1, u64::saturating_add);
        if parts > MOST_PARTS {
            return self.error(codes::BAD_TYPE, self.last_span(), "a record has too many parts");
        }
        (self.program.typedefs[id].fields, self.program.typedefs[id].parts) = (fields, parts);
        Ok(())
    }
}
