//! A run as text for people: the verdict first, then why, then the steps, then what to type next.

use std::{
    io::{self, Write},
    time::Duration,
};

use shoal::Blame;
use shoal_model::{
    DeadlockKind, During, FaultKind, Formula, Model, Property, PropertyId, PropertyKind, PropertyResult,
    Reason, Reduction, SortId, SortSize, Statistics, StopReason, Trace, Verdict, Violation,
};
use shoal_syntax::{Advice, SourceMap, Span};

use crate::{
    LanesRoom, NOTHING_ASKED, Palette, Run, StoryDetail, grouped, instance_name,
    names::grouped_digits,
    objects::{Created, with_stable_names},
    one_line, plural, start_name,
    trace::shown_steps,
    trace::write_loop,
    write_lanes, write_steps,
};

/// Writes all that a person wants to know of a run.
pub fn write_run(out: &mut dyn Write, run: &Run<'_>, palette: Palette) -> io::Result<()> {
    writeln!(out, "{}", palette.strong(headline(run)))?;
    writeln!(out)?;
    let (crowd, results) = crowd_of_assertions(run);
    for result in results {
        write_result(out, run, result, palette)?;
    }
    if crowd > 0 {
        writeln!(out, "{}     {crowd} assertions", palette.good("✓ holds"))?;
    }
    if run.outcome().results.is_empty() {
        writeln!(out, "{}   {NOTHING_ASKED}", palette.doubt("? unknown"))?;
    }
    write_coverage(out, run, palette)?;
    for note in &run.outcome().statistics.notes {
        writeln!(out, "{}        {note}", palette.doubt("note"))?;
    }
    writeln!(out)?;
    for statistics in run.deciding() {
        writeln!(out, "{}", palette.faint(work(run, statistics)))?;
    }
    if let Some(advice) = run.report.advice() {
        writeln!(out, "{}", palette.faint(run.advise(&advice)))?;
    }
    Ok(())
}

/// Generated models have hundreds of assertions that hold; more than a few of them are shown as a number. The rest of the
/// results is given in the order they are shown.
fn crowd_of_assertions<'a>(run: &Run<'a>) -> (usize, Vec<&'a PropertyResult>) {
    const FEW: usize = 4;
    let holds = |result: &&PropertyResult| {
        matches!(result.verdict, Verdict::Holds)
            && matches!(run.property(result).kind, PropertyKind::Assertion)
    };
    let results = run.results_by_weight();
    match results.iter().copied().filter(holds).count() {
        crowd if crowd > FEW => (crowd, results.into_iter().filter(|result| !holds(result)).collect()),
        _ => (0, results),
    }
}

/// Writes a line for each property and nothing else.
pub fn write_verdicts(out: &mut dyn Write, run: &Run<'_>, palette: Palette) -> io::Result<()> {
    if run.outcome().results.is_empty() {
        writeln!(out, "{}  {NOTHING_ASKED}  {}", palette.doubt("? unknown "), palette.faint(run.file))?;
    }
    for result in run.results_by_weight() {
        let verdict = match &result.verdict {
            Verdict::Holds => palette.good("✓ holds   ").to_string(),
            Verdict::Unknown(_) => palette.doubt("? unknown ").to_string(),
            Verdict::Violated(_) => palette.bad("✗ violated").to_string(),
        };
        writeln!(out, "{verdict}  {}  {}", run.title(run.property(result)), palette.faint(run.file))?;
    }
    Ok(())
}

/// `german.m: 4 properties, client = 6 (symmetric: proved), state 41 bits`.
fn headline(run: &Run<'_>) -> String {
    let mut parts = vec![plural(run.outcome().results.len() as u64, "property", "properties")];
    parts.extend(run.model().sorts.ids().map(|sort| {
        let proved = if run.report.plan.symmetric.contains(&sort) { " (symmetric: proved)" } else { "" };
        format!("{}{proved}", sort_scope(run.model(), sort))
    }));
    if run.outcome().statistics.state_bits > 0 {
        parts.push(format!("state {}", plural(run.outcome().statistics.state_bits, "bit", "bits")));
    }
    format!("{}: {}", run.file, parts.join(", "))
}

