//! From texts to a model.

use std::{collections::HashSet, fs::File, io::Read, path::Path};

use shoal_analysis::{SortedRanges, ranges_like, symmetry_of_steps};
use shoal_model::{
    DeadlockKind, Model, Property, PropertyId, PropertyKind, Sort, SortId, SortSize, StopReason, Watch,
    print_model,
};
use shoal_murphi::Dialect;
pub use shoal_promela::Options as PromelaOptions;
use shoal_syntax::{Diagnostics, SourceId, SourceMap, Span};
use shoal_template::Setting;

use crate::{Error, Rejected, Sources};

/// Files larger than this are refused: no model that a person wrote comes near it.
pub const LARGEST_FILE: u64 = 64 << 20;

/// How a source is to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadOptions {
    /// For Murphi: which tool's meaning to take where the tools differ.
    pub dialect: Dialect,
    /// New values for named constants.
    pub set: Vec<(String, i64)>,
    /// Rounds that a `while` loop may take.
    pub while_limit: u64,
    /// What only Promela knows. Its macros are those that are set here for all languages.
    pub promela: PromelaOptions,
    /// What counts as a deadlock.
    pub deadlock: Deadlock,
    /// The sorts, or the constants that are their sizes, that have any number of elements.
    pub any: Vec<String>,
    /// The language, by the ending that its files have; if nothing is said, the ending of the file's own name.
    pub language: Option<String>,
    /// For UPPAAL models: formulas speak only of runs on which time diverges.
    pub divergent: bool,
    /// For thread transition systems: where threads begin, such as `0/0`.
    pub init: Option<String>,
    /// For thread transition systems: what must not be reached, such as `4|5,5`. For boolean programs: a label.
    pub target: Option<String>,
    /// When to give up.
    pub watch: Watch,
}

impl Default for LoadOptions {
    fn default() -> Self {
        let murphi = shoal_murphi::Options::default();
        LoadOptions {
            dialect: murphi.dialect,
            set: Vec::new(),
            while_limit: murphi.while_limit,
            promela: PromelaOptions::default(),
            deadlock: Deadlock::Auto,
            any: Vec::new(),
            language: None,
            divergent: false,
            init: None,
            target: None,
            watch: Watch::default(),
        }
    }
}

/// What counts as a deadlock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Deadlock {
    /// What the source's language says.
    #[default]
    Auto,
    /// Nothing.
    Off,
    /// A state where no rule may fire.
    Stuck,
    /// A state from which no rule leads to another state.
    Stuttering,
}

/// A model, the sources it was made of, and what was said about them (no errors, but perhaps warnings).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Loaded {
    /// The model.
    pub model: Model,
    /// Its sources.
    pub sources: SourceMap,
    /// The language they are written in.
    pub language: &'static str,
    /// What the front end had to say.
    pub diagnostics: Diagnostics,
    /// The properties that a check decides unless it is told which.
    pub asked: Vec<PropertyId>,
    /// How they were read.
    pub options: LoadOptions,
}

/// The language of models that were made in Rust.
const RUST: &str = "Rust";

impl Loaded {
    /// A model that was made without a source, by a [`ModelBuilder`](shoal_model::ModelBuilder) or by hand. Its printed form
    /// stands for the source. [`Error::Malformed`] if it breaks a rule that every model keeps.
    pub fn of_model(mut model: Model) -> Result<Loaded, Error> {
        shoal_model::verify(&model).map_err(|malformed| Error::Malformed(malformed.to_string()))?;
        model.escape_names();
        let mut sources = SourceMap::new();
        sources.add(model.name.as_str(), print_model(&model));
        let asked = asked(&model, Deadlock::Auto);
        let (diagnostics, options) = (Diagnostics::new(), LoadOptions::default());
        Ok(Loaded { model, sources, language: RUST, diagnostics, asked, options })
    }

    /// Whether elements of which there are any number have numbers where a number of them is set: then the model that is
    /// read with a number is another one than this with so many elements. Processes of Promela are such.
    pub fn is_numbered_otherwise(&self) -> bool {
        self.language.starts_with("Promela")
    }
}

type FrontEnd = fn(&SourceMap, SourceId, &LoadOptions) -> (Option<Model>, Diagnostics);

