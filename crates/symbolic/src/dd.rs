//! Decision diagrams: a thin layer over OxiDD that knows when to stop.
//!
//! Every operation can run out of memory; then dead nodes are collected and it is tried once more. What is shown as the
//! peak are the nodes that are there between operations, after a collection where there was one: an upper bound of the
//! nodes that are alive, which is what the peaks in the literature count.

use std::{
    cell::{Cell, RefCell},
    fmt,
    hash::{Hash, Hasher},
    rc::Rc,
    thread,
    time::Duration,
};

use num_bigint::BigUint;
use oxidd::{
    BooleanFunction, BooleanFunctionQuant, BooleanOperator, Function, FunctionSubst, HasLevel, Manager,
    ManagerRef, Node, Subst,
    bdd::{BDDFunction, BDDManagerRef},
    util::{AllocResult, OptBool, SatCountCache},
};
use rustc_hash::FxHashMap;
use shoal_model::{Limits, StopReason, Watch};
use shoal_syntax::Span;

/// Why work on diagrams ends before it is done.
#[derive(Clone, Debug, PartialEq)]
pub enum DdHalt {
    /// There is no room for more nodes.
    Memory,
    /// A limit was reached, or the user stopped it.
    Stop(StopReason),
    /// The model has something that cannot be turned into diagrams.
    Lacks {
        /// The construct.
        construct: String,
        /// Where it stands.
        span: Option<Span>,
    },
}

/// What comes of work on diagrams.
pub type DdResult<T> = Result<T, DdHalt>;

/// A construct that is not supported.
pub fn lacks<T>(construct: impl Into<String>, span: Span) -> DdResult<T> {
    Err(DdHalt::Lacks { construct: construct.into(), span: Some(span) })
}

/// The number of a variable, which is also its level: the order is fixed when the variables are made.
pub type DdVar = u32;

/// The memory of a home for diagrams of values that depend on nothing.
const SMALL: u64 = 1 << 22;

/// The watch, as operations on diagrams look at it: there is no other place that all long work comes by.
struct DdClock {
    watch: RefCell<Watch>,
    ticks: Cell<u8>,
}

impl DdClock {
    /// Ends the work if it is time.
    fn look(&self) -> DdResult<()> {
        self.ticks.set(self.ticks.get().wrapping_add(1));
        match self.ticks.get().is_multiple_of(4) {
            true => self.watch.borrow().check().map_err(DdHalt::Stop),
            false => Ok(()),
        }
    }
}

/// A set of valuations.
#[derive(Clone)]
pub struct Bdd(BDDFunction, Rc<DdClock>);

impl PartialEq for Bdd {
    fn eq(&self, other: &Bdd) -> bool {
        self.0 == other.0
    }
}

impl Eq for Bdd {}

impl Hash for Bdd {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl fmt::Debug for Bdd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.is_true(), self.is_false()) {
            (true, _) => f.write_str("true"),
            (_, true) => f.write_str("false"),
            _ => write!(f, "({} nodes)", self.nodes()),
        }
    }
}

/// The home of all diagrams of one check.
#[derive(Clone)]
pub struct Dd {
    manager: BDDManagerRef,
    vars: DdVar,
    clock: Rc<DdClock>,
    peak: Rc<Cell<u64>>,
    /// Live nodes after the last collection.
    live: Rc<Cell<u64>>,
    /// How often dead nodes were collected among more than a few.
    collections: Rc<Cell<u64>>,
    care: Care,
}

/// What to care for when dead nodes are collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Care {
    /// Seldom: a collection forgets what was computed.
    Speed,
    /// After every image as long as there are few nodes, else whenever a third of them may be dead; and less and less
    /// often if that happens often, because a collection forgets what was computed.
    Peak,
}

/// So few nodes are collected at once.
const FEW: u64 = 4_000;
/// Bytes of a node with its entry in the table of unique nodes.
pub const NODE_BYTES: u64 = 24;

/// The stack of the thread that the library starts for each home.
const WORKER_STACK: usize = 1 << 30;