fn sort_scope(model: &Model, sort: SortId) -> String {
    let sort = &model.sorts[sort];
    match sort.size {
        SortSize::Fixed(size) => format!("{} = {size}", sort.name),
        SortSize::Growing { limit: Some(limit), .. } => format!("{} up to {limit}", sort.name),
        SortSize::Growing { limit: None, .. } => format!("{} growing", sort.name),
        SortSize::Any => format!("any number of {}", sort.name),
    }
}

fn scope(model: &Model) -> String {
    model.sorts.ids().map(|sort| sort_scope(model, sort)).collect::<Vec<_>>().join(", ")
}

fn write_result(
    out: &mut dyn Write,
    run: &Run<'_>,
    result: &PropertyResult,
    palette: Palette,
) -> io::Result<()> {
    let title = run.title(run.property(result));
    let column = title_column(run);
    match &result.verdict {
        Verdict::Holds => {
            let scope = scope(run.model());
            let title =
                if scope.is_empty() { title } else { format!("{title:<column$}  {}", palette.faint(scope)) };
            writeln!(out, "{}     {title}", palette.good("✓ holds"))?;
            write_note(out, run, result, palette)
        }
        Verdict::Unknown(reason) => {
            writeln!(
                out,
                "{}   {title:<column$}  {}",
                palette.doubt("? unknown"),
                unknown(run, result, reason)
            )
        }
        Verdict::Violated(violation) => {
            writeln!(out, "{}  {title}", palette.bad("✗ violated"))?;
            write_violation(out, run, result, violation, palette)
        }
    }
}

/// What more is known of a verdict that holds.
fn write_note(
    out: &mut dyn Write,
    run: &Run<'_>,
    result: &PropertyResult,
    palette: Palette,
) -> io::Result<()> {
    if let Some(note) = run.note(result.property) {
        let is_value = matches!(run.property(result).kind, PropertyKind::Extreme(_));
        let word = if is_value { "value" } else { "proof" };
        writeln!(out, "  {}  {note}", palette.faint(format!("{word:<9}")))?;
    }
    if let Some(path) = run.certificate(result.property) {
        let advice = run.advise(&Advice::VerifyCertificate(path.into()));
        writeln!(out, "  {}  {advice}", palette.faint(format!("{:<9}", "check it")))?;
    }
    Ok(())
}

/// Where what is said of a verdict begins: after the longest title that is not too long.
fn title_column(run: &Run<'_>) -> usize {
    let widths = run.outcome().results.iter().map(|result| run.title(run.property(result)).chars().count());
    widths.filter(|width| *width <= 60).max().unwrap_or(0)
}

fn unknown(run: &Run<'_>, result: &PropertyResult, reason: &StopReason) -> String {
    let reason = match reason {
        StopReason::Memory(limit) => format!("memory limit of {} reached", size(*limit)),
        StopReason::AnyNumber(why) => return why.clone(),
        other => other.to_string(),
    };
    match run.statistics(result) {
        Some(statistics) => format!("{reason}; no violation in {}", states(statistics)),
        None => reason,
    }
}

fn write_violation(
    out: &mut dyn Write,
    run: &Run<'_>,
    result: &PropertyResult,
    violation: &Violation,
    palette: Palette,
) -> io::Result<()> {
    let property = run.property(result);
    let mut line =
        |name: &str, text: String| writeln!(out, "  {}  {text}", palette.faint(format!("{name:<9}")));
    let causes = run.causes(result.property);
    let shown = Shows { model: run.model(), sources: run.sources(), property, causes };
    for (name, text) in shown.why(violation.trace.as_ref(), &violation.reason) {
        line(name, text)?;
    }
    let Some(trace) = &violation.trace else { return writeln!(out) };
    let steps = plural(trace.steps.len() as u64, "step", "steps");
    let confirmed = match run.report.unsettled.contains(&result.property) {
        true => "replayed; what can be reached from its end is too much to confirm",
        false => "replayed and confirmed",
    };
    if let Some(note) = run.note(result.property) {
        line("needs", note)?;
    }
    line("trace", format!("{steps}, {confirmed}"))?;
    writeln!(out)?;
    let (named, objects) = with_stable_names(run.model(), trace);
    let told =
        run.lanes.and_then(|width| Some((width, shoal::tell(run.loaded, result.property, violation)?)));
    match told {
        Some((width, told)) => {
            let room = LanesRoom::wide(width);
            write_lanes(out, &told.model, &told.story, StoryDetail::Folded, room, palette)?;
        }
        None => {
            write_steps(out, &shown_steps(run.model(), None, &named, &run.shows(result.property)), palette)?;
            write_loop(out, trace.loops_to, trace.steps.len(), palette)?;
        }
    }
    for Created { name, step, span, .. } in &objects {
        let made = format!("{name} created at {}, step {step}", run.sources().locate(*span));
        writeln!(out, "       {}", palette.faint(made))?;
    }
    if let Some(path) = run.trace(result.property) {
        writeln!(out)?;
        writeln!(out, "  {}", run.advise(&Advice::ShowTrace(path.into())))?;
    }
    writeln!(out)
}

