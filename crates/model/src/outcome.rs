//! What a check is asked and what it answers.

use std::{fmt, time::Duration};

use shoal_syntax::Span;

use crate::{Limits, Model, PropertyId, PropertyKind, Ratio, RuleId, SortId, State, Trace, Value, Watch};

/// What an engine is asked to do.
#[derive(Clone, Debug)]
pub struct Job {
    /// The properties to decide. Assumptions and rules always apply.
    pub properties: Vec<PropertyId>,
    /// Properties that say which steps fail and are not among those to decide, nor known to hold. What an engine finds out about
    /// them is told with the results, but a search neither ends nor loses patience for their sake: see [`Failing`].
    pub noticed: Vec<PropertyId>,
    /// The sorts to reduce by symmetry; the caller has had them proved.
    pub symmetric: Vec<SortId>,
    /// Further sorts, of which that is not proved. An engine may reduce by them if it checks in every state that it
    /// finds that their elements are treated alike.
    pub checked: Vec<SortId>,
    /// When the engine looks for automorphisms of a model that has no sorts, to reduce by those that it proves.
    pub automorphisms: MirrorSearch,
    /// When to give up. The clock of the watch runs since before the source was read, and is the same for every engine.
    pub watch: Watch,
    /// How many states may still be stored after the first violation, to decide the other properties: a model with
    /// a mistake can have far more states than it was meant to have. No number is no limit.
    pub patience: Option<u64>,
    /// Whether the engine may make machine code of the model. That changes nothing but the time it takes.
    pub jit: bool,
    /// How many threads may search; 0 is the same as 1. What is found does not depend on it.
    pub threads: usize,
    /// How to search and what to keep.
    pub strategy: Strategy,
    /// Whether a search may begin anew if it has seen that reducing orders of steps gains nothing.
    pub adapts: bool,
}

impl Job {
    /// Decides the properties on one thread, without machine code, symmetry or limits.
    pub fn new(properties: Vec<PropertyId>) -> Self {
        Job {
            properties,
            noticed: Vec::new(),
            symmetric: Vec::new(),
            checked: Vec::new(),
            automorphisms: MirrorSearch::Never,
            watch: Watch::default(),
            patience: None,
            jit: false,
            threads: 1,
            strategy: Strategy::default(),
            adapts: false,
        }
    }

    /// What is allowed.
    pub fn limits(&self) -> &Limits {
        self.watch.limits()
    }
}

/// When to look for automorphisms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MirrorSearch {
    /// Not at all.
    #[default]
    Never,
    /// Once there are so many states that it may pay: then the search begins anew if some are proved.
    WhenLarge,
    /// Before the search begins.
    First,
}

/// How a search goes, where the engine leaves a choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strategy {
    /// In which order states are expanded.
    pub order: Order,
    /// What is kept of a state.
    pub storage: Storage,
    /// How representatives are found.
    pub representatives: Representatives,
    /// Whether to leave out orders of steps that make no difference to what is asked.
    pub partial_order: PartialOrder,
}

/// Where orders of steps are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PartialOrder {
    /// Nowhere.
    #[default]
    Off,
    /// Where the model says which agents may go first.
    Agents,
    /// There, and where an analysis finds instances of rules that are independent of each other.
    Stubborn,
}

/// In which order states are expanded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Nearest to a start first: shortest traces.
    #[default]
    BreadthFirst,
    /// The one found last first.
    DepthFirst,
    /// From what must not happen back to a start.
    Backward,
    /// One random successor after the other, from a start again and again; never the whole.
    Walk {
        /// Where the random choices come from.
        seed: u64,
    },
}

/// What is kept of a state to know it again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Storage {
    /// All of it.
    #[default]
    Exact,
    /// All of it, but what many states have in common once (tree compression): less memory for large states, more time.
    Tree,
    /// A hash of 64 bits (hash compaction): two states can be mistaken for one.
    Hashes,
    /// Three bits of a table that fills the memory that is allowed (bitstate hashing): states are mistaken for each other
    /// more often the fuller it is.
    Bits,
}

/// How representatives of orbits are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Representatives {
    /// Exactly one of each orbit.
    #[default]
    Exact,
    /// Some state of the orbit, without a search where elements look alike: less work a state, perhaps more states.
    Fast,
    /// In diagrams, some states of the orbit, by where pointers lead: one pass of graph automorphism symmetry reduction.
    Gasr,
    /// In diagrams, the states of the orbit whose elements are ordered by their data alone.
    Multiple,
}