/// The language of processes that point to each other.
pub(crate) const RED: &str = "Red";
/// The language of rules over scalarsets.
pub(crate) const MURPHI: &str = "Murphi";

/// The front ends by the ending of a file's name.
static FRONT_ENDS: [(&str, &str, FrontEnd); 19] = [
    ("m", MURPHI, murphi),
    ("bp", "boolean program", boolean_program),
    ("nbp", "boolean program", numbered_program),
    ("tts", "thread transition system", transition_system),
    ("spec", "MIST net", mist),
    ("pnml", "PNML net", pnml),
    ("vpl", "VPL", vpl),
    ("red", RED, red),
    ("pml", "Promela", promela),
    ("prom", "Promela", promela),
    ("promela", "Promela", promela),
    ("prm", "Promela", promela),
    ("pr", "Promela", promela),
    ("pm", "Promela", promela),
    ("spin", "Promela", promela),
    ("dpml", "Promela with objects", promela_with_objects),
    ("xta", "UPPAAL", xta),
    ("ta", "UPPAAL", xta),
    ("xml", "UPPAAL", xml),
];

/// The languages and their endings, for messages.
pub(crate) fn supported() -> String {
    let mut languages: Vec<(&str, String)> = Vec::new();
    for (ending, language, _) in FRONT_ENDS {
        match languages.iter_mut().find(|(known, _)| *known == language) {
            Some((_, endings)) => *endings += &format!(" .{ending}"),
            None => languages.push((language, format!(".{ending}"))),
        }
    }
    let shown = languages.iter().map(|(language, endings)| format!("{endings} ({language})"));
    shown.collect::<Vec<_>>().join(", ")
}

/// Loads the model in a file; the ending of its name says in which language it is.
pub fn load(path: impl AsRef<Path>, options: &LoadOptions) -> Result<Loaded, Error> {
    let path = path.as_ref();
    front_end(&path.display().to_string(), options)?;
    load_sources(&Sources::file(path)?, options)
}

/// Files that have what is asked in a file of their own beside them: the endings of both.
const COMPANIONS: [(&str, &str); 4] = [("tts", "prop"), ("xta", "q"), ("ta", "q"), ("xml", "q")];

/// What stands beside a net of the Model Checking Contest and is asked of it.
const CONTEST: [&str; 3] =
    ["ReachabilityCardinality.xml", "ReachabilityFireability.xml", "ReachabilityDeadlock.xml"];

/// How a file with properties of a net is known.
const PROPERTIES: &str = "<property-set";

fn add_companion(texts: &Sources, sources: &mut SourceMap) -> Result<(), Error> {
    let path = Path::new(texts.name());
    let ending = path.extension().unwrap_or_default();
    if ending.eq_ignore_ascii_case("pnml") {
        let own = path.with_extension("xml");
        for name in [own].into_iter().chain(CONTEST.map(|name| path.with_file_name(name))) {
            let name = name.display().to_string();
            if let Some(text) = texts.find(&name)?.filter(|text| text.contains(PROPERTIES)) {
                sources.add(name, text);
            }
        }
    }
    for (_, companion) in COMPANIONS.iter().filter(|(own, _)| ending.eq_ignore_ascii_case(own)) {
        // Beside `x.tts` stands `x.prop` or `x.tts.prop`.
        let long = format!("{}.{companion}", ending.to_string_lossy());
        for name in [path.with_extension(companion), path.with_extension(long)] {
            let name = name.display().to_string();
            if let Some(text) = texts.find(&name)? {
                sources.add(name, text);
                break;
            }
        }
    }
    Ok(())
}

/// The companion of a file, if there is one: it was added after the file itself.
fn companion(sources: &SourceMap, id: SourceId) -> Option<SourceId> {
    let companion = SourceId(id.0 + 1);
    (sources.files().count() > companion.0 as usize).then_some(companion)
}

/// Loads the model in a text; the ending of `name` says in which language it is. Nothing is read from the disk.
pub fn load_text(name: &str, text: impl Into<String>, options: &LoadOptions) -> Result<Loaded, Error> {
    load_sources(&Sources::text(name, text), options)
}