/// Why a property is violated: what each line is about, and what it says.
pub fn why_violated(
    model: &Model,
    sources: &SourceMap,
    property: PropertyId,
    violation: &Violation,
    causes: &[Blame],
) -> Vec<(&'static str, String)> {
    let shown = Shows { model, sources, property: &model.properties[property], causes };
    shown.why(violation.trace.as_ref(), &violation.reason)
}

/// What a violation is shown with.
struct Shows<'a> {
    model: &'a Model,
    sources: &'a SourceMap,
    property: &'a Property,
    causes: &'a [Blame],
}

impl Shows<'_> {
    /// The lines that say what is wrong: name and text.
    fn why(&self, trace: Option<&Trace>, reason: &Reason) -> Vec<(&'static str, String)> {
        let Shows { model, sources, property, causes } = self;
        let (kind, span) = (&property.kind, property.span);
        let quote = |span| format!("{}  {}", sources.locate(span), one_line(sources.snippet(span)));
        match reason {
            Reason::ConditionFalse if causes.is_empty() => vec![("condition", quote(span))],
            Reason::ConditionFalse => causes.iter().flat_map(|cause| blame(model, sources, cause)).collect(),
            Reason::Fault(during, fault) => {
                let mut lines = vec![("error", fault.kind.to_string()), ("at", quote(fault.span))];
                if let FaultKind::Assertion(property) = fault.kind {
                    lines[0].1 = format!("{}: {:?}", fault.kind, model.properties[property].name);
                }
                if fault.kind == FaultKind::NullReference {
                    lines.push(("in", source_line(sources, fault.span)));
                }
                lines.push(("during", during_in_words(model, during)));
                let reads = causes.iter().filter(|cause| !cause.reads.is_empty());
                lines.extend(reads.map(|cause| ("where", values(model, &cause.reads))));
                lines
            }
            Reason::Deadlock => vec![("because", deadlock(kind).into())],
            Reason::NeverCovered => {
                vec![("because", "no reachable state satisfies it".into()), ("condition", quote(span))]
            }
            Reason::NotPossible => {
                let text = "from the last state no state can be reached where it holds";
                vec![("because", text.into()), ("condition", quote(span))]
            }
            Reason::FormulaFalse => {
                let for_ever = trace.is_some_and(|trace| trace.loops_to.is_some());
                let of_all = !matches!(kind, PropertyKind::Temporal(_, Formula::SomePath(_)));
                let text = match for_ever && of_all {
                    true => "the run below goes on for ever, and the formula is false of it",
                    false => "the formula is false where the run below begins",
                };
                vec![("because", text.into()), ("formula", quote(span))]
            }
            Reason::After(delay, reason) => {
                let mut lines = vec![("after", format!("{delay} more units of time"))];
                lines.extend(self.why(trace, reason));
                lines
            }
        }
    }
}

fn blame(model: &Model, sources: &SourceMap, cause: &Blame) -> Vec<(&'static str, String)> {
    let text = one_line(sources.snippet(cause.span));
    let mut lines = vec![("conjunct", format!("{}  {text}", sources.locate(cause.span)))];
    if !cause.bindings.is_empty() {
        lines.push(("because", values(model, &cause.bindings)));
    }
    if !cause.reads.is_empty() {
        lines
            .push((if cause.bindings.is_empty() { "because" } else { "where" }, values(model, &cause.reads)));
    }
    lines
}

