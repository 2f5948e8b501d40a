//! What expressions and statements mean on lumped zones.
//!
//! A machine runs code on one state. Where there are several ways to go on (an argument, a choice, a disjunct of a
//! condition on clocks) it takes the one its script names and notes how many there were; running it again with the next
//! script takes the next. So all code is written as if there were one way only.

mod clocked;
mod eval;
mod frame;
mod places;
mod run;

use shoal_dbm::{ClockEvent, Constraint};
use shoal_model::{
    Domain, Expr, Fault, FaultKind, IndexVec, Local, LocalId, Model, OrInternal, SortId, Type, TypeId,
    TypedId, Unsupported, Value, Watch,
};
use shoal_syntax::Span;
use shoal_tctl::{ENGINE, TctlHalt};

use self::frame::ZoneFrame;
use super::{
    layout::ZoneLayout,
    state::{Counting, NOBODY, UNDEFINED, ZoneState},
};

/// Why a run ends early.
#[derive(Clone, Debug)]
pub(crate) enum ZoneStop {
    /// There is no such run: a guard or an assumption does not hold.
    NoRun,
    /// Something is wrong.
    Fault(Fault),
    /// The engine cannot go on.
    Halt(TctlHalt),
}

pub(crate) type ZoneResult<T = ()> = Result<T, ZoneStop>;

fn fault<T>(kind: FaultKind, span: Span) -> ZoneResult<T> {
    Err(ZoneStop::Fault(Fault { kind, span }))
}

pub(crate) fn refuse<T>(construct: impl Into<String>, span: Span) -> ZoneResult<T> {
    let lacks = Unsupported { engine: ENGINE, construct: construct.into(), span: Some(span) };
    Err(ZoneStop::Halt(lacks.into()))
}

/// A disjunction of conjunctions of clock constraints: what is left of a condition when its cells are known.
pub(crate) type Clocked = Vec<Vec<Constraint>>;

/// A member of a class that a quantifier is looking at: its class, and which of the members it is.
const MEMBER: i64 = 1 << 32;
/// At least so many members of a class are looked at by quantifiers: those whose clocks the zone has.
const MEMBERS: u32 = 2;

/// Runs code on a state.
pub(crate) struct ZoneMachine<'a> {
    pub(crate) model: &'a Model,
    pub(crate) layout: &'a ZoneLayout,
    pub(crate) counting: Counting,
    pub(crate) state: ZoneState,
    frames: Vec<ZoneFrame>,
    /// The decisions to take; after them, the first of everything.
    script: Vec<usize>,
    /// The decisions taken, and how many ways there were.
    trail: Vec<(usize, usize)>,
    /// Values of choices, for traces.
    pub(crate) choices: Vec<Value>,
    /// What happened to clocks, if anybody wants to know.
    pub(crate) events: Option<Vec<ClockEvent>>,
    /// Then too: the clock that each clock was before elements were taken out of their classes.
    pub(crate) origins: Option<Vec<usize>>,
    /// How many quantifiers are around.
    nesting: u32,
    /// How many elements are named that have not been taken out of their classes.
    pub(crate) inside: u32,
    /// So many members of a class are looked at: as many as quantifiers are nested, for more cannot be told apart.
    members: u32,
    watch: &'a Watch,
    /// Rounds of loops until the watch is looked at.
    left: u32,
}

/// Rounds of loops between two looks at the watch.
const ROUNDS: u32 = 1 << 10;

/// Control flow.
pub(crate) enum ZoneFlow {
    Next,
    /// With the result, part by part; nothing if there is none.
    Return(CellsValue),
}

/// A value: one number, or those of its parts, first to last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CellsValue {
    None,
    One(i64),
    Many(Vec<i64>),
}

impl<'a> ZoneMachine<'a> {
    pub(crate) fn new(
        model: &'a Model,
        layout: &'a ZoneLayout,
        counting: Counting,
        watch: &'a Watch,
        state: ZoneState,
        script: Vec<usize>,
    ) -> Self {
        ZoneMachine {
            model,
            layout,
            counting,
            state,
            frames: Vec::new(),
            script,
            trail: Vec::new(),
            choices: Vec::new(),
            events: None,
            origins: None,
            nesting: 0,
            inside: 0,
            members: MEMBERS,
            watch,
            left: ROUNDS,
        }
    }