/// Loads the model in some texts.
pub fn load_sources(texts: &Sources, options: &LoadOptions) -> Result<Loaded, Error> {
    options.watch.check().map_err(Error::Stopped)?;
    let mut sources = SourceMap::new();
    let id = sources.add(texts.name(), texts.main());
    add_companion(texts, &mut sources)?;
    let file = sources.file(id);
    let (_, language, front_end) = front_end(file.name(), options)?;
    if file.text().trim().is_empty() {
        return Err(Error::File { path: file.name().into(), problem: "the file is empty".into() });
    }
    if let Some(what) = foreign(options, language) {
        let problem = format!("{what} means nothing in {language} models");
        return Err(Error::File { path: file.name().into(), problem });
    }
    if language.starts_with("Promela") {
        add_includes(texts, &mut sources, id, &options.watch)?;
    }
    let (model, diagnostics) = front_end(&sources, id, options);
    match model {
        Some(mut model) if !diagnostics.has_errors() => {
            set_deadlock(&mut model, options.deadlock, Span::new(id, 0, 0));
            note_silence(&mut model, language, Span::new(id, 0, 0));
            model.escape_names();
            let asked = asked(&model, options.deadlock);
            Ok(Loaded { model, sources, language, diagnostics, asked, options: options.clone() })
        }
        // Neither a model nor an error: it was stopped.
        _ if !diagnostics.has_errors() => {
            let full = || StopReason::Memory(options.watch.memory().unwrap_or(0));
            Err(Error::Stopped(options.watch.check().err().unwrap_or_else(full)))
        }
        _ => Err(Error::Source(Box::new(Rejected { sources, diagnostics }))),
    }
}

/// A model with a number instead of any, made of the same sources.
pub(crate) struct NumberedModel {
    /// As it is written.
    pub(crate) model: Model,
    /// With ranges as sorts that are sorts in the model of any number, if there are any.
    pub(crate) sorted: Option<SortedRanges>,
    /// How many elements each sort of the model of any number has in it.
    pub(crate) sizes: Vec<u32>,
}

/// What a model with a number instead of any comes to.
pub(crate) enum Again {
    Model(Box<NumberedModel>),
    /// The source has no such instance: a sort without elements, say.
    None,
    /// It does not ask the same, or has other sorts, and tells nothing.
    Unlike,
}

/// The model with this number.
pub(crate) fn load_again(loaded: &Loaded, number: u32) -> Again {
    let mut options = loaded.options.clone();
    options.set.extend(options.any.drain(..).map(|name| (name, i64::from(number))));
    let mut files = loaded.sources.files();
    let Some(main) = files.next() else { return Again::Unlike };
    let texts = files
        .fold(Sources::text(main.name(), main.text()), |texts, file| texts.with(file.name(), file.text()));
    let Ok(Loaded { model: again, .. }) = load_sources(&texts, &options) else { return Again::None };
    let names = |model: &Model| -> Vec<String> {
        model.properties.iter().map(|property| property.name.clone()).collect()
    };
    let sized = again.sorts.iter().all(|sort| sort.size != SortSize::Any);
    if !sized || names(&again) != names(&loaded.model) {
        return Again::Unlike;
    }
    // As many as it says.
    if loaded.is_numbered_otherwise() {
        let size = |sort: &Sort| sort.fixed_size().unwrap_or(number);
        let sizes = loaded.model.sorts.iter().map(size).collect();
        return Again::Model(Box::new(NumberedModel { model: again, sorted: None, sizes }));
    }
    let sizes =
        |model: &Model| model.sorts.iter().map(|sort| sort.fixed_size().unwrap_or(0)).collect::<Vec<u32>>();
    if again.sorts.len() == loaded.model.sorts.len() {
        let sizes = sizes(&again);
        return Again::Model(Box::new(NumberedModel { model: again, sorted: None, sizes }));
    }
    let Some(sorted) = ranges_like(&loaded.model, &again) else { return Again::Unlike };
    let sizes = sizes(&sorted.model);
    Again::Model(Box::new(NumberedModel { model: again, sorted: Some(sorted), sizes }))
}

/// What stands beside a model and has an ending of its own.
const BESIDE: [&str; 3] = ["prop", "q", "h"];

/// Whether a file may be one in Latin-1, which every byte is a letter of. In all languages such files are in circulation, with names
/// of people in comments; what matters to a model is ASCII in them. A file with zeros in it is no text at all.
fn may_be_latin(path: &Path, bytes: &[u8]) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let is_model = is_known_ending(ending) || BESIDE.iter().any(|known| known.eq_ignore_ascii_case(ending));
    is_model && !bytes.contains(&0)
}