/// `i = Client_1, j = Client_2`.
fn values(model: &Model, pairs: &[(String, shoal_model::Value)]) -> String {
    const SHOWN: usize = 8;
    let shown = pairs.iter().take(SHOWN).map(|(name, value)| format!("{name} = {}", model.show(value)));
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if pairs.len() > SHOWN {
        text.push_str(", …");
    }
    text
}

/// Why a property is violated, in one sentence without a full stop: the part that failed where it is known.
pub(crate) fn violation_in_words(run: &Run<'_>, property: PropertyId, violation: &Violation) -> String {
    let cause = run.causes(property).first();
    let plain = || reason_in_words(run.model(), run.sources(), &violation.reason);
    let Some(cause) = cause else { return plain() };
    if let Reason::Fault(..) = violation.reason {
        return format!("{}, where {}", plain(), values(run.model(), &cause.reads));
    }
    let text = one_line(run.sources().snippet(cause.span));
    let place = run.sources().locate(cause.span);
    let known = match cause.bindings.is_empty() {
        true => values(run.model(), &cause.reads),
        false => values(run.model(), &cause.bindings),
    };
    let with = if known.is_empty() { String::new() } else { format!(" for {known}") };
    format!("`{text}` fails in the last state{with} ({place})")
}

fn deadlock(kind: &PropertyKind) -> &'static str {
    match kind {
        PropertyKind::Deadlock(DeadlockKind::Stuttering) => {
            "in the last state no rule leads to another state"
        }
        PropertyKind::Deadlock(DeadlockKind::Timelock) => "from the last state on time cannot diverge",
        PropertyKind::Deadlock(DeadlockKind::StuckUnless(_)) => {
            "in the last state no rule is enabled, and it is no place to end"
        }
        _ => "in the last state no rule is enabled",
    }
}

/// What is wrong, in one sentence without a full stop.
pub fn reason_in_words(model: &Model, sources: &SourceMap, reason: &Reason) -> String {
    match reason {
        Reason::ConditionFalse => "the condition is false in the last state".into(),
        Reason::Fault(during, fault) => {
            let at = sources.locate(fault.span);
            format!("{} at {at}, during {}", fault.kind, during_in_words(model, during))
        }
        Reason::Deadlock => "the last state is a deadlock".into(),
        Reason::NeverCovered => "no reachable state satisfies it".into(),
        Reason::NotPossible => "from the last state no state can be reached where it holds".into(),
        Reason::FormulaFalse => "the formula is false of the run".into(),
        Reason::After(delay, reason) => {
            format!("after {delay} more: {}", reason_in_words(model, sources, reason))
        }
    }
}

/// The line of the source in which a span begins: what a pointer that is null was followed for.
fn source_line(sources: &SourceMap, span: Span) -> String {
    let file = sources.file(span.source);
    shoal_syntax::escaped(file.line(file.position(span.start).line).trim()).into_owned()
}

fn during_in_words(model: &Model, during: &During) -> String {
    match during {
        During::Start(start, args, _) => format!("start {}", start_name(model, *start, args)),
        During::Guard(rule, args) => format!("the guard of {}", instance_name(model, *rule, args)),
        During::Body(rule, args, _) => instance_name(model, *rule, args),
        During::Property(property) => model.properties[*property].title(),
    }
}

fn write_coverage(out: &mut dyn Write, run: &Run<'_>, palette: Palette) -> io::Result<()> {
    let words = if run.outcome().statistics.exhaustive { "! never fired" } else { "! not fired yet" };
    // One rule that never fires is a hint; a hundred of them after a violation are not.
    let shown = if run.outcome().statistics.exhaustive { 20 } else { 5 };
    let all = run.never_fired().count();
    for (_, rule) in run.never_fired().take(shown) {
        let place = run.sources().locate(rule.span);
        writeln!(
            out,
            "{}  rule {:<36}  {}",
            palette.doubt(words),
            format!("{:?}", rule.name),
            palette.faint(place)
        )?;
    }
    match all.saturating_sub(shown) {
        0 => Ok(()),
        rest => writeln!(out, "{}  {rest} more", palette.doubt(words)),
    }
}