    /// One round more of a loop that may be long.
    fn tick(&mut self) -> ZoneResult {
        self.left -= 1;
        if self.left == 0 {
            self.left = ROUNDS;
            self.watch.check().map_err(|reason| ZoneStop::Halt(reason.into()))?;
        }
        Ok(())
    }

    /// Whether values of a type have parts.
    fn is_composite(&self, ty: TypeId) -> bool {
        matches!(self.model.kind(ty), Type::Array { .. } | Type::Record { .. })
    }

    /// Keeps a record of what happens to clocks.
    pub(crate) fn record(&mut self) {
        self.events = Some(Vec::new());
        self.origins = Some((1..self.state.zone.dim()).collect());
    }

    /// The script after this run's, if there is another way that begins with these decisions.
    pub(crate) fn next_script(&self, first: &[usize]) -> Option<Vec<usize>> {
        let mut trail = self.trail.clone();
        while let Some((taken, ways)) = trail.pop() {
            if taken + 1 < ways {
                let mut script: Vec<usize> = trail.iter().map(|(taken, _)| *taken).collect();
                script.push(taken + 1);
                return script.starts_with(first).then_some(script);
            }
        }
        None
    }

    /// One of several ways.
    fn decide(&mut self, ways: usize) -> ZoneResult<usize> {
        if ways == 0 {
            return Err(ZoneStop::NoRun);
        }
        let way = self.script.get(self.trail.len()).copied().unwrap_or(0);
        self.trail.push((way, ways));
        Ok(way)
    }

    pub(crate) fn push_frame(&mut self, locals: &IndexVec<LocalId, Local>) {
        self.frames.push(ZoneFrame::new(self.model, self.layout, locals, None));
    }

    /// The locals of the code that is running.
    fn frame(&mut self) -> &mut ZoneFrame {
        self.frames.last_mut().or_internal("code that runs has a frame")
    }

    pub(crate) fn set_local(&mut self, local: LocalId, value: i64) {
        self.frame().scalars[local.index()] = value;
    }

    /// A local of the rule itself.
    pub(crate) fn bottom_local(&self, local: LocalId) -> i64 {
        self.frames.first().or_internal("a rule that runs has a frame").scalars[local.index()]
    }

    fn local(&self, local: LocalId) -> i64 {
        self.frames.last().or_internal("code that runs has a frame").scalars[local.index()]
    }

    fn is_lumped(&self, sort: SortId) -> bool {
        self.layout.local[sort.index()].is_some()
    }

    /// The class that stands for a member.
    fn class(handle: i64) -> (usize, usize) {
        ((handle % MEMBER) as usize, (handle / MEMBER) as usize)
    }

    /// A value as a number.
    pub(crate) fn encode(&self, value: &Value) -> i64 {
        match value {
            Value::Bool(value) => i64::from(*value),
            Value::Int(value) => *value,
            Value::Enum(_, at) => i64::from(*at),
            Value::Null => NOBODY,
            Value::Elem(sort, element) if self.is_lumped(*sort) => {
                let pinned = |class: &super::state::MemberClass| {
                    class.sort == sort.index() && class.cells[0] == i64::from(*element)
                };
                self.state.classes.iter().position(pinned).map_or(UNDEFINED, |class| class as i64)
            }
            Value::Elem(_, element) => i64::from(*element),
            _ => UNDEFINED,
        }
    }

    /// A number as a value of a type; elements of lumped sorts by their first member, where members are known.
    pub(crate) fn decode(&self, ty: TypeId, number: i64) -> Value {
        if number == UNDEFINED {
            return Value::Undefined;
        }
        match self.model.kind(ty) {
            Type::Bool => Value::Bool(number != 0),
            Type::Enum { .. } => Value::Enum(ty, number as u32),
            Type::Ref { .. } if number == NOBODY => Value::Null,
            Type::Ref { sort, .. } if self.is_lumped(*sort) => {
                let class = &self.state.classes[Self::class(number).0];
                let name = u32::try_from(class.cells[0]).ok().or(class.members.first().copied());
                Value::Elem(*sort, name.unwrap_or_default())
            }
            Type::Ref { sort, .. } => Value::Elem(*sort, number as u32),
            _ => Value::Int(number),
        }
    }

