//! Channels at work: what can be sent and received, and what that does.

use shoal_model::{BinaryOp, Domain, Expr, LocalKind, Place, Projection, Stmt, StmtKind};
use shoal_syntax::Span;

use super::{Lowerer, Me, OrReported, channels::flatten_ref, expr::ExprMeaning};
use crate::{
    ast::{self, Pattern, Receive, Type, Use, VarRef, VariableId},
    codes,
};

/// What a part of a message is matched with.
#[derive(Clone, Debug)]
pub(super) enum MessagePart {
    Equal(Expr),
    Store(Option<Place>, Type),
    Any,
}

impl Lowerer<'_> {
    /// The value of a variable that holds the channel which a declaration made.
    pub(super) fn channel_made(
        &self,
        id: VariableId,
        index: Option<Expr>,
        me: Option<&Me>,
        span: Span,
    ) -> Option<Expr> {
        let site = self.channels.sites.iter().position(|site| site.variable == id)?;
        let within = self.index_in_class(site, index, me, span);
        let base = self.channels.classes[self.channels.sites[site].class].base;
        Some(self.binary(BinaryOp::Add, within, self.int(base, span)))
    }

    /// Where in its class a channel of a site is stored.
    fn index_in_class(&self, site: usize, index: Option<Expr>, me: Option<&Me>, span: Span) -> Expr {
        let site = &self.channels.sites[site];
        let length = self.program.variables[site.variable].length.unwrap_or(1);
        let mut at = index.unwrap_or_else(|| self.int(0, span));
        if let (Some(_), Some(entry)) = (site.owner, me.and_then(|me| me.entry.clone())) {
            let scaled = match length {
                1 => entry,
                length => self.binary(BinaryOp::Mul, entry, self.int(i64::from(length), span)),
            };
            at = self.add(scaled, at);
        }
        self.add(at, self.int(i64::from(site.offset), span))
    }

    /// A sum, without what is 0.
    pub(super) fn add(&self, a: Expr, b: Expr) -> Expr {
        let is_zero = |it: &Expr| it.kind == shoal_model::ExprKind::Const(shoal_model::Value::Int(0));
        match (is_zero(&a), is_zero(&b)) {
            (true, _) => b,
            (_, true) => a,
            _ => self.binary(BinaryOp::Add, a, b),
        }
    }

    /// The value of a channel variable.
    pub(super) fn channel_value(&mut self, var: &VarRef, me: Option<&Me>) -> OrReported<Expr> {
        if let Some(site) = self.channels.fixed(var.variable) {
            let base = self.channels.classes[self.channels.sites[site].class].base;
            let within = self.fixed_index(site, var, me)?;
            return Ok(self.add(within, self.int(base, var.span)));
        }
        let (place, _) = self.place(var, me)?;
        Ok(place.map_or(self.int(0, var.span), |place| self.read(place)))
    }

    fn fixed_index(&mut self, site: usize, var: &VarRef, me: Option<&Me>) -> OrReported<Expr> {
        let index = match &var.index {
            Some(index) => Some(self.integer_expr(index, me)?),
            None => None,
        };
        Ok(self.index_in_class(site, index, me, var.span))
    }

    /// Where in a class the channel is that a variable holds.
    pub(super) fn class_index(&mut self, class: usize, var: &VarRef, me: Option<&Me>) -> OrReported<Expr> {
        if let Some(site) = self.channels.fixed(var.variable) {
            return self.fixed_index(site, var, me);
        }
        let value = self.channel_value(var, me)?;
        let base = self.channels.classes[class].base;
        Ok(self.binary(BinaryOp::Sub, value, self.int(base, var.span)))
    }

    /// Whether the channel that a variable holds belongs to a class.
    pub(super) fn is_of_class(&mut self, class: usize, var: &VarRef, me: Option<&Me>) -> OrReported<Expr> {
        let span = var.span;
        if self.channels.fixed(var.variable).is_some() {
            return Ok(self.truth(true, span));
        }
        let value = self.channel_value(var, me)?;
        let (base, count) =
            (self.channels.classes[class].base, i64::from(self.channels.classes[class].count));
        let above = self.binary(BinaryOp::Ge, value.clone(), self.int(base, span));
        let below = self.binary(BinaryOp::Lt, value, self.int(base + count, span));
        Ok(self.and(vec![above, below], span))
    }

    /// Where a channel is stored; nothing for rendezvous.
    pub(super) fn channel_place(
        &mut self,
        class: usize,
        var: &VarRef,
        me: Option<&Me>,
    ) -> OrReported<Option<Place>> {
        let Some(store) = self.channels.classes[class].var else { return Ok(None) };
        let place = self.var_place(store, var.span);
        if !self.is_array(class) {
            return Ok(Some(place));
        }
        let index = self.class_index(class, var, me)?;
        Ok(Some(self.index(place, index)))
    }

    /// Whether the channels of a class are numbered: there are several, or variables hold them.
    pub(super) fn is_array(&self, class: usize) -> bool {
        let class = &self.channels.classes[class];
        class.count > 1 || class.sites.iter().any(|site| self.channels.is_held(*site))
    }

    /// A part of a message in a channel.
    fn part(&self, class: usize, channel: &Place, at: Expr, part: usize) -> Place {
        let message = self.index(self.field(channel.clone(), 1), at);
        if self.channels.classes[class].parts.len() == 1 { message } else { self.field(message, part) }
    }

    fn part_kind(&self, class: usize, part: usize) -> ExprMeaning {
        match self.channels.classes[class].parts[part] {
            Type::Mtype(set) if self.style.named_constants => ExprMeaning::Mtype(set),
            Type::Chan => ExprMeaning::Channel,
            Type::Pointer(ref target) => self.heap_of(target).map_or(ExprMeaning::Int, ExprMeaning::Pointer),
            _ => ExprMeaning::Int,
        }
    }

    /// The values of a message as they arrive.
    pub(super) fn message(
        &mut self,
        class: usize,
        message: &[ast::Expr],
        me: Option<&Me>,
        span: Span,
    ) -> OrReported<Vec<Expr>> {
        let values: Vec<ast::Expr> = message.iter().flat_map(|value| self.flatten_value(value)).collect();
        self.check_parts(class, values.len(), span)?;
        let parts = self.channels.classes[class].parts.clone();
        let mut all = Vec::new();
        for (at, ty) in parts.iter().enumerate() {
            let zero = ast::Expr { kind: ast::ExprKind::Int(0), span };
            all.push(self.converted(values.get(at).unwrap_or(&zero), ty, me)?);
        }
        Ok(all)
    }

    /// What the parts of a message are matched with.
    pub(super) fn parts(
        &mut self,
        class: usize,
        receive: &Receive,
        me: Option<&Me>,
    ) -> OrReported<Vec<MessagePart>> {
        let mut parts = Vec::new();
        for pattern in &receive.parts {
            match pattern {
                Pattern::Any => parts.push(MessagePart::Any),
                Pattern::Equal(value) => {
                    let (value, kind) = self.expr(value, me)?;
                    let wanted = self.channels.classes[class].parts.get(parts.len()).cloned();
                    // A constant of the right set is compared as it is, everything else as a number.
                    let same =
                        matches!((&wanted, kind), (Some(Type::Mtype(a)), ExprMeaning::Mtype(b)) if *a == b);
                    // Pointers are compared with pointers to the same type of object, and numbers with numbers.
                    let part = (parts.len() < self.channels.classes[class].parts.len())
                        .then(|| self.part_kind(class, parts.len()));
                    let pointer = |kind: Option<ExprMeaning>| matches!(kind, Some(ExprMeaning::Pointer(_)));
                    if (pointer(Some(kind)) || pointer(part)) && part != Some(kind) {
                        let message = "a pointer is compared with something else";
                        return self.error(codes::BAD_TYPE, value.span, message);
                    }
                    parts.push(MessagePart::Equal(match kind {
                        ExprMeaning::Pointer(heap) => self.compared(heap, value),
                        _ if same => value,
                        _ => self.to_int(value, kind),
                    }));
                }
                Pattern::Store(place) => {
                    let mut places = Vec::new();
                    flatten_ref(self.program, place, &mut places);
                    for place in places {
                        let (place, ty) = self.place(&place, me)?;
                        parts.push(MessagePart::Store(place, ty));
                    }
                }
            }
        }
        self.check_parts(class, parts.len(), receive.channel.span)?;
        parts.resize(self.channels.classes[class].parts.len(), MessagePart::Any);
        Ok(parts)
    }

    /// Whether values match.
    pub(super) fn matches(
        &self,
        class: usize,
        parts: &[MessagePart],
        value: &dyn Fn(usize) -> Expr,
        span: Span,
    ) -> Expr {
        let compare = |(at, part): (usize, &MessagePart)| {
            let MessagePart::Equal(wanted) = part else { return None };
            let mut value = value(at);
            if let ExprMeaning::Pointer(heap) = self.part_kind(class, at) {
                value = self.compared_again(heap, value);
            }
            if value.ty == wanted.ty
                && matches!(self.part_kind(class, at), ExprMeaning::Mtype(_) | ExprMeaning::Pointer(_))
            {
                return Some(self.equal(value, wanted.clone()));
            }
            let kind = self.part_kind(class, at);
            Some(self.equal(self.to_int(value, kind), wanted.clone()))
        };
        self.and(parts.iter().enumerate().filter_map(compare).collect(), span)
    }

    /// Stores values where the parts say.
    pub(super) fn store_parts(
        &mut self,
        class: usize,
        parts: &[MessagePart],
        value: &dyn Fn(&Self, usize) -> Expr,
    ) -> OrReported<Vec<Stmt>> {
        let mut body = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            let MessagePart::Store(Some(place), ty) = part else { continue };
            let kind = self.part_kind(class, at);
            let value = value(self, at);
            let value = self.converted_value(value, kind, ty)?;
            body.push(self.assign(place.clone(), value));
        }
        Ok(body)
    }

    fn length(&self, channel: &Place) -> Place {
        self.field(channel.clone(), 0)
    }

    fn has_room(&self, class: usize, channel: &Place) -> Expr {
        let span = channel.span;
        let capacity = i64::from(self.channels.classes[class].capacity);
        self.binary(BinaryOp::Lt, self.read(self.length(channel)), self.int(capacity, span))
    }

    /// For each class that a channel variable can hold: whether it holds one, where it is stored, and the class.
    fn stores(&mut self, channel: &VarRef, me: Option<&Me>) -> OrReported<Vec<(Expr, Place, usize)>> {
        let classes = self.classes(channel)?;
        let several = classes.len() > 1;
        let mut all = Vec::new();
        for class in classes {
            let is = match several {
                true => self.is_of_class(class, channel, me)?,
                false => self.truth(true, channel.span),
            };
            if let Some(place) = self.channel_place(class, channel, me)? {
                all.push((is, place, class));
            }
        }
        Ok(all)
    }

    /// Whether a message can be put into the channel.
    pub(super) fn can_send(&mut self, channel: &VarRef, me: Option<&Me>) -> OrReported<Expr> {
        let stores = self.stores(channel, me)?;
        let room = |(is, place, class)| self.and(vec![is, self.has_room(class, &place)], channel.span);
        let room = self.or(stores.into_iter().map(room).collect(), channel.span);
        self.if_exists(channel, me, room)
    }

    /// Puts a message into the channel.
    pub(super) fn send(
        &mut self,
        channel: &VarRef,
        sorted: bool,
        message: &[ast::Expr],
        me: Option<&Me>,
    ) -> OrReported<Vec<Stmt>> {
        let span = channel.span;
        let mut arms = Vec::new();
        for (is, place, class) in self.stores(channel, me)? {
            let values = self.message(class, message, me, span)?;
            let parts = 0..self.channels.classes[class].parts.len();
            let pointers =
                parts.into_iter().any(|part| matches!(self.part_kind(class, part), ExprMeaning::Pointer(_)));
            if sorted && pointers {
                let message = "messages with pointers cannot be sorted";
                return self.error(codes::BAD_TYPE, channel.span, message);
            }
            let at = self.class_index(class, channel, me)?;
            let mut body = self.event(Use::Send, (class, at), &values, sorted, span)?;
            body.extend(match sorted {
                true => self.send_sorted(class, &place, values),
                false => self.append(class, &place, values),
            });
            arms.push((is, body));
        }
        Ok(self.first_of(arms, span))
    }

    /// The first arm whose condition holds.
    fn first_of(&self, mut arms: Vec<(Expr, Vec<Stmt>)>, span: Span) -> Vec<Stmt> {
        match arms.len() {
            0 => Vec::new(),
            1 => arms.swap_remove(0).1,
            _ => vec![Stmt { kind: StmtKind::If(arms, Vec::new()), span }],
        }
    }

    fn append(&mut self, class: usize, channel: &Place, values: Vec<Expr>) -> Vec<Stmt> {
        let length = self.length(channel);
        let at = self.read(length.clone());
        let store = |(part, value)| self.assign(self.part(class, channel, at.clone(), part), value);
        let mut body: Vec<Stmt> = values.into_iter().enumerate().map(store).collect();
        let more = self.binary(BinaryOp::Add, at.clone(), self.int(1, channel.span));
        body.push(self.assign(length, more));
        body
    }

    /// Puts a message before the first that is greater.
    fn send_sorted(&mut self, class: usize, channel: &Place, values: Vec<Expr>) -> Vec<Stmt> {
        let span = channel.span;
        let length = self.read(self.length(channel));
        let mut body = Vec::new();
        let mut held = Vec::new();
        for value in values {
            let local = self.new_local("$value", value.ty, LocalKind::Variable, span);
            body.push(self.bind(local, value));
            held.push(local);
        }
        let spot = self.new_local("$at", self.integer, LocalKind::Variable, span);
        body.push(self.bind(spot, length.clone()));
        // Looking from the end, the last place found is the first.
        let at = self.bound("$k", span);
        let position = self.read_local(at, span);
        let last = self.binary(BinaryOp::Sub, length.clone(), self.int(1, span));
        let mut greater = self.truth(false, span);
        for part in (0..held.len()).rev() {
            let kind = self.part_kind(class, part);
            let there = self.to_int(self.read(self.part(class, channel, position.clone(), part)), kind);
            let here = self.to_int(self.read_local(held[part], span), kind);
            let above = self.binary(BinaryOp::Gt, there.clone(), here.clone());
            let same = self.equal(there, here);
            let later = self.and(vec![same, greater], span);
            greater = self.or(vec![above, later], span);
        }
        let found = self.assign(self.local_place(spot, span), position.clone());
        let down = Domain::Range {
            from: Box::new(last.clone()),
            to: Box::new(self.int(0, span)),
            by: Box::new(self.int(-1, span)),
        };
        let look = self.when(greater, vec![found], Vec::new());
        body.push(Stmt { kind: StmtKind::For { local: at, domain: down.clone(), body: look }, span });
        // Those behind it move back.
        let next = self.binary(BinaryOp::Add, position.clone(), self.int(1, span));
        let behind = self.binary(BinaryOp::Ge, position.clone(), self.read_local(spot, span));
        let moved = self.copy_message(channel, position, next);
        let moves = self.when(behind, vec![moved], Vec::new());
        body.push(Stmt { kind: StmtKind::For { local: at, domain: down, body: moves }, span });
        let spot = self.read_local(spot, span);
        for (part, local) in held.into_iter().enumerate() {
            let value = self.read_local(local, span);
            body.push(self.assign(self.part(class, channel, spot.clone(), part), value));
        }
        let more = self.binary(BinaryOp::Add, length, self.int(1, span));
        body.push(self.assign(self.length(channel), more));
        body
    }

    fn copy_message(&self, channel: &Place, from: Expr, to: Expr) -> Stmt {
        let messages = self.field(channel.clone(), 1);
        let value = self.read(self.index(messages.clone(), from));
        self.assign(self.index(messages, to), value)
    }

    /// Whether a message can be received from a channel that stores messages.
    pub(super) fn can_receive(&mut self, receive: &Receive, me: Option<&Me>) -> OrReported<Expr> {
        let span = receive.channel.span;
        let mut all = Vec::new();
        for (is, place, class) in self.stores(&receive.channel, me)? {
            let parts = self.parts(class, receive, me)?;
            let length = self.read(self.length(&place));
            let fits = if receive.random && self.channels.classes[class].capacity > 1 {
                let local = self.bound("$k", span);
                let at = self.read_local(local, span);
                let value = |part: usize| self.read(self.part(class, &place, at.clone(), part));
                let fits = self.matches(class, &parts, &value, span);
                let capacity = i64::from(self.channels.classes[class].capacity);
                let inside = self.binary(BinaryOp::Lt, at.clone(), length.clone());
                let domain = self.range_domain(self.int(0, span), self.int(capacity - 1, span));
                let body = self.and(vec![inside, fits], span);
                self.exists(local, domain, body)
            } else {
                let first = self.int(0, span);
                let value = |part: usize| self.read(self.part(class, &place, first.clone(), part));
                let some = self.not(self.equal(length, self.int(0, span)));
                self.and(vec![some, self.matches(class, &parts, &value, span)], span)
            };
            all.push(self.and(vec![is, fits], span));
        }
        let some = self.or(all, span);
        self.if_exists(&receive.channel, me, some)
    }

    /// Receives a message from a channel that stores messages.
    pub(super) fn receive(&mut self, receive: &Receive, me: Option<&Me>) -> OrReported<Vec<Stmt>> {
        let span = receive.channel.span;
        let mut arms = Vec::new();
        for (is, place, class) in self.stores(&receive.channel, me)? {
            let parts = self.parts(class, receive, me)?;
            let at = self.class_index(class, &receive.channel, me)?;
            let first = |part| self.read(self.part(class, &place, self.int(0, span), part));
            let values: Vec<Expr> = (0..parts.len()).map(first).collect();
            let mut body = match receive.copy {
                true => Vec::new(),
                false => self.event(Use::Receive, (class, at), &values, receive.random, span)?,
            };
            let mut place = place;
            // What is stored may be what the channel is found by: it is found once.
            let moves = |projection: &Projection| !matches!(projection, Projection::Index(index) if matches!(index.kind, shoal_model::ExprKind::Const(_)));
            if parts.iter().any(|part| matches!(part, MessagePart::Store(..))) && place.path.iter().any(moves)
            {
                let kind = LocalKind::Reference { writable: true };
                let local = self.new_local("$channel", place.ty, kind, span);
                let to = shoal_model::Argument::Place(place);
                let binding = shoal_model::Binding { local, to };
                body.push(Stmt { kind: StmtKind::Bind(vec![binding]), span });
                place = self.local_place(local, span);
            }
            let spot = if receive.random && self.channels.classes[class].capacity > 1 {
                self.find(class, &place, &parts, &mut body)
            } else {
                self.int(0, span)
            };
            let value =
                |lowerer: &Self, part: usize| lowerer.read(lowerer.part(class, &place, spot.clone(), part));
            let stores = self.store_parts(class, &parts, &value)?;
            body.extend(stores);
            if !receive.copy {
                body.extend(self.remove(class, &place, spot));
            }
            arms.push((is, body));
        }
        Ok(self.first_of(arms, span))
    }

    /// The position of the first message that fits; there is one.
    fn find(&mut self, class: usize, channel: &Place, parts: &[MessagePart], body: &mut Vec<Stmt>) -> Expr {
        let span = channel.span;
        let spot = self.new_local("$at", self.integer, LocalKind::Variable, span);
        body.push(self.bind(spot, self.int(0, span)));
        let local = self.bound("$k", span);
        let at = self.read_local(local, span);
        let value = |part: usize| self.read(self.part(class, channel, at.clone(), part));
        let fits = self.matches(class, parts, &value, span);
        let last = self.binary(BinaryOp::Sub, self.read(self.length(channel)), self.int(1, span));
        let domain = Domain::Range {
            from: Box::new(last),
            to: Box::new(self.int(0, span)),
            by: Box::new(self.int(-1, span)),
        };
        let found = self.assign(self.local_place(spot, span), at);
        let look = self.when(fits, vec![found], Vec::new());
        body.push(Stmt { kind: StmtKind::For { local, domain, body: look }, span });
        self.read_local(spot, span)
    }

    /// Takes a message out; those behind it move forward, and the place that is left is 0.
    fn remove(&mut self, class: usize, channel: &Place, at: Expr) -> Vec<Stmt> {
        let span = channel.span;
        let length = self.length(channel);
        let last = self.binary(BinaryOp::Sub, self.read(length.clone()), self.int(1, span));
        let mut body = Vec::new();
        if self.channels.classes[class].capacity > 1 {
            let local = self.bound("$k", span);
            let here = self.read_local(local, span);
            let before = self.binary(BinaryOp::Sub, last.clone(), self.int(1, span));
            let domain = self.range_domain(at, before);
            let next = self.binary(BinaryOp::Add, here.clone(), self.int(1, span));
            let moved = self.copy_message(channel, next, here);
            body.push(Stmt { kind: StmtKind::For { local, domain, body: vec![moved] }, span });
        }
        body.push(self.assign(length.clone(), last));
        let messages = self.field(channel.clone(), 1);
        let freed = self.index(messages, self.read(length));
        body.extend(self.zero(&freed));
        body
    }
}
