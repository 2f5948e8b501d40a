//! The text of a thread transition system, line by line.

use shoal_syntax::{Advice, Diagnostic, Diagnostics, SourceId, SourceMap, Span, cursor::Parsed};

use crate::{Options, codes, init::InitialStates};

/// Files that claim to have more shared or more local states are refused: there are tables of them.
const MOST_STATES: u32 = 1 << 22;

/// What a file says.
#[derive(Clone, Debug, Default)]
pub(crate) struct File {
    pub(crate) shared: u32,
    pub(crate) locals: u32,
    pub(crate) edges: Vec<ThreadEdge>,
    /// Edges that move other threads too.
    pub(crate) broadcasts: Vec<BroadcastLine>,
    pub(crate) target: ThreadTarget,
    pub(crate) init: Option<InitialStates>,
}

/// A shared and a local state.
pub(crate) type SharedLocal = (u32, u32);

/// A line with one thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadEdge {
    pub(crate) from: SharedLocal,
    pub(crate) to: SharedLocal,
    /// Whether the thread stays and a new one begins in `to`.
    pub(crate) spawns: bool,
    pub(crate) span: Span,
}

/// A line that moves many threads.
#[derive(Clone, Debug)]
pub(crate) struct BroadcastLine {
    /// The local states of the thread that acts, before and after; none if no thread does.
    pub(crate) actor: Option<(u32, u32)>,
    pub(crate) shared: (u32, u32),
    /// From where to where every other thread moves.
    pub(crate) moves: Vec<(u32, u32)>,
    pub(crate) span: Span,
}

/// A shared state and how many threads in which local states.
#[derive(Clone, Debug, Default)]
pub(crate) struct ThreadTarget {
    pub(crate) shared: u32,
    pub(crate) locals: Vec<u32>,
    pub(crate) span: Span,
}

/// A word of a line.
#[derive(Clone, Copy, Debug)]
struct LineWord<'a> {
    text: &'a str,
    span: Span,
}

pub(super) fn parse(
    sources: &SourceMap,
    id: SourceId,
    property: Option<SourceId>,
    options: &Options,
) -> (File, Diagnostics) {
    let mut diagnostics = Diagnostics::new();
    let mut file = File::default();
    let mut target = None;
    let text = sources.file(id).text();
    let mut words = Vec::new();
    let mut seen_header = false;
    for (start, line) in lines(text) {
        split(line, start, id, &mut words);
        let Some(first) = words.first().copied() else { continue };
        let result = match seen_header {
            false => header(&words, &mut file).map(|()| seen_header = true),
            true if is_target(line) => parse_target(line, first.span).map(|found| {
                target.get_or_insert(found);
            }),
            true => transition(&words, &mut file, &mut diagnostics),
        };
        if let Err(error) = result {
            diagnostics.push(*error);
            if !seen_header || diagnostics.len() > 20 {
                return (file, diagnostics);
            }
        }
    }
    let whole = Span::new(id, 0, 0);
    if !seen_header {
        diagnostics.push(Diagnostic::error(
            codes::UNEXPECTED,
            whole,
            "the file has no header: the numbers of shared and local states",
        ));
        return (file, diagnostics);
    }
    let found = match (&options.target, target, property) {
        (Some(text), ..) => parse_target(text, whole).map(Some),
        (None, Some(target), _) => Ok(Some(target)),
        (None, None, Some(id)) => {
            let text = sources.file(id).text();
            let line = text.lines().next().unwrap_or_default();
            parse_target(line, Span::new(id, 0, line.len())).map(Some)
        }
        (None, None, None) => Ok(None),
    };
    match found {
        Ok(Some(target)) => {
            judge_target(&target, options.target.is_some(), &file, &mut diagnostics);
            file.target = target;
        }
        Ok(None) => {
            let message =
                "the file has no target, and no file of the same name with the ending .prop stands beside it";
            let advice = Advice::TargetOfThreads("4|5,5");
            diagnostics.push(Diagnostic::error(codes::NO_TARGET, whole, message).advise(advice));
        }
        Err(error) => diagnostics.push(*error),
    }
    match InitialStates::parse(options.init.as_deref().unwrap_or("unbounded"), whole)
        .and_then(|init| known(init, &file, whole))
    {
        Ok(init) => file.init = Some(init),
        Err(error) => diagnostics.push(*error),
    }
    (file, diagnostics)
}

/// The lines without comments, and where each begins.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        let line = line.split('#').next().unwrap_or_default();
        (start, line.trim_end())
    })
}

/// Splits a line into words; the vector is used again for each line.
fn split<'a>(line: &'a str, start: usize, id: SourceId, words: &mut Vec<LineWord<'a>>) {
    words.clear();
    let mut from = None;
    for (at, byte) in line.bytes().enumerate().chain([(line.len(), b' ')]) {
        match (byte.is_ascii_whitespace(), from) {
            (false, None) => from = Some(at),
            (true, Some(first)) => {
                words.push(LineWord {
                    text: &line[first..at],
                    span: Span::new(id, start + first, start + at),
                });
                from = None;
            }
            _ => {}
        }
    }
}

fn unexpected<T>(span: Span, message: impl Into<String>) -> Parsed<T> {
    Err(Box::new(Diagnostic::error(codes::UNEXPECTED, span, message)))
}