/// The text of a file, or why it has none.
pub fn read_text(path: impl AsRef<Path>) -> Result<String, Error> {
    let path = path.as_ref();
    let wrong = |problem: String| Error::File { path: path.display().to_string(), problem };
    // Of anything else (a pipe that nobody writes to) one could wait for ever.
    if std::fs::metadata(path).is_ok_and(|about| !about.is_file()) {
        return Err(wrong("cannot be read: it is no file".into()));
    }
    let file = File::open(path).map_err(|error| wrong(format!("cannot be opened: {error}")))?;
    let mut bytes = Vec::new();
    // One byte more than allowed shows that there are too many; the size a file claims is not to be trusted.
    let read = file.take(LARGEST_FILE + 1).read_to_end(&mut bytes);
    read.map_err(|error| wrong(format!("cannot be read: {error}")))?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(wrong(format!("is larger than {} MiB", LARGEST_FILE >> 20)));
    }
    String::from_utf8(bytes)
        .map(shoal_syntax::without_mark)
        .or_else(|error| match may_be_latin(path, error.as_bytes()) {
            true => Ok(error.into_bytes().into_iter().map(char::from).collect()),
            false => Err(error),
        })
        .map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let line = error.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
            wrong(format!("is not text in UTF-8: line {line}, byte {at} of the file"))
        })
}

fn front_end(name: &str, options: &LoadOptions) -> Result<(&'static str, &'static str, FrontEnd), Error> {
    let own = Path::new(name).extension().and_then(|ending| ending.to_str());
    let ending = options.language.as_deref().or(own).unwrap_or_default();
    let known = FRONT_ENDS.iter().find(|(known, ..)| known.eq_ignore_ascii_case(ending));
    known.copied().ok_or_else(|| Error::UnknownLanguage { path: name.into() })
}

/// Whether files with this ending are in a language that is known.
pub fn is_known_ending(ending: &str) -> bool {
    FRONT_ENDS.iter().any(|(known, ..)| known.eq_ignore_ascii_case(ending))
}

fn murphi(sources: &SourceMap, id: SourceId, options: &LoadOptions) -> (Option<Model>, Diagnostics) {
    let options = shoal_murphi::Options {
        dialect: options.dialect,
        set: options.set.clone(),
        any: options.any.clone(),
        while_limit: options.while_limit,
        watch: options.watch.clone(),
    };
    shoal_murphi::load(sources, id, &options)
}

fn threads(options: &LoadOptions) -> shoal_threads::Options {
    let set = options.set.iter().map(|(name, value)| (name.clone(), Some(*value)));
    let any = options.any.iter().map(|name| (name.clone(), None));
    shoal_threads::Options {
        init: options.init.clone(),
        target: options.target.clone(),
        set: set.chain(any).collect(),
        watch: options.watch.clone(),
    }
}

fn transition_system(
    sources: &SourceMap,
    id: SourceId,
    options: &LoadOptions,
) -> (Option<Model>, Diagnostics) {
    shoal_threads::load_tts(sources, id, companion(sources, id), &threads(options))
}

fn boolean_program(sources: &SourceMap, id: SourceId, options: &LoadOptions) -> (Option<Model>, Diagnostics) {
    shoal_threads::load_bp(sources, id, &threads(options))
}

fn numbered_program(
    sources: &SourceMap,
    id: SourceId,
    options: &LoadOptions,
) -> (Option<Model>, Diagnostics) {
    shoal_threads::load_nbp(sources, id, &threads(options))
}

fn mist(sources: &SourceMap, id: SourceId, options: &LoadOptions) -> (Option<Model>, Diagnostics) {
    shoal_threads::load_spec(sources, id, &threads(options))
}

fn pnml(sources: &SourceMap, id: SourceId, options: &LoadOptions) -> (Option<Model>, Diagnostics) {
    let asked: Vec<SourceId> = (1..sources.files().count() as u32).map(SourceId).collect();
    shoal_threads::load_pnml(sources, id, &asked, &threads(options))
}

fn vpl(sources: &SourceMap, id: SourceId, options: &LoadOptions) -> (Option<Model>, Diagnostics) {
    let (loaded, diagnostics) = shoal_vpl::load(sources, id, &template_options(options));
    (loaded.map(|(model, _)| model), diagnostics)
}