/// What an engine found out.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// One for each property asked, in the order asked; then what is known of those that are only noticed.
    pub results: Vec<PropertyResult>,
    /// Whether a step fails among those that were looked at, asked or not.
    pub failing: Failing,
    /// What it took.
    pub statistics: Statistics,
}

/// Whether some step or start fails, by an error or a failed assertion: nothing is seen of what is behind it, so nothing holds of
/// all states or runs then. An engine that says that something holds has to know this of all that it looked at.
#[derive(Clone, Debug, PartialEq)]
pub enum Failing {
    /// None does.
    Nothing,
    /// One does.
    Step,
    /// It could not be found out: the property that says it, if it is one, and why.
    Open(Option<PropertyId>, StopReason),
}

impl Failing {
    /// What results say of it.
    pub fn among(model: &Model, results: &[PropertyResult]) -> Failing {
        let mut failing = Failing::Nothing;
        for PropertyResult { property, verdict } in results {
            match verdict {
                Verdict::Violated(violation) if fails_a_step(model, &violation.reason) => {
                    return Failing::Step;
                }
                Verdict::Unknown(reason) if model.properties[*property].kind.says_what_fails() => {
                    failing = failing.or(Failing::Open(Some(*property), reason.clone()));
                }
                Verdict::Holds | Verdict::Violated(_) | Verdict::Unknown(_) => {}
            }
        }
        failing
    }

    /// Whether a step fails here or there.
    #[must_use]
    pub fn or(self, other: Failing) -> Failing {
        match (self, other) {
            (Failing::Step, _) | (_, Failing::Step) => Failing::Step,
            (Failing::Nothing, other) => other,
            (open @ Failing::Open(..), _) => open,
        }
    }
}

/// Whether what is wrong is a step or a start that fails, or an assumption that cannot be evaluated: the state is dropped then.
fn fails_a_step(model: &Model, reason: &Reason) -> bool {
    match reason {
        Reason::Fault(During::Start(..) | During::Guard(..) | During::Body(..), _) => true,
        // What faults in another condition fails no step.
        Reason::Fault(During::Property(id), _) => {
            matches!(model.properties[*id].kind, PropertyKind::Assume(_))
        }
        Reason::After(_, reason) => fails_a_step(model, reason),
        Reason::ConditionFalse
        | Reason::Deadlock
        | Reason::NeverCovered
        | Reason::NotPossible
        | Reason::FormulaFalse => false,
    }
}

impl Outcome {
    /// Nothing is known of any property, for one reason.
    pub fn unknown(properties: &[PropertyId], reason: &StopReason) -> Outcome {
        let unknown = |property: &PropertyId| PropertyResult {
            property: *property,
            verdict: Verdict::Unknown(reason.clone()),
        };
        let results = properties.iter().map(unknown).collect();
        // Nothing is said to hold, so it does not matter.
        Outcome { results, failing: Failing::Nothing, statistics: Statistics::default() }
    }
}

/// The verdict on one property.
#[derive(Clone, Debug)]
pub struct PropertyResult {
    /// The property.
    pub property: PropertyId,
    /// What was found out.
    pub verdict: Verdict,
}

/// Whether a property holds.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// It holds.
    Holds,
    /// It does not, and this shows it.
    Violated(Box<Violation>),
    /// Not known, and this is why.
    Unknown(StopReason),
}

/// Why a property does not hold.
#[derive(Clone, Debug)]
pub struct Violation {
    /// What is wrong at the end of the trace.
    pub reason: Reason,
    /// A run that leads there; none where nothing can be shown (a cover that is never reached).
    pub trace: Option<Trace>,
}

/// What is wrong at the end of a trace.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// The condition of the property is false in the last state.
    ConditionFalse,
    /// Something faults in the last state (in no state, if it is a start).
    Fault(During, Fault),
    /// The last state is a deadlock.
    Deadlock,
    /// No reachable state satisfies the property.
    NeverCovered,
    /// From the last state, no state that satisfies the property can be reached.
    NotPossible,
    /// The run goes on for ever, and the temporal formula is false of it.
    FormulaFalse,
    /// So much time passes in the last state, and then this is wrong.
    After(Ratio, Box<Reason>),
}