/// Whether the system gives so many bytes of addresses and a worker's stack beside them. The library would not return if it did
/// not.
fn is_given(bytes: u64) -> bool {
    let mut table: Vec<u8> = Vec::new();
    usize::try_from(bytes).is_ok_and(|bytes| table.try_reserve_exact(bytes).is_ok())
        && thread::Builder::new().stack_size(WORKER_STACK).spawn(|| ()).is_ok_and(|it| it.join().is_ok())
}

impl Dd {
    /// A home for diagrams over so many variables, as large as the memory allowed and the system permit.
    pub fn new(vars: DdVar, watch: &Watch, care: Care) -> DdResult<Dd> {
        const LEAST: u64 = 1 << 16;
        const MOST: u64 = 1 << 28;
        let mut nodes = watch.memory().map_or(MOST, |bytes| bytes / NODE_BYTES).clamp(LEAST, MOST);
        while !is_given(nodes * NODE_BYTES) {
            nodes /= 2;
            if nodes < LEAST {
                return Err(DdHalt::Memory);
            }
        }
        // All of the cache is cleared by a collection.
        let cache = match care {
            Care::Speed => (nodes / 8).clamp(1 << 14, 1 << 20),
            Care::Peak => 1 << 15,
        };
        let manager = oxidd::bdd::new_manager(nodes as usize, cache as usize, 1);
        manager.with_manager_exclusive(|manager| manager.add_vars(vars));
        let clock = Rc::new(DdClock { watch: RefCell::new(watch.clone()), ticks: Cell::new(0) });
        let none = || Rc::new(Cell::new(0));
        Ok(Dd { manager, vars, clock, peak: none(), live: none(), collections: none(), care })
    }

    /// A home for diagrams of values that depend on nothing.
    pub fn small(watch: &Watch) -> DdResult<Dd> {
        let dd = Dd::new(0, &Watch::default().with_memory(Some(SMALL)), Care::Speed)?;
        // It is small itself; what else the process has is measured by what is allowed in all.
        dd.clock.watch.replace(watch.clone());
        Ok(dd)
    }

    /// Leaves so much time from now on, whatever was left before.
    pub fn grant(&self, time: Duration) {
        let limits = Limits { time: Some(time), ..Limits::default() };
        self.clock.watch.replace(Watch::start(limits));
    }

    /// How many variables there are.
    pub fn vars(&self) -> DdVar {
        self.vars
    }

    /// Everything.
    pub fn yes(&self) -> Bdd {
        self.home(self.manager.with_manager_shared(BDDFunction::t))
    }

    /// Nothing.
    pub fn no(&self) -> Bdd {
        self.home(self.manager.with_manager_shared(BDDFunction::f))
    }

    /// Everything or nothing.
    pub fn constant(&self, value: bool) -> Bdd {
        if value { self.yes() } else { self.no() }
    }

    /// Where a variable is true.
    pub fn var(&self, var: DdVar) -> DdResult<Bdd> {
        self.yes().retry(|_| self.manager.with_manager_shared(|manager| BDDFunction::var(manager, var)))
    }

    /// All of them.
    pub fn all(&self, of: impl IntoIterator<Item = Bdd>) -> DdResult<Bdd> {
        of.into_iter().try_fold(self.yes(), |all, one| all.and(&one))
    }

    /// Any of them.
    pub fn any(&self, of: impl IntoIterator<Item = Bdd>) -> DdResult<Bdd> {
        of.into_iter().try_fold(self.no(), |any, one| any.or(&one))
    }

    /// The conjunction of some variables, as quantification takes it.
    pub fn cube(&self, vars: &[DdVar]) -> DdResult<Bdd> {
        let mut vars = vars.to_vec();
        vars.sort_unstable();
        // From below: each step adds one node on top.
        vars.iter().rev().try_fold(self.yes(), |cube, var| self.var(*var)?.and(&cube))
    }

    /// The valuations that agree with these literals.
    pub fn minterm(&self, literals: &[(DdVar, bool)]) -> DdResult<Bdd> {
        let mut literals = literals.to_vec();
        literals.sort_unstable();
        literals.iter().rev().try_fold(self.yes(), |all, (var, value)| {
            let var = self.var(*var)?;
            if *value { var.and(&all) } else { var.not()?.and(&all) }
        })
    }

    /// Nodes in the table, dead ones included.
    pub fn allocated(&self) -> u64 {
        self.manager.with_manager_shared(|manager| manager.num_inner_nodes() as u64)
    }