fn red(sources: &SourceMap, id: SourceId, options: &LoadOptions) -> (Option<Model>, Diagnostics) {
    shoal_red::load(sources, id, &template_options(options))
}

fn xta(sources: &SourceMap, id: SourceId, options: &LoadOptions) -> (Option<Model>, Diagnostics) {
    let (options, queries) = (template_options(options), companion(sources, id));
    let (model, diagnostics) = shoal_uppaal::load_xta(sources, id, queries, &options);
    let others = || shoal_uppaal::alike_xta(sources, id, queries, &options);
    (model.map(|model| most_alike(model, others)), diagnostics)
}

fn xml(sources: &SourceMap, id: SourceId, options: &LoadOptions) -> (Option<Model>, Diagnostics) {
    let (options, queries) = (template_options(options), companion(sources, id));
    let (model, diagnostics) = shoal_uppaal::load_xml(sources, id, queries, &options);
    let others = || shoal_uppaal::alike_xml(sources, id, queries, &options);
    (model.map(|model| most_alike(model, others)), diagnostics)
}

/// A model that means the same and in which processes are proved to be alike that the plain one numbers; else that one. Where
/// steps name a process it keeps its number: the rest would seldom gain what the clocks of all of them cost.
fn most_alike(plain: Model, others: impl FnOnce() -> Vec<(Model, SortId)>) -> Model {
    let may_be_exchanged = |model: &Model, sort: SortId| {
        // What a property names matters only to that property.
        let mut steps = model.clone();
        for property in steps.properties.iter_mut() {
            if !matches!(property.kind, PropertyKind::Assume(_)) {
                property.kind = PropertyKind::NoFaults;
            }
        }
        let found = &symmetry_of_steps(&steps).sorts[sort];
        found.is_proved() && found.pinned.is_empty()
    };
    others()
        .into_iter()
        .find(|(model, sort)| may_be_exchanged(model, *sort))
        .map_or(plain, |(model, _)| model)
}

pub(crate) fn template_options(options: &LoadOptions) -> shoal_template::Options {
    let set = options.set.iter().map(|(name, value)| (name.clone(), Setting::Number(*value)));
    let any = options.any.iter().map(|name| (name.clone(), Setting::Any));
    shoal_template::Options {
        set: set.chain(any).collect(),
        divergent: options.divergent,
        watch: options.watch.clone(),
    }
}

fn promela(sources: &SourceMap, id: SourceId, options: &LoadOptions) -> (Option<Model>, Diagnostics) {
    load_promela(sources, id, promela_options(options, options.promela.dynamic))
}

fn promela_with_objects(
    sources: &SourceMap,
    id: SourceId,
    options: &LoadOptions,
) -> (Option<Model>, Diagnostics) {
    load_promela(sources, id, promela_options(options, true))
}

/// Reads a source again as often as it turns out that processes cannot be interchanged which were to be.
fn load_promela(
    sources: &SourceMap,
    id: SourceId,
    mut options: shoal_promela::Options,
) -> (Option<Model>, Diagnostics) {
    loop {
        let (model, diagnostics) = shoal_promela::load(sources, id, &options);
        let told_apart = model.as_ref().filter(|_| options.symmetric_processes).and_then(|model| {
            let symmetry = shoal_analysis::symmetry(model);
            let mut sorts = model.sorts.enumerate().filter(|(_, sort)| sort.fixed_size().is_some());
            let broken = sorts
                .find(|(id, _)| !symmetry.sorts[*id].is_proved() || !symmetry.sorts[*id].pinned.is_empty());
            broken.map(|(_, sort)| sort.name.clone())
        });
        match told_apart {
            Some(name) => options.ordered.push(name),
            None => return (model, diagnostics),
        }
    }
}

fn promela_options(options: &LoadOptions, dynamic: bool) -> shoal_promela::Options {
    shoal_promela::Options {
        set: options.set.clone(),
        any: options.any.clone(),
        dynamic,
        while_limit: options.while_limit,
        watch: options.watch.clone(),
        ..options.promela.clone()
    }
}