impl Reason {
    /// The reason where it needs so much time to come true.
    #[must_use]
    pub fn after(self, delay: Ratio) -> Reason {
        if delay == Ratio::ZERO { self } else { Reason::After(delay, Box::new(self)) }
    }
}

/// What was being evaluated when a fault happened.
#[derive(Clone, Debug, PartialEq)]
pub enum During {
    /// A start with these arguments and choices.
    Start(crate::StartId, Vec<Value>, Vec<Value>),
    /// The guard of a rule with these arguments.
    Guard(RuleId, Vec<Value>),
    /// The body of a rule with these arguments and choices.
    Body(RuleId, Vec<Value>, Vec<Value>),
    /// A property.
    Property(PropertyId),
}

/// A fault: where and what.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fault {
    /// What happened.
    pub kind: FaultKind,
    /// The expression or statement that faulted.
    pub span: Span,
}

/// The kinds of fault.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// A value was read that is undefined.
    Undefined,
    /// A value does not belong to the type of the place it was to be written to.
    OutOfRange,
    /// An array has no element at the index, or a sequence at the position.
    IndexOutOfRange,
    /// A division or remainder by zero.
    DivisionByZero,
    /// A result does not fit in 64 bits.
    Overflow,
    /// A step of 0 in a range.
    ZeroStep,
    /// A `while` loop went on for too long.
    LoopLimit,
    /// Calls are nested too deeply.
    CallDepth,
    /// A function ended without a result.
    NoResult,
    /// A multiset or a sequence is full.
    Full,
    /// A slot of a multiset is free.
    EmptySlot,
    /// A null reference was followed.
    NullReference,
    /// A reference to a deleted element was followed.
    DanglingReference,
    /// A growing sort has reached its limit.
    SortLimit,
    /// Nothing leads any more to an element that was not deleted, and its sort does not allow that.
    LostElement,
    /// A check of kind `Assert` failed.
    Assertion(PropertyId),
}

impl FaultKind {
    /// Whether there is a step all the same, where it is asked if anything can happen. A check that fails is told by itself and
    /// is no obstacle, and a sort that is full says something of our limits. What faults otherwise is no step: a state that
    /// has no other is a deadlock.
    pub fn goes_on(&self) -> bool {
        match self {
            FaultKind::Assertion(_) | FaultKind::SortLimit => true,
            FaultKind::Undefined
            | FaultKind::OutOfRange
            | FaultKind::IndexOutOfRange
            | FaultKind::DivisionByZero
            | FaultKind::Overflow
            | FaultKind::ZeroStep
            | FaultKind::LoopLimit
            | FaultKind::CallDepth
            | FaultKind::NoResult
            | FaultKind::Full
            | FaultKind::EmptySlot
            | FaultKind::NullReference
            | FaultKind::DanglingReference
            | FaultKind::LostElement => false,
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FaultKind::Undefined => "an undefined value is read",
            FaultKind::OutOfRange => "a value is outside the range of what it is assigned to",
            FaultKind::IndexOutOfRange => "an index is out of range",
            FaultKind::DivisionByZero => "division by zero",
            FaultKind::Overflow => "integer overflow",
            FaultKind::ZeroStep => "a loop has a step of 0",
            FaultKind::LoopLimit => "a while loop runs for too long",
            FaultKind::CallDepth => "calls are nested too deeply",
            FaultKind::NoResult => "a function ends without a result",
            FaultKind::Full => "a multiset or sequence is full",
            FaultKind::EmptySlot => "an empty slot of a multiset is used",
            FaultKind::NullReference => "a null reference is followed",
            FaultKind::DanglingReference => "a reference to a deleted element is followed",
            FaultKind::SortLimit => "no more elements of the sort can be created",
            FaultKind::LostElement => "an element that was not deleted cannot be reached any more",
            FaultKind::Assertion(_) => "an assertion fails",
        })
    }
}

