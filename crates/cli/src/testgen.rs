//! `shoal testgen`: runs that cover what a model can do, for the tests of what implements it.

use std::path::{Path, PathBuf};

use shoal::{GoalReached, Loaded, TestGoal, TestItem, TestOptions, Tests, generate_tests, goals_of};
use shoal_report::{Origin, item_name, plural, tests_document, write_trace};

use crate::{
    args::{CoverChoice, LimitArgs, TestFormat, TestgenArgs},
    exit::{CommandFailure, ExitKind},
    files::{FileKind, make_folder},
    output::{Console, write_to},
    progress::listen,
};

/// So much of what no test shows is named.
const NAMED: usize = 10;

pub(crate) fn run(console: &Console, args: &TestgenArgs) -> Result<ExitKind, CommandFailure> {
    let watch = args.limits.watch(&listen());
    let _guard = LimitArgs::guard(&watch, &args.file);
    let loaded = crate::source::load(&args.file, &args.model.load_options(&watch))?;
    let wants = |what| args.cover.is_empty() || args.cover.contains(&what);
    let mut options = TestOptions::default();
    options.rules = wants(CoverChoice::Rules);
    options.pairs = wants(CoverChoice::Pairs);
    if wants(CoverChoice::Goals) {
        options.goals = goals_of(&loaded);
    }
    for text in &args.goal {
        let asked = shoal::ask(&loaded, text)?;
        if !asked.is_condition() {
            return Err(CommandFailure::wrong(format_args!("the goal `{text}` is no condition")));
        }
        options.goals.push(TestGoal { name: text.clone(), reached: GoalReached::Holds(Box::new(asked)) });
    }
    options.length = args.length;
    options.states = args.states;
    options.watch = watch;
    let tests = generate_tests(&loaded, &options)?;
    save(console, &loaded, args, &options.goals, &tests)?;
    report(console, &loaded, args, &options.goals, &tests)
}

fn save(
    console: &Console,
    loaded: &Loaded,
    args: &TestgenArgs,
    goals: &[TestGoal],
    tests: &Tests,
) -> Result<(), CommandFailure> {
    let origin = Origin::of(loaded, &args.file.display().to_string());
    let stem = args.file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let folder = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{stem}.tests")));
    make_folder(&folder)
        .map_err(|error| CommandFailure::wrong(format_args!("{}: {error}", folder.display())))?;
    if args.format.contains(&TestFormat::Json) {
        let document = tests_document(loaded, &origin, goals, tests);
        let path = folder.join(format!("{stem}.tests.json"));
        write_to(console, Some(&path), FileKind::Tests, |out| writeln!(out, "{document:#}"))?;
    }
    if args.format.is_empty() || args.format.contains(&TestFormat::Itf) {
        for (number, run) in tests.runs.iter().enumerate() {
            let text = write_trace(&loaded.model, &loaded.sources, &origin, &run.trace, None);
            let path = test_path(&folder, &stem, number + 1);
            write_to(console, Some(&path), FileKind::Trace, |out| out.write_all(text.as_bytes()))?;
        }
    }
    Ok(())
}

fn test_path(folder: &Path, stem: &str, number: usize) -> PathBuf {
    folder.join(format!("{stem}.{number}.itf.json"))
}

/// Says what is covered. What was asked and cannot happen is named: a goal that is none ends in 1, and what was not found because
/// the search was cut short in 3.
fn report(
    console: &Console,
    loaded: &Loaded,
    args: &TestgenArgs,
    goals: &[TestGoal],
    tests: &Tests,
) -> Result<ExitKind, CommandFailure> {
    let palette = console.palette;
    let steps: usize = tests.runs.iter().map(|run| run.trace.steps.len()).sum();
    console.line(palette.strong(format_args!(
        "{}: {}, {}, from {}",
        args.file.display(),
        plural(tests.runs.len() as u64, "test", "tests"),
        plural(steps as u64, "step", "steps"),
        plural(tests.states as u64, "state", "states"),
    )))?;
    type IsOfKind = fn(&TestItem) -> bool;
    let kinds: [(&str, IsOfKind); 3] = [
        ("rules", |item| matches!(item, TestItem::Rule(_))),
        ("pairs of rules", |item| matches!(item, TestItem::Pair(..))),
        ("goals", |item| matches!(item, TestItem::Goal(_))),
    ];
    for (noun, is) in kinds {
        let wanted = tests.wanted.iter().filter(|item| is(item)).count();
        let missing = tests.missing.iter().filter(|item| is(item)).count();
        if wanted > 0 {
            console.line(format_args!("  {noun:<15} {} of {wanted}", wanted - missing))?;
        }
    }
    let never = if tests.complete { "never happens" } else { "not found so far" };
    for item in tests.missing.iter().take(NAMED) {
        let name = item_name(loaded, goals, *item);
        console.line(format_args!("{}  {name}", palette.doubt(format_args!("! {never}"))))?;
    }
    if tests.missing.len() > NAMED {
        console.line(format_args!("  and {} more", tests.missing.len() - NAMED))?;
    }
    if !tests.complete {
        console.line(format_args!(
            "{}  only {} were explored: what else can happen has no test (--states N)",
            palette.doubt("? not complete"),
            plural(tests.states as u64, "state", "states"),
        ))?;
        return Ok(ExitKind::Inconclusive);
    }
    let misses_goal = tests.missing.iter().any(|item| matches!(item, TestItem::Goal(_)));
    Ok(if misses_goal { ExitKind::Violated } else { ExitKind::Good })
}