/// Adds the files that a source includes, and those that they include. What cannot be read is left to the front end,
/// which knows whether it is needed.
fn add_includes(
    texts: &Sources,
    sources: &mut SourceMap,
    first: SourceId,
    watch: &Watch,
) -> Result<(), Error> {
    let mut next = first.0;
    // Files include the same ones, and what is not there is not looked for again.
    let mut known: HashSet<String> = sources.files().map(|file| file.name().to_string()).collect();
    while (next as usize) < sources.files().count() {
        watch.check().map_err(Error::Stopped)?;
        let file = sources.file(SourceId(next));
        let by = file.name().to_string();
        for name in shoal_promela::includes(file.text()) {
            let name = shoal_promela::included(&by, &name);
            if known.insert(name.clone())
                && let Ok(Some(text)) = texts.find(&name)
            {
                sources.add(name, text);
            }
        }
        next += 1;
    }
    Ok(())
}

/// Asks what the user wants to be asked about deadlocks instead of what the language asks of every model.
fn set_deadlock(model: &mut Model, deadlock: Deadlock, span: Span) {
    let kind = match deadlock {
        Deadlock::Auto | Deadlock::Off => return,
        Deadlock::Stuck => DeadlockKind::Stuck,
        Deadlock::Stuttering => DeadlockKind::Stuttering,
    };
    let kind = PropertyKind::Deadlock(kind);
    match model.implied_deadlock {
        Some(implied) => model.properties[implied].kind = kind,
        // What was written stays as it was written; if it is this, it need not be asked twice.
        None if model.properties.iter().any(|property| property.kind == kind) => {}
        None => {
            model.properties.push(Property { name: "deadlock".into(), kind, span });
        }
    }
}

/// An option that changes what is asked or meant, and that the language does not have: to go on as if it had not been given
/// would answer another question.
fn foreign(options: &LoadOptions, language: &str) -> Option<&'static str> {
    let promela = &options.promela;
    let of_promela = language.starts_with("Promela");
    let of_threads = ["boolean program", "thread transition system", "MIST net", "PNML net"];
    let of_threads = of_threads.contains(&language);
    let given = [
        ("a start of threads", options.init.is_some(), of_threads),
        ("a target", options.target.is_some(), of_threads),
        ("that time diverges", options.divergent, language == "UPPAAL"),
        ("to ask for progress", promela.progress, of_promela),
        ("to ask for acceptance", promela.acceptance, of_promela),
        ("weak fairness", promela.weak_fairness, of_promela),
        ("to ask for leaks", promela.leaks, of_promela),
        ("reuse of objects", promela.reuse, of_promela),
        ("a limit of objects", promela.heap.is_some(), of_promela),
    ];
    given.into_iter().find(|(_, given, known)| *given && !known).map(|(what, ..)| what)
}

/// In languages whose queries stand apart, a file without any asks nothing: that nothing faults is then no answer.
fn note_silence(model: &mut Model, language: &str, span: Span) {
    if !matches!(language, "UPPAAL" | "VPL") {
        return;
    }
    let is_query = |property: &Property| match property.kind {
        PropertyKind::NoFaults
        | PropertyKind::Bound
        | PropertyKind::Assume(_)
        // That invariants hold at the start.
        | PropertyKind::Assertion => false,
        PropertyKind::Invariant(_)
        | PropertyKind::Deadlock(_)
        | PropertyKind::Cover(_)
        | PropertyKind::CoverDeadlock(_)
        | PropertyKind::AlwaysPossible(_)
        | PropertyKind::Temporal(..)
        | PropertyKind::Extreme(_)
        | PropertyKind::Unclear(_) => true,
    };
    if !model.properties.iter().any(is_query) {
        let why = "nothing is asked: there is no query";
        let kind = PropertyKind::Unclear(why.into());
        model.properties.push(Property { name: "queries".into(), kind, span });
    }
}

/// The properties that are asked unless the user names some. Assumptions are given, not asked; only a question that nobody wrote
/// can be left out.
fn asked(model: &Model, deadlock: Deadlock) -> Vec<PropertyId> {
    let is_asked = |(id, property): &(PropertyId, &Property)| match property.kind {
        PropertyKind::Assume(_) => false,
        _ => deadlock != Deadlock::Off || model.implied_deadlock != Some(*id),
    };
    model.properties.enumerate().filter(is_asked).map(|(id, _)| id).collect()
}
