//! Checks as objects: what a server, an editor or a page needs of them.
//!
//! A [`Session`] is a model that was loaded. It is planned and run as often as one likes, in the caller's thread
//! ([`Session::run`]) or in one of its own ([`Session::start`]); what happens is told by [`Event`]s. Sessions have nothing in
//! common, so any number of them run in one process at the same time.

use std::{
    cell::RefCell,
    io,
    sync::{
        Arc,
        mpsc::{self, Receiver},
    },
    thread::{self, JoinHandle},
};

use shoal_interpret::Blame;
use shoal_model::{Cancel, Observer, Progress, PropertyId, Verdict, Violation};

use crate::{CheckOptions, EngineKind, Error, LoadOptions, Loaded, Plan, Report, Sources, check, driver};

/// Models may nest deeply, and code that runs them recurses as deeply: a stack of this size holds the deepest calls allowed.
/// Memory is taken only as far as it is used.
pub const STACK: usize = 512 << 20;

/// A model that was loaded, to be planned and run.
///
/// ```
/// use shoal::{CheckOptions, Event, LoadOptions, Session, Sources, Status};
///
/// let text = "var x: 0..3; startstate x := 0; end; rule x < 3 ==> x := x + 1; end; invariant \"small\" x < 3;";
/// let session = Session::load(&Sources::text("small.m", text), &LoadOptions::default())?;
/// let running = session.start(CheckOptions::default())?;
/// for event in running.events() {
///     if let Event::Verdict(decided) = event {
///         println!("{}: {:?}", session.loaded().model.properties[decided.property].name, decided.verdict);
///     }
/// }
/// assert_eq!(running.wait()?.status(), Status::Violated);
/// # Ok::<(), shoal::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Session {
    loaded: Arc<Loaded>,
}

/// What happens while a model is checked.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// What will be done: the first event of a run.
    Planned(Box<Plan>),
    /// An engine begins.
    Phase(Phase),
    /// How far the engine is; several times a second.
    Progress(Progress),
    /// An engine says that a property is violated. It is not shown before it has been replayed: a verdict follows.
    Found(PropertyId),
    /// The last word on a property, as soon as it is known: one for each property that is asked.
    Verdict(Box<Decided>),
}

/// A part of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Phase {
    /// Which task of the plan it is, from 0.
    pub task: usize,
    /// How many there are. The last ones are not needed if those before decide everything.
    pub tasks: usize,
    /// The engine.
    pub engine: EngineKind,
    /// What it is to decide.
    pub properties: Vec<PropertyId>,
}

/// A property that was decided, or of which it is known that it will not be.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Decided {
    /// The property.
    pub property: PropertyId,
    /// The verdict. A violation has been replayed.
    pub verdict: Verdict,
    /// The parts of a condition that are to blame for a violation.
    pub causes: Vec<Blame>,
    /// The engine that the verdict came from, if any took the property.
    pub engine: Option<&'static str>,
}

impl Session {
    /// Loads a model.
    pub fn load(sources: &Sources, options: &LoadOptions) -> Result<Session, Error> {
        crate::load_sources(sources, options).map(Session::of)
    }

    /// A model that was loaded.
    pub fn of(loaded: Loaded) -> Session {
        Session { loaded: Arc::new(loaded) }
    }

    /// The model, its sources and what was said about them.
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// What would be done. An error if a property is asked for that the model does not have.
    pub fn plan(&self, options: &CheckOptions) -> Result<Plan, Error> {
        crate::select(&self.loaded, &options.properties)?;
        Ok(crate::plan(&self.loaded, options))
    }

    /// Decides the properties, in this thread, and tells what happens. Models may nest deeply: a thread with a stack of
    /// [`STACK`] bytes holds them all.
    pub fn run(&self, options: &CheckOptions, tell: &mut dyn FnMut(Event)) -> Result<Report, Error> {
        let plan = self.plan(options)?;
        self.run_as_planned(plan, options, tell)
    }

    /// The same, as a plan says that was made with these options.
    pub fn run_as_planned(
        &self,
        plan: Plan,
        options: &CheckOptions,
        tell: &mut dyn FnMut(Event),
    ) -> Result<Report, Error> {
        tell(Event::Planned(Box::new(plan.clone())));
        let told = RefCell::new(tell);
        let mut observer = ObserverForward(&told);
        check::run(&self.loaded, plan, options, &mut observer, &mut |event| (told.borrow_mut())(event))
    }

    /// Decides the properties in a thread of its own. An error if the system gives none.
    pub fn start(&self, mut options: CheckOptions) -> Result<Running, Error> {
        let cancel = options.watch.canceller().child();
        options.watch = options.watch.cancelled_by(&cancel);
        let (sender, events) = mpsc::channel();
        let session = self.clone();
        let work = move || {
            // Nobody has to listen.
            let mut tell = |event: Event| drop(sender.send(event));
            driver::contain(|| session.run(&options, &mut tell))
                .unwrap_or_else(|why| Err(Error::Internal(why)))
        };
        let thread = on_large_stack(work).map_err(|error| Error::NoThread(error.to_string()))?;
        Ok(Running { events, cancel, thread: Some(thread) })
    }
}

/// Starts a thread whose stack holds the deepest models.
pub fn on_large_stack<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    thread::Builder::new().name("shoal".into()).stack_size(STACK).spawn(work)
}

/// Passes on what engines say.
struct ObserverForward<'f, 't>(&'f RefCell<&'t mut dyn FnMut(Event)>);

impl Observer for ObserverForward<'_, '_> {
    fn progress(&mut self, progress: &Progress) {
        (self.0.borrow_mut())(Event::Progress(progress.clone()));
    }

    fn violation(&mut self, property: PropertyId, _: &Violation) {
        (self.0.borrow_mut())(Event::Found(property));
    }
}

/// A check in a thread of its own. Who drops it does not want the answer any more: the check ends.
#[derive(Debug)]
pub struct Running {
    events: Receiver<Event>,
    cancel: Cancel,
    thread: Option<JoinHandle<Result<Report, Error>>>,
}

impl Running {
    /// What happens, until it is over.
    pub fn events(&self) -> impl Iterator<Item = Event> + '_ {
        self.events.iter()
    }

    /// What has happened since somebody last looked.
    pub fn new_events(&self) -> impl Iterator<Item = Event> + '_ {
        self.events.try_iter()
    }

    /// The handle that ends the check, for other threads.
    pub fn canceller(&self) -> Cancel {
        self.cancel.clone()
    }

    /// Asks the check to end. What is decided so far is in the report all the same.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Whether the report is there.
    pub fn is_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for the report.
    pub fn wait(mut self) -> Result<Report, Error> {
        let ended = self.thread.take().map(JoinHandle::join);
        match ended {
            Some(Ok(report)) => report,
            Some(Err(_)) | None => {
                Err(Error::Internal("the thread of a check ended without an answer".into()))
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}