/// Why a search ended without an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum StopReason {
    /// So much time was allowed.
    Time(Duration),
    /// So many bytes were allowed.
    Memory(u64),
    /// So many steps from a start were allowed.
    Depth(u64),
    /// So many states were allowed.
    States(u64),
    /// The disk could not take what was to go there: why.
    Disk(String),
    /// A process that searched with this one cannot be heard any more: which, and why.
    Lost(String),
    /// The user asked to stop.
    Interrupted,
    /// A number, or the length of a run, has grown beyond what the engine handles.
    Overflow,
    /// A growing sort has reached its limit.
    Elements(SortId),
    /// The model has no room for more: the property that says so.
    Bound(PropertyId),
    /// Another property was violated, and the job's patience has come to its end.
    OtherViolation,
    /// A step fails, by an error or a failed assertion, and what would come behind it was not looked at.
    NotFollowed,
    /// States were known again by less than all of them: with this probability, about, some state was missed.
    Omission(f64),
    /// Random walks of so many steps in all.
    Walks(u64),
    /// The property is not understood, or of a kind that is not supported: why.
    Unclear(String),
    /// Not decided for any number of elements: how far it is, and why not farther, in words.
    AnyNumber(String),
    /// For any number of elements: numbers from this one on were not told apart, and so it cannot be told whether there
    /// is a violation.
    Counts(u32),
    /// The model has no start, so that everything would hold of it.
    NoStart,
    /// A symmetry that was taken for granted is not there: how that was seen.
    Granted(String),
    /// No engine that was asked takes the property, or what was asked is not understood: the construct in the way.
    Unsupported(String),
    /// A mistake in Shoal: a verdict that was not confirmed, or a case that cannot be.
    Internal(String),
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StopReason::Time(limit) => write!(f, "time limit of {} s reached", limit.as_secs_f64()),
            StopReason::Memory(limit) => write!(f, "memory limit of {limit} bytes reached"),
            StopReason::Depth(limit) => write!(f, "depth limit of {limit} steps reached"),
            StopReason::States(limit) => write!(f, "limit of {limit} states reached"),
            StopReason::Disk(why) => write!(f, "the disk took no more: {why}"),
            StopReason::Lost(why) => write!(f, "the processes cannot go on together: {why}"),
            StopReason::Overflow => f.write_str("a number has grown too large"),
            StopReason::Interrupted => f.write_str("interrupted"),
            StopReason::Elements(_) => f.write_str("no more objects of a type are allowed at a time"),
            StopReason::Bound(_) => f.write_str("a bound of the model was reached"),
            StopReason::OtherViolation => f.write_str("stopped at the violation of another property"),
            StopReason::NotFollowed => {
                f.write_str("true as far as was seen, but a step fails and nothing was seen behind it")
            }
            StopReason::Omission(probability) => {
                write!(f, "nothing found, but a state was missed with a probability of {probability:.2e}")
            }
            StopReason::Walks(steps) => write!(f, "nothing found on random walks of {steps} steps"),
            StopReason::Unclear(why) => f.write_str(why),
            StopReason::AnyNumber(why) => f.write_str(why),
            StopReason::Granted(why) => {
                write!(f, "the symmetry that was taken for granted does not hold: {why}")
            }
            StopReason::Counts(cut) => {
                write!(f, "no proof for any number while {cut} and more are not told apart")
            }
            StopReason::NoStart => {
                f.write_str("the model has no start state, so nothing can be said of its runs")
            }
            StopReason::Unsupported(why) => f.write_str(why),
            StopReason::Internal(why) => write!(f, "internal error: {why}; please report it"),
        }
    }
}