    /// The greatest number of nodes that were there at once, as far as it was looked at; dead ones may be among them.
    pub fn peak(&self) -> u64 {
        self.peak.get()
    }

    /// Collects dead nodes where that is worth it, and notes how many are alive.
    pub fn tidy(&self) {
        let (allocated, live) = (self.allocated(), self.live.get());
        let collect = match self.care {
            Care::Peak if allocated < FEW => allocated > live,
            Care::Peak if allocated < 500_000 => allocated > live + live / 2 + 50 * self.collections.get(),
            _ => allocated > 4 * live + 200_000,
        };
        if collect {
            self.manager.with_manager_shared(|manager| manager.gc());
            let live = self.allocated();
            self.live.set(live);
            self.collections.set(self.collections.get() + u64::from(live > FEW));
        }
        self.peak.set(self.peak.get().max(self.allocated()));
    }

    fn home(&self, function: BDDFunction) -> Bdd {
        Bdd(function, Rc::clone(&self.clock))
    }
}

/// Variables that are replaced by functions all at once. Made once and used often.
pub struct Renaming(Subst<BDDFunction>);

impl Renaming {
    /// Each variable is replaced by its function.
    pub fn new(pairs: impl IntoIterator<Item = (DdVar, Bdd)>) -> Renaming {
        let (vars, functions): (Vec<DdVar>, Vec<BDDFunction>) =
            pairs.into_iter().map(|(var, function)| (var, function.0)).unzip();
        Renaming(Subst::new(vars, functions))
    }
}

impl Bdd {
    fn retry(&self, go: impl Fn(&BDDFunction) -> AllocResult<BDDFunction>) -> DdResult<Bdd> {
        self.1.look()?;
        let function = go(&self.0).or_else(|_| {
            self.0.with_manager_shared(|manager, _| manager.gc());
            go(&self.0).map_err(|_| DdHalt::Memory)
        })?;
        Ok(Bdd(function, Rc::clone(&self.1)))
    }

    /// Whether it is everything.
    pub fn is_true(&self) -> bool {
        self.0.valid()
    }

    /// Whether it is nothing.
    pub fn is_false(&self) -> bool {
        !self.0.satisfiable()
    }

    /// The truth, where it does not depend on anything.
    pub fn known(&self) -> Option<bool> {
        if self.is_true() {
            Some(true)
        } else if self.is_false() {
            Some(false)
        } else {
            None
        }
    }

    /// Complement.
    pub fn not(&self) -> DdResult<Bdd> {
        self.retry(BDDFunction::not)
    }

    /// Intersection.
    pub fn and(&self, other: &Bdd) -> DdResult<Bdd> {
        self.retry(|it| it.and(&other.0))
    }

    /// Union.
    pub fn or(&self, other: &Bdd) -> DdResult<Bdd> {
        self.retry(|it| it.or(&other.0))
    }

    /// What is in this one only.
    pub fn minus(&self, other: &Bdd) -> DdResult<Bdd> {
        other.retry(|it| it.imp_strict(&self.0))
    }

    /// Where the two differ.
    pub fn xor(&self, other: &Bdd) -> DdResult<Bdd> {
        self.retry(|it| it.xor(&other.0))
    }

    /// Where the two agree.
    pub fn equiv(&self, other: &Bdd) -> DdResult<Bdd> {
        self.retry(|it| it.equiv(&other.0))
    }

    /// `then` inside, `other` outside.
    pub fn ite(&self, then: &Bdd, other: &Bdd) -> DdResult<Bdd> {
        match self.known() {
            Some(true) => Ok(then.clone()),
            Some(false) => Ok(other.clone()),
            None if then == other => Ok(then.clone()),
            None => self.retry(|it| it.ite(&then.0, &other.0)),
        }
    }

    /// Whether they have something in common.
    pub fn meets(&self, other: &Bdd) -> DdResult<bool> {
        Ok(!self.and(other)?.is_false())
    }

    /// Whether all of it is in the other.
    pub fn within(&self, other: &Bdd) -> DdResult<bool> {
        Ok(self.minus(other)?.is_false())
    }

    /// Forgets variables.
    pub fn exists(&self, cube: &Bdd) -> DdResult<Bdd> {
        self.retry(|it| it.exists(&cube.0))
    }