    /// Gives a parameter one of its values. A member of a lumped sort is taken out of its class.
    pub(crate) fn bind_parameter(&mut self, local: LocalId, domain: &Domain, span: Span) -> ZoneResult {
        let value = match domain {
            Domain::Type(ty) => match self.model.kind(*ty) {
                Type::Ref { sort, nullable } if self.is_lumped(*sort) => {
                    let classes = self.classes_of(*sort, *nullable);
                    let way = self.decide(classes.len())?;
                    match classes[way] {
                        NOBODY => NOBODY,
                        class => self.single_out(class as usize)? as i64,
                    }
                }
                _ => {
                    let Some(ways) = self.model.cardinality(*ty) else {
                        return refuse("a parameter with infinitely many values", span);
                    };
                    let way = self.decide(ways as usize)?;
                    let value = self.model.value_at(*ty, way as u64).or_internal("a type has all its values");
                    self.encode(&value)
                }
            },
            Domain::Range { .. } => {
                let values = self.values(domain, span)?;
                let way = self.decide(values.len())?;
                values[way]
            }
            Domain::Slots(_) => return refuse("slots of multisets", span),
        };
        self.set_local(local, value);
        Ok(())
    }

    /// The classes of a lumped sort, and nobody where a reference may be to nobody.
    fn classes_of(&self, sort: SortId, nullable: bool) -> Vec<i64> {
        let classes = self.state.classes.iter().enumerate();
        let own = classes.filter(|(_, class)| class.sort == sort.index()).map(|(at, _)| at as i64);
        own.chain(nullable.then_some(NOBODY)).collect()
    }

    /// The values of a parameter, in the order of decisions. A member of a lumped sort stays in its class, which stands for it.
    pub(crate) fn arguments(&mut self, domain: &Domain, span: Span) -> Result<Vec<i64>, TctlHalt> {
        if let Domain::Type(ty) = domain
            && let Type::Ref { sort, nullable } = self.model.kind(*ty)
            && self.is_lumped(*sort)
        {
            self.inside = 1;
            return Ok(self.classes_of(*sort, *nullable));
        }
        match self.values(domain, span) {
            Ok(values) => Ok(values),
            Err(ZoneStop::Halt(halt)) => Err(halt),
            Err(ZoneStop::NoRun | ZoneStop::Fault(_)) => {
                shoal_model::internal!("the values of a plain domain are found without a fault")
            }
        }
    }

    /// The value of an expression without clocks; nothing if there is none.
    pub(crate) fn tried(&mut self, expr: &Expr) -> Option<i64> {
        let (frames, nesting) = (self.frames.len(), self.nesting);
        let value = self.eval(expr);
        self.frames.truncate(frames);
        self.nesting = nesting;
        value.ok()
    }

    /// One member of a class as a class of its own.
    fn single_out(&mut self, class: usize) -> ZoneResult<usize> {
        let count = self.state.classes[class].count;
        if count == 1 {
            return Ok(class);
        }
        let left = self.counting.less_one(count);
        let way = self.decide(left.len())?;
        let before = self.state.split(self.layout, class, left[way]);
        if let Some(origins) = &mut self.origins {
            *origins = before.iter().map(|clock| origins[clock - 1]).collect();
        }
        Ok(self.state.classes.len() - 1)
    }

    /// The values of a domain that is no lumped sort.
    fn values(&mut self, domain: &Domain, span: Span) -> ZoneResult<Vec<i64>> {
        match domain {
            Domain::Type(ty) => match self.model.kind(*ty) {
                Type::Ref { sort, nullable } if self.is_lumped(*sort) => {
                    let mut members: Vec<i64> = if *nullable { vec![NOBODY] } else { Vec::new() };
                    for (number, class) in self.state.classes.iter().enumerate() {
                        if class.sort == sort.index() {
                            let shown = i64::from(class.count.min(self.members));
                            members.extend((0..shown).map(|member| number as i64 + member * MEMBER));
                        }
                    }
                    Ok(members)
                }
                _ => {
                    let mut values = Vec::new();
                    for value in self.model.values(*ty) {
                        self.tick()?;
                        values.push(self.encode(&value));
                    }
                    Ok(values)
                }
            },
            Domain::Range { from, to, by } => {
                let (first, last, step) = (self.eval(from)?, self.eval(to)?, self.eval(by)?);
                if step == 0 {
                    return fault(FaultKind::ZeroStep, by.span);
                }
                let inside = |value: &i64| if step > 0 { *value <= last } else { *value >= last };
                let next = |value: &i64| value.checked_add(step).filter(inside);
                let mut values = Vec::new();
                for value in std::iter::successors(Some(first).filter(inside), next) {
                    self.tick()?;
                    values.push(value);
                }
                Ok(values)
            }
            Domain::Slots(_) => refuse("slots of multisets", span),
        }
    }
}
