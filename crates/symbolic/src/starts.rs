//! How a model begins.
//!
//! Starts with few choices are run once for each combination. Where there are many, choices are bits beside those of the
//! state, the start is run once on all of them, and its states are a set from the beginning.

use shoal_model::{
    Domain, During, Expr, ExprKind, Fault, Model, Node, OrInternal, PropertyId, Rule, StartId, State, Stmt,
    StmtKind, Value, Watch, walk_block,
};

use crate::{
    dd::{Bdd, Dd, DdResult, DdVar, Renaming},
    encode::{constants, state_of},
    layout::{self, Bit, BitLayout, LayoutCell, now},
    machine::SymbolicMachine,
    run,
    tail::TailGround,
};

/// A start, the values of its parameters, its choices and the state it makes.
pub(crate) type Started = (StartId, Vec<Value>, Vec<Value>, State);

/// What the starts come to.
#[derive(Default)]
pub(crate) struct SymbolicStarts {
    pub(crate) states: Vec<Started>,
    pub(crate) faults: Vec<(During, Fault)>,
    pub(crate) covered: Vec<PropertyId>,
    open: Vec<OpenStart>,
}

/// A start with many choices.
struct OpenStart {
    start: StartId,
    args: Vec<Value>,
    /// How many bits its choices need.
    bits: Bit,
    made: Option<StartResult>,
}

/// What it comes to.
struct StartResult {
    /// The choices it has.
    choices: Vec<LayoutCell>,
    /// Those that lead to a state.
    ends: Bdd,
    /// The bits of that state.
    digits: Vec<(Bit, Bdd)>,
}

/// More combinations of choices than this are not taken one by one.
const FEW: usize = 64;

/// Runs all starts, but for those with many choices.
pub(crate) fn run(model: &Model, watch: &Watch) -> DdResult<SymbolicStarts> {
    let dd = Dd::small(watch)?;
    let blank = model.blank_state();
    let machine = SymbolicMachine::new(model, &dd, constants(model, &dd, &blank));
    let mut starts = SymbolicStarts::default();
    for (id, start) in model.starts.enumerate() {
        for args in run::valuations(&machine, start)? {
            match open(&machine, &start.code.body) {
                Some(bits) => starts.open.push(OpenStart { start: id, args, bits, made: None }),
                None => starts.one_by_one(&machine, (id, start), &args, &blank)?,
            }
        }
    }
    Ok(starts)
}

/// The number of bits that the choices of a start take if all are taken at once; nothing if they are better taken one by
/// one, because there are few or because not every run makes the same choices.
fn open(machine: &SymbolicMachine<'_>, body: &[Stmt]) -> Option<Bit> {
    let choices = choices_of(machine, body)?;
    let combinations = choices.iter().try_fold(1_usize, |all, values| all.checked_mul(*values));
    let bits = || choices.iter().map(|values| values.next_power_of_two().trailing_zeros()).sum();
    (combinations.is_none_or(|all| all > FEW) && !choices.contains(&0)).then(bits)
}

/// How many values each choice has, where every run makes the same choices in the same order, each of all values of a type.
fn choices_of(machine: &SymbolicMachine<'_>, body: &[Stmt]) -> Option<Vec<usize>> {
    let mut choices = Vec::new();
    for stmt in body {
        match &stmt.kind {
            StmtKind::Choose { domain: Domain::Type(ty), .. } => {
                machine.few(*ty).ok()?;
                choices.push(machine.values_of(*ty).len());
            }
            StmtKind::For { domain: Domain::Type(ty), body, .. } => {
                let once = choices_of(machine, body)?;
                machine.few(*ty).ok()?;
                machine.values_of(*ty).iter().for_each(|_| choices.extend(&once));
            }
            StmtKind::If(arms, _) if matches!(arms.first(), Some((when, _)) if is_true(when)) => {
                choices.extend(choices_of(machine, &arms[0].1)?);
            }
            _ => {
                let mut unsteady = false;
                walk_block(std::slice::from_ref(stmt), &mut |node| {
                    let kind = match node {
                        Node::Stmt(stmt) => &stmt.kind,
                        _ => return,
                    };
                    unsteady |=
                        matches!(kind, StmtKind::Choose { .. } | StmtKind::Call(..) | StmtKind::Return(_));
                });
                if unsteady {
                    return None;
                }
            }
        }
    }
    Some(choices)
}

fn is_true(expr: &Expr) -> bool {
    expr.kind == ExprKind::Const(Value::Bool(true))
}

impl SymbolicStarts {
    /// How many bits choices need beside those of the state.
    pub(crate) fn bits(&self) -> Bit {
        self.open.iter().map(|open| open.bits).max().unwrap_or(0)
    }

    fn one_by_one<'m>(
        &mut self,
        machine: &SymbolicMachine<'m>,
        (id, start): (StartId, &'m Rule),
        args: &[Value],
        blank: &State,
    ) -> DdResult<()> {
        for after in run::runs(machine, start, args, &machine.dd.yes())? {
            let choices = run::choices(&after);
            if after.dropped.is_false() {
                let covered = after.covered.iter().filter(|(_, place)| place.is_true());
                self.covered.extend(covered.map(|(property, _)| *property));
            }
            if let Some((_, fault)) = after.faults.first() {
                self.faults.push((During::Start(id, args.to_vec(), choices), fault.clone()));
            } else if after.dropped.is_false() {
                self.states.push((id, args.to_vec(), choices, state_of(&after, blank)));
            }
        }
        Ok(())
    }