fn number(word: LineWord<'_>, below: Option<(u32, &str)>) -> Parsed<u32> {
    let Ok(value) = word.text.parse::<u32>() else {
        return match word.text.bytes().all(|byte| byte.is_ascii_digit()) {
            true => Err(Box::new(Diagnostic::error(codes::NUMBER, word.span, "the number is too large"))),
            false => unexpected(word.span, format!("a number is expected, not `{}`", word.text)),
        };
    };
    match below {
        Some((limit, what)) if value >= limit => {
            let message = format!("there is no {what} state {value}: the header says there are {limit}");
            Err(Box::new(Diagnostic::error(codes::NUMBER, word.span, message)))
        }
        _ => Ok(value),
    }
}

fn header(words: &[LineWord<'_>], file: &mut File) -> Parsed<()> {
    let [shared, locals] = words else {
        return unexpected(
            words[0].span,
            "the first line has two numbers: how many shared and how many local states there are",
        );
    };
    (file.shared, file.locals) = (number(*shared, None)?, number(*locals, None)?);
    match (file.shared, file.locals) {
        (shared, locals) if shared.max(locals) > MOST_STATES => Err(Box::new(Diagnostic::error(
            codes::TOO_LARGE,
            words[0].span.to(words[1].span),
            format!("not supported: more than {MOST_STATES} shared or local states"),
        ))),
        (0, _) | (_, 0) => Err(Box::new(Diagnostic::error(
            codes::NUMBER,
            words[0].span.to(locals.span),
            "there is at least one shared and one local state",
        ))),
        _ => Ok(()),
    }
}

fn is_target(line: &str) -> bool {
    let line = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    line.starts_with(['|', 'B'])
}

fn parse_target(line: &str, span: Span) -> Parsed<ThreadTarget> {
    let wrong = || {
        let message = format!("{:?} is no target", line.trim());
        let help = "write `4|5,5,7`: shared state 4, two threads in 5 and one in 7";
        Box::new(Diagnostic::error(codes::UNEXPECTED, span, message).help(help))
    };
    let (shared, locals) = line.split_once(['|', 'B']).ok_or_else(wrong)?;
    let word = |text| LineWord { text, span };
    let shared = number(word(shared.trim()), None)?;
    let parts = locals.split(',').map(str::trim).filter(|part| !part.is_empty());
    let locals = parts.map(|part| number(word(part), None)).collect::<Parsed<_>>()?;
    Ok(ThreadTarget { shared, locals, span })
}

/// A target with states that the header does not have cannot be reached. Files with one are in circulation, with verdicts; who
/// asks for one wants something else.
fn judge_target(target: &ThreadTarget, asked: bool, file: &File, diagnostics: &mut Diagnostics) {
    let beyond = |what: &str, state: u32, limit: u32| {
        let message = format!("there is no {what} state {state}: the header says there are {limit}");
        match asked {
            true => Diagnostic::error(codes::NUMBER, target.span, message),
            false => Diagnostic::warning(codes::STRANGE_TARGET, target.span, message)
                .help("such a target is never reached"),
        }
    };
    if target.shared >= file.shared {
        diagnostics.push(beyond("shared", target.shared, file.shared));
    } else if let Some(local) = target.locals.iter().find(|local| **local >= file.locals) {
        diagnostics.push(beyond("local", *local, file.locals));
    }
}

fn known(init: InitialStates, file: &File, span: Span) -> Parsed<InitialStates> {
    let wrong = |what: &str, value: u32| {
        Err(Box::new(Diagnostic::error(
            codes::BAD_INIT,
            span,
            format!("there is no {what} state {value} to begin in"),
        )))
    };
    if init.shared >= file.shared {
        return wrong("shared", init.shared);
    }
    match init.fixed.iter().chain(&init.any).find(|local| **local >= file.locals) {
        Some(local) => wrong("local", *local),
        None => Ok(init),
    }
}

fn transition(words: &[LineWord<'_>], file: &mut File, diagnostics: &mut Diagnostics) -> Parsed<()> {
    let span = words[0].span.to(words[words.len() - 1].span);
    let (ends, moves) = words.split_at(words.len().min(5));
    let [s, l, arrow, to, after] = ends else {
        return unexpected(
            span,
            "a transition is written `s l -> s l`, with `+>` for a new thread or `~>` for all threads",
        );
    };
    let shared = |word: LineWord<'_>| number(word, Some((file.shared, "shared")));
    let local = |word: LineWord<'_>| number(word, Some((file.locals, "local")));
    let from = (shared(*s)?, local(*l)?);
    let to = (shared(*to)?, local(*after)?);
    let mut passive = Vec::new();
    for step in moves.chunks(3) {
        match step {
            [a, arrow, b] if arrow.text == "~>" => passive.push((local(*a)?, local(*b)?)),
            _ => return unexpected(step[0].span, "other threads move as in `a ~> b`"),
        }
    }
    match arrow.text {
        "->" if passive.is_empty() && from == to => {
            let message = "a step that changes nothing is left out";
            diagnostics.push(Diagnostic::note(codes::SELF_LOOP, span, message));
        }
        "->" if passive.is_empty() => file.edges.push(ThreadEdge { from, to, spawns: false, span }),
        "->" => {
            let broadcast =
                BroadcastLine { actor: Some((from.1, to.1)), shared: (from.0, to.0), moves: passive, span };
            file.broadcasts.push(broadcast);
        }
        "+>" if passive.is_empty() => file.edges.push(ThreadEdge { from, to, spawns: true, span }),
        "~>" if passive.is_empty() => {
            let moves = vec![(from.1, to.1)];
            file.broadcasts.push(BroadcastLine { actor: None, shared: (from.0, to.0), moves, span });
        }
        "+>" | "~>" => {
            return unexpected(moves[0].span, "only a transition with `->` moves other threads too");
        }
        other => return unexpected(arrow.span, format!("`->`, `+>` or `~>` is expected, not `{other}`")),
    }
    Ok(())
}