/// What a search took.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    /// The engine's name.
    pub engine: &'static str,
    /// What was done to make the search smaller.
    pub reductions: Vec<Reduction>,
    /// Whether every reachable state was seen, so that a rule that did not fire never will.
    pub exhaustive: bool,
    /// States stored: one for each orbit where symmetry is used.
    pub states: u64,
    /// The same number in decimal digits, where it may not fit.
    pub states_exact: Option<String>,
    /// States that those stand for, where the engine knows it.
    pub states_full: Option<u128>,
    /// Steps taken, those that lead to known states included.
    pub transitions: u64,
    /// The same number in decimal digits, where it may not fit.
    pub transitions_exact: Option<String>,
    /// Greatest distance from a start; nothing where the engine does not know it.
    pub depth: Option<u64>,
    /// New states at each distance from a start.
    pub levels: Vec<u64>,
    /// In how many states only a part of the steps was taken, as the others can be put off.
    pub put_off: u64,
    /// How often each rule fired, by rule; the greatest number there is where the true one does not fit.
    pub fired: Vec<u64>,
    /// How many states each rule was the first to lead to, by rule. Starts led to the others.
    pub fresh: Vec<u64>,
    /// Nanoseconds that each rule took in those states where the engine looked at the clock, by rule: what its guards,
    /// its bodies and the representatives of where it led to cost.
    pub spent: Vec<u64>,
    /// Wall time.
    pub time: Duration,
    /// Of that, the search itself: without translating the model, and without searches that had to begin anew. Nothing where
    /// an engine does not tell them apart.
    pub searching: Option<Duration>,
    /// Bytes used for the states and what is needed to find them.
    pub memory_bytes: u64,
    /// Nodes of decision diagrams that were alive at once, at most.
    pub nodes_peak: Option<u64>,
    /// Nodes of the decision diagrams of all steps.
    pub nodes_transition: Option<u64>,
    /// Bits of one packed state.
    pub state_bits: u64,
    /// Whether machine code made for the model took all the steps.
    pub compiled: bool,
    /// What else was seen that bears on the verdicts, each in a sentence without a full stop.
    pub notes: Vec<String>,
    /// Sorts of the job that were to be checked and are not symmetric, and what shows it. The search began anew without
    /// each of them.
    pub asymmetries: Vec<Asymmetry>,
    /// How many threads searched: fewer than were allowed where there was too little to do for them.
    pub threads: usize,
}

/// A state in which the elements of a sort are not treated alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Asymmetry {
    /// The sort.
    pub sort: SortId,
    /// The rule that does something else if the elements are taken in another order.
    pub rule: Option<RuleId>,
    /// Otherwise, the property that says something else.
    pub property: Option<PropertyId>,
    /// The state.
    pub state: State,
    /// The other order of the elements, of this sort and of others that were checked with it.
    pub orders: Vec<(SortId, Vec<u32>)>,
    /// What comes of it in the order of the elements, and in the other order, as far as it differs.
    pub results: [String; 2],
}

/// Something that made a search smaller and that does not change a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// One state of each orbit, exactly.
    Symmetry(Vec<SortId>),
    /// Of those sorts, the ones whose elements were found to be treated alike in every state that was reached; of the
    /// others that is proved.
    Checked(Vec<SortId>),
    /// Of those sorts, the ones of which that was neither proved nor checked: the user takes it for granted, and a verdict
    /// depends on it.
    Trusted(Vec<SortId>),
    /// One state of each orbit of these integer ranges, too: nothing orders their values.
    Ranges(Vec<String>),
    /// One state of each orbit of permutations of cells and values that are proved to be automorphisms: which, in words.
    Automorphisms(Vec<String>),
    /// These variables were reset wherever they cannot be read before they are written again.
    Inactive(Vec<String>),
    /// Not all orders of steps that are independent of each other.
    PartialOrder,
}

/// How far a search is.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// States stored.
    pub states: u64,
    /// Steps taken.
    pub transitions: u64,
    /// States stored but not yet expanded.
    pub frontier: u64,
    /// Distance from a start that is being expanded.
    pub depth: u64,
    /// Bytes used.
    pub memory_bytes: u64,
    /// Time since the search began.
    pub elapsed: Duration,
}

/// Is told how a search goes on. What ends it is the [`Watch`].
pub trait Observer {
    /// Called several times a second.
    fn progress(&mut self, _progress: &Progress) {}
    /// Called when a violation is found, before the search goes on.
    fn violation(&mut self, _property: PropertyId, _violation: &Violation) {}
}

/// An observer that does nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet;

impl Observer for Quiet {}

/// Tells how a search goes on; what it finds is of no use to whoever asked something else.
pub struct OnlyProgress<'o>(pub &'o mut dyn Observer);

impl Observer for OnlyProgress<'_> {
    fn progress(&mut self, progress: &Progress) {
        self.0.progress(progress);
    }
}

/// An engine cannot take a model: the construct it lacks, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// The engine.
    pub engine: &'static str,
    /// The construct, such as "clocks".
    pub construct: String,
    /// Where it stands.
    pub span: Option<Span>,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {} engine does not support {}", self.engine, self.construct)
    }
}

impl std::error::Error for Unsupported {}