/// The name of a sort that was reduced by, and how that is justified if not by a proof.
fn symmetric_sort(run: &Run<'_>, statistics: &Statistics, sort: SortId) -> String {
    let name = &run.model().sorts[sort].name;
    let how = statistics.reductions.iter().find_map(|reduction| match reduction {
        Reduction::Checked(sorts) if sorts.contains(&sort) => Some("checked in every state"),
        Reduction::Trusted(sorts) if sorts.contains(&sort) => Some("taken for granted"),
        Reduction::Symmetry(_)
        | Reduction::Checked(_)
        | Reduction::Trusted(_)
        | Reduction::Ranges(_)
        | Reduction::Automorphisms(_)
        | Reduction::Inactive(_)
        | Reduction::PartialOrder => None,
    });
    how.map_or(name.clone(), |how| format!("{name} ({how})"))
}

fn states(statistics: &Statistics) -> String {
    match &statistics.states_exact {
        Some(exact) if statistics.states == u64::MAX => format!("{} states", grouped_digits(exact)),
        _ => plural(statistics.states, "state", "states"),
    }
}

/// A line about the work of one engine.
pub(crate) fn work(run: &Run<'_>, statistics: &Statistics) -> String {
    let mut states = states(statistics);
    if let (Some(peak), Some(steps)) = (statistics.nodes_peak, statistics.nodes_transition) {
        states = format!("{states}, {peak} nodes at most, {steps} for the steps");
    }
    if let Some(full) = statistics.states_full.filter(|full| *full != u128::from(statistics.states)) {
        states = format!("{states} for {}", grouped(full));
    }
    let sorts: Vec<String> = statistics
        .reductions
        .iter()
        .flat_map(|reduction| match reduction {
            Reduction::Symmetry(sorts) => sorts.as_slice(),
            Reduction::Checked(_)
            | Reduction::Trusted(_)
            | Reduction::Ranges(_)
            | Reduction::Automorphisms(_)
            | Reduction::Inactive(_)
            | Reduction::PartialOrder => &[],
        })
        .map(|sort| symmetric_sort(run, statistics, *sort))
        .collect();
    let mut reduced =
        if sorts.is_empty() { String::new() } else { format!(", symmetry in {}", sorts.join(", ")) };
    if statistics.reductions.contains(&Reduction::PartialOrder) {
        reduced +=
            &format!(", partial order (steps put off in {})", plural(statistics.put_off, "state", "states"));
    }
    for reduction in &statistics.reductions {
        if let Reduction::Ranges(names) = reduction {
            reduced += &format!(", symmetry of the ranges {}", names.join(", "));
        }
        if let Reduction::Automorphisms(which) = reduction {
            reduced += &format!(", automorphisms ({})", which.join(", "));
        }
        if let Reduction::Inactive(variables) = reduction {
            reduced += &format!(", {} reset where inactive", variables.join(", "));
        }
    }
    let steps = match &statistics.transitions_exact {
        Some(exact) if statistics.transitions == u64::MAX => format!("{} steps", grouped_digits(exact)),
        _ => plural(statistics.transitions, "step", "steps"),
    };
    let depth = statistics.depth.map_or(String::new(), |depth| format!(", depth {depth}"));
    format!(
        "{} engine{reduced}: {states}, {steps}{depth}, {}, {}",
        statistics.engine,
        seconds(statistics.time),
        size(statistics.memory_bytes),
    )
}

/// A time for people: `0.31 s`, `2 min 5 s`.
pub fn seconds(time: Duration) -> String {
    match time.as_secs() {
        0..10 => format!("{:.2} s", time.as_secs_f64()),
        10..60 => format!("{:.1} s", time.as_secs_f64()),
        whole if whole < 3600 => format!("{} min {} s", whole / 60, whole % 60),
        whole => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

/// A number of bytes for people: `2.1 MiB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut number = bytes as f64;
    let mut unit = 0;
    while number >= 1024.0 && unit + 1 < UNITS.len() {
        number /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} bytes") } else { format!("{number:.1} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_read_well() {
        assert_eq!(seconds(Duration::from_millis(312)), "0.31 s");
        assert_eq!(seconds(Duration::from_secs(125)), "2 min 5 s");
        assert_eq!(size(512), "512 bytes");
        assert_eq!(size(2_202_010), "2.1 MiB");
    }
}