    /// The states of the starts with many choices. Cells that can be undefined after all are noted.
    pub(crate) fn open(&mut self, ground: &TailGround<'_, '_>, undefined: &mut Vec<usize>) -> DdResult<Bdd> {
        let (dd, model) = (ground.dd, ground.base.model);
        let blank = constants(model, dd, &model.blank_state());
        let mut all = dd.no();
        for open in &mut self.open {
            let mut machine = SymbolicMachine::new(model, dd, blank.clone());
            machine.free = Some((ground.layout.bits, Vec::new()));
            let start = &model.starts[open.start];
            machine.begin(start, &open.args)?;
            machine.body(&start.code.body)?;
            let (_, choices) =
                machine.free.take().or_internal("the machine keeps the choices that it was given");
            let valid = choices.iter().try_fold(dd.yes(), |all, cell| all.and(&layout::valid(dd, cell)?))?;
            let first_time = open.made.is_none();
            for (place, fault) in machine.faults.iter().filter(|_| first_time) {
                if let Some(picked) = place.and(&valid)?.pick() {
                    let choices = decode(model, ground.layout, &choices, &picked);
                    let during = During::Start(open.start, open.args.clone(), choices);
                    self.faults.push((during, fault.clone()));
                }
            }
            for (property, place) in &machine.covered {
                if place.and(&valid)?.minus(&machine.dropped)?.meets(&valid)? {
                    self.covered.push(*property);
                }
            }
            let ends = valid.minus(&machine.dead)?;
            let digits = digits(ground, &machine, &ends, undefined)?;
            let made = StartResult { choices, ends, digits };
            all = all.or(&made.states(dd)?)?;
            open.made = Some(made);
        }
        Ok(all)
    }

    /// The start that makes a state.
    pub(crate) fn find(
        &self,
        model: &Model,
        layout: &BitLayout,
        bits: &[bool],
        state: &State,
    ) -> DdResult<Option<Started>> {
        if let Some(found) = self.states.iter().find(|(_, _, _, made)| made == state) {
            return Ok(Some(found.clone()));
        }
        for open in &self.open {
            let Some(made) = &open.made else { continue };
            let mut these = made.ends.clone();
            for (bit, digit) in &made.digits {
                these = if bits[*bit as usize] { these.and(digit)? } else { these.minus(digit)? };
            }
            if let Some(picked) = these.pick() {
                let choices = decode(model, layout, &made.choices, &picked);
                return Ok(Some((open.start, open.args.clone(), choices, state.clone())));
            }
        }
        Ok(None)
    }
}

/// The values of choices in a valuation.
fn decode(model: &Model, layout: &BitLayout, choices: &[LayoutCell], valuation: &[bool]) -> Vec<Value> {
    let bit = |bit: Bit| valuation[now(bit) as usize];
    choices.iter().map(|cell| layout.decode_cell(model, cell, &bit)).collect()
}

/// The bits of the state that a start makes.
fn digits(
    ground: &TailGround<'_, '_>,
    after: &SymbolicMachine<'_>,
    ends: &Bdd,
    undefined: &mut Vec<usize>,
) -> DdResult<Vec<(Bit, Bdd)>> {
    let mut digits = Vec::new();
    let cells = ground.layout.cells.iter().zip(ground.layout.scalars(after));
    for (at, (cell, scalar)) in cells.enumerate() {
        if !cell.optional && scalar.undefined.meets(ends)? {
            undefined.push(at);
            continue;
        }
        let code = layout::write(ground.base.model, ground.dd, cell, scalar)?;
        digits.extend(cell.bits.iter().copied().zip(code));
    }
    Ok(digits)
}

impl StartResult {
    /// The states, as a set. A choice that is put into a variable as it is *is* that variable from then on: a diagram that
    /// says of many variables above that they are the same as many choices below would be huge.
    fn states(&self, dd: &Dd) -> DdResult<Bdd> {
        let mut copies: Vec<(DdVar, DdVar)> = Vec::new();
        let mut others = Vec::new();
        let valid = |var: DdVar| {
            let cell = self.choices.iter().find(|cell| cell.bits.iter().any(|bit| now(*bit) == var));
            cell.map_or(Ok(dd.yes()), |cell| layout::valid(dd, cell))
        };
        for (bit, digit) in &self.digits {
            let mut source = None;
            for var in digit.support() {
                if source.is_none() && !digit.xor(&dd.var(var)?)?.meets(&valid(var)?)? {
                    source = Some(var);
                }
            }
            match source {
                Some(var) if copies.iter().all(|(known, _)| *known != var) => copies.push((var, now(*bit))),
                _ => others.push((now(*bit), digit)),
            }
        }
        let pairs = copies.iter().map(|(from, to)| Ok((*from, dd.var(*to)?)));
        let renaming = Renaming::new(pairs.collect::<DdResult<Vec<_>>>()?);
        let mut states = self.ends.rename(&renaming)?;
        for (var, digit) in others {
            states = states.and(&dd.var(var)?.equiv(&digit.rename(&renaming)?)?)?;
        }
        let left = self.choices.iter().flat_map(|cell| &cell.bits).map(|bit| now(*bit));
        states.exists(&dd.cube(&left.collect::<Vec<_>>())?)
    }
}