    /// The intersection, with variables forgotten: the relational product.
    pub fn and_exists(&self, other: &Bdd, cube: &Bdd) -> DdResult<Bdd> {
        self.retry(|it| it.apply_exists(BooleanOperator::And, &other.0, &cube.0))
    }

    /// Replaces variables.
    pub fn rename(&self, renaming: &Renaming) -> DdResult<Bdd> {
        self.retry(|it| it.substitute(&renaming.0))
    }

    /// Nodes of this diagram alone.
    pub fn nodes(&self) -> usize {
        self.0.node_count()
    }

    /// How many valuations of `vars` variables it holds, where it is over those only.
    pub fn count(&self, dd: &Dd, vars: DdVar) -> BigUint {
        let mut cache: SatCountCache<BigUint, std::hash::BuildHasherDefault<oxidd::util::FxHasher>> =
            SatCountCache::default();
        self.0.sat_count(dd.vars, &mut cache) >> (dd.vars - vars)
    }

    /// Some valuation, in which variables that do not matter are false.
    pub fn pick(&self) -> Option<Vec<bool>> {
        let cube = self.0.pick_cube(|_, _, _| false)?;
        Some(cube.into_iter().map(|value| value == OptBool::True).collect())
    }

    /// The diagram as a table, to be asked quickly for single valuations.
    pub fn flat(&self) -> FlatDiagram {
        let mut flat = FlatDiagram { nodes: Vec::new(), root: NO };
        flat.root = flat.add(self, &mut FxHashMap::default());
        flat
    }

    /// The variable at the top, of one that is neither everything nor nothing.
    fn top(&self) -> DdVar {
        self.0.with_manager_shared(|manager, edge| match manager.get_node(edge) {
            Node::Inner(node) => manager.level_to_var(node.level()),
            Node::Terminal(_) => DdVar::MAX,
        })
    }

    /// The variables it depends on.
    pub fn support(&self) -> Vec<DdVar> {
        let mut vars: Vec<DdVar> = self.flat().nodes.iter().map(|(var, _, _)| *var).collect();
        vars.sort_unstable();
        vars.dedup();
        vars
    }
}

/// A diagram as a table of nodes: the variable, where to go if it is false, where if it is true.
#[derive(Clone, Debug, PartialEq)]
pub struct FlatDiagram {
    nodes: Vec<(DdVar, i32, i32)>,
    root: i32,
}

/// The ends of a [`FlatDiagram`].
const NO: i32 = -1;
const YES: i32 = -2;

impl FlatDiagram {
    // A function is equal to itself whatever happens to the manager that it refers to.
    #[allow(clippy::mutable_key_type)]
    fn add(&mut self, function: &Bdd, known: &mut FxHashMap<Bdd, i32>) -> i32 {
        let Some((high, low)) = function.0.cofactors() else {
            return if function.is_true() { YES } else { NO };
        };
        if let Some(at) = known.get(function) {
            return *at;
        }
        let high = self.add(&Bdd(high, Rc::clone(&function.1)), known);
        let low = self.add(&Bdd(low, Rc::clone(&function.1)), known);
        self.nodes.push((function.top(), low, high));
        let at = (self.nodes.len() - 1) as i32;
        known.insert(function.clone(), at);
        at
    }

    /// The diagram in another home, where variables have other numbers.
    pub fn unfold(&self, dd: &Dd, var: &dyn Fn(DdVar) -> DdVar) -> DdResult<Bdd> {
        let mut made: Vec<Bdd> = Vec::with_capacity(self.nodes.len());
        let at = |made: &[Bdd], at: i32| match at {
            YES => dd.yes(),
            NO => dd.no(),
            at => made[at as usize].clone(),
        };
        for (of, low, high) in &self.nodes {
            let node = dd.var(var(*of))?.ite(&at(&made, *high), &at(&made, *low))?;
            made.push(node);
        }
        Ok(at(&made, self.root))
    }

    /// Whether a valuation is in the set.
    pub fn holds(&self, valuation: impl Fn(DdVar) -> bool) -> bool {
        let mut at = self.root;
        while at >= 0 {
            let (var, low, high) = self.nodes[at as usize];
            at = if valuation(var) { high } else { low };
        }
        at == YES
    }
}
