//! Runs told by who does what: whose each rule is, which changes are messages, what matters.

use std::path::Path;

use shoal::{
    CheckOptions, LoadOptions, Told, check, load,
    story::{LaneKind, Story, Target},
};
use shoal_model::{Quiet, Trace, TypedId};

/// The first violation of a model of the gallery, told.
fn told(model: &str) -> (Trace, Told) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models").join(model);
    let loaded = load(&path, &LoadOptions::default()).unwrap();
    let report = check(&loaded, &CheckOptions::default(), &mut Quiet).unwrap();
    let (property, violation) = report.violations().next().unwrap_or_else(|| panic!("{model} is violated"));
    let told = shoal::tell(&loaded, property, violation).unwrap();
    (violation.trace.clone().unwrap(), told)
}

fn names(story: &Story) -> Vec<&str> {
    story.lanes.iter().map(|lane| lane.name.as_str()).collect()
}

#[test]
fn the_message_that_nobody_takes_is_seen() {
    let (_, Told { story, .. }) = told("murphi/german_bug.m");
    assert_eq!(names(&story), ["client_1", "client_2", "client_3", "home"]);
    assert_eq!(story.lanes[3].kind, LaneKind::Shared);
    let recall: Vec<_> = story.arrows.iter().filter(|arrow| arrow.label == "Recall").collect();
    assert_eq!(recall.len(), 1);
    assert_eq!(recall[0].from.1, 3, "home sends it");
    assert!(matches!(recall[0].to, Target::InFlight(Some(0 | 1))), "{recall:?}");
    let taken = story.arrows.iter().filter(|arrow| matches!(arrow.to, Target::Taken(..))).count();
    assert_eq!(taken, 4, "two requests, two grants");
    let busy = story.busy();
    assert_eq!(busy.iter().filter(|busy| **busy).count(), 3, "one client has no part in it");
}

/// Whose each rule is, by hand: the first words of its name tell a reader.
#[test]
fn rules_belong_to_whom_a_reader_would_say() {
    let (mut wrong, mut all) = (Vec::new(), 0);
    type IsAPartsRule = fn(&str) -> bool;
    let cases: [(&str, IsAPartsRule); 4] = [
        ("murphi/german_bug.m", |rule| rule.starts_with("client")),
        ("murphi/peterson_bug.m", |_| true),
        ("murphi/mcs_lock_bug.m", |_| true),
        ("murphi/two_phase_commit_bug.m", |rule| {
            ["vote", "abort", "learn"].iter().any(|word| rule.starts_with(word))
        }),
    ];
    for (model, is_parts) in cases {
        let (trace, Told { story, model, .. }) = told(model);
        let lanes = shoal::story::Lanes::of(&model, &trace, &shoal::story::Directions::default());
        for (id, rule) in model.rules.enumerate() {
            let args: Vec<_> =
                rule.params.iter().map(|it| model.least(rule.code.locals[it.local].ty)).collect();
            let lane = lanes.actor(&model, id, &args);
            let part = story.lanes[lane].kind == LaneKind::Part;
            all += 1;
            if part != is_parts(&rule.name) {
                wrong.push(rule.name.clone());
            }
        }
    }
    assert!(wrong.len() * 10 <= all, "of {all}: {wrong:?}");
}

/// Violated models in every language: what a story says is in the run.
#[test]
fn stories_say_what_is_in_the_run() {
    for model in [
        "murphi/german_bug.m",
        "murphi/dining_bug.m",
        "murphi/msi_directory_bug.m",
        "promela/lost_update.pml",
        "heap/use_after_free.dpml",
        "sgm/fischer_bug.vpl",
        "red/mcs_bug.red",
        "beacon/rockall_bug.bp",
    ] {
        let (trace, Told { story, .. }) = told(model);
        assert_eq!(story.rows.len(), trace.steps.len(), "{model}");
        let states: Vec<_> = trace.states().collect();
        for row in &story.rows {
            assert!(row.lane < story.lanes.len());
            for cell in row.changes.iter().filter_map(|change| change.cell.as_ref()) {
                let var = cell.var.index();
                let (before, after) = (&states[row.number - 1].values[var], &states[row.number].values[var]);
                assert_ne!(before, after, "{model}: row {} changes {cell:?}", row.number);
            }
        }
        for arrow in &story.arrows {
            let (row, lane) = arrow.from;
            assert!(row == 0 || story.rows[row - 1].lane == lane, "{model}: {arrow:?}");
            if let Target::Taken(at, lane) = arrow.to {
                assert!(at > row && story.rows[at - 1].lane == lane, "{model}: {arrow:?}");
            }
        }
        assert!(story.rows.iter().any(|row| row.relevant), "{model}");
    }
}

/// What is wrong at the end hangs on nothing that is left out: the run without it would end the same.
#[test]
fn what_does_not_matter_is_known() {
    let (_, Told { story, .. }) = told("murphi/peterson_bug.m");
    assert!(story.rows.last().unwrap().relevant);
    let model = "
        var x: 0..3; y: 0..3;
        startstate begin x := 0; y := 0; end;
        rule \"of x\" x < 2 & y = 1 ==> begin x := x + 1; end;
        rule \"of y\" y < 3 ==> begin y := y + 1; end;
        invariant \"y is small\" y < 3;
    ";
    let loaded = shoal::load_text("two.m", model, &LoadOptions::default()).unwrap();
    let report = check(&loaded, &CheckOptions::default(), &mut Quiet).unwrap();
    let (property, violation) = report.violations().next().unwrap();
    let Told { story, .. } = shoal::tell(&loaded, property, violation).unwrap();
    assert_eq!(story.rows.iter().filter(|row| row.relevant).count(), 3, "{story:?}");
}

/// In a deadlock it is said what each waits for, not that it is where it is.
#[test]
fn who_cannot_move_says_why() {
    let (_, Told { story, .. }) = told("murphi/dining_bug.m");
    let ending = story.ending.unwrap();
    for standing in &ending.standing[..5] {
        assert_eq!(standing.place, "OneFork");
        assert_eq!(standing.obstacles.len(), 1, "{standing:?}");
        assert!(standing.obstacles[0].reads[0].0.starts_with("taken["), "{standing:?}");
    }
}

/// What nothing happens to is told by where it stands, if its sort is proved to be symmetric.
#[test]
fn bystanders_are_counted() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/murphi/german_bug.m");
    let options = LoadOptions { set: vec![("N".into(), 6)], ..LoadOptions::default() };
    let loaded = load(&path, &options).unwrap();
    let report = check(&loaded, &CheckOptions::default(), &mut Quiet).unwrap();
    let (property, violation) = report.violations().next().unwrap();
    let Told { story, .. } = shoal::tell(&loaded, property, violation).unwrap();
    let groups: Vec<String> = story.bystanders.iter().map(|group| group.text(&story)).collect();
    assert_eq!(groups, ["4 × Invalid (client_3 to client_6)"]);
}

/// Comments of the model say whose a variable is, which one carries messages and which is not to be told.
#[test]
fn comments_say_how_a_run_is_told() {
    let model = "
        -- shoal: lane home = busy, owner
        -- shoal: message wire: client -> home
        -- shoal: hide noise, nobody
        type client: scalarset(2);
        var busy: boolean; owner: client; wire: array [client] of 0..3; noise: 0..7; wants: array [client] of boolean;
        startstate begin
          busy := false; undefine owner; noise := 0;
          for c: client do wire[c] := 0; wants[c] := false; end;
        end;
        ruleset c: client do
          rule \"ask\" !wants[c] ==> begin wants[c] := true; wire[c] := 1; noise := 3; end;
          rule \"answer\" wire[c] = 1 & !busy ==> begin busy := true; owner := c; wire[c] := 0; end;
        end;
        invariant \"nobody is served\" !busy;
    ";
    let loaded = shoal::load_text("told.m", model, &LoadOptions::default()).unwrap();
    let report = check(&loaded, &CheckOptions::default(), &mut Quiet).unwrap();
    let (property, violation) = report.violations().next().unwrap();
    let Told { story, .. } = shoal::tell(&loaded, property, violation).unwrap();
    let home = names(&story).iter().position(|name| *name == "home").unwrap();
    let paths = |lane: usize| -> Vec<&str> {
        let changes = story.rows.iter().flat_map(|row| &row.changes);
        changes.filter(|change| change.lane == lane).map(|change| change.path.as_str()).collect()
    };
    assert_eq!(paths(home), ["busy", "owner"]);
    assert!(story.rows.iter().flat_map(|row| &row.changes).all(|change| change.path != "noise"));
    assert_eq!(story.strange, ["`nobody` in a comment for Shoal is no variable"]);
}

/// A row of places for messages for each part carries messages, and one is called by the constant in it.
#[test]
fn messages_lie_in_rows_of_places() {
    let model = "
        type client: scalarset(2); place: 0..1;
             message: record adr: 0..3; mtype: enum { Get, Give }; end;
        var busy: boolean; served: 0..3;
            wire: array [client] of array [place] of message; asked: array [client] of boolean;
        startstate begin busy := false; served := 0; undefine wire; for c: client do asked[c] := false; end; end;
        ruleset c: client do
          rule \"client asks\" !asked[c] ==> begin asked[c] := true; wire[c][0].adr := 1; wire[c][0].mtype := Get; end;
          rule \"home answers\" !isundefined(wire[c][0].mtype) & !busy ==> begin
            busy := true; served := wire[c][0].adr; undefine wire[c][0]; end;
        end;
        rule \"home rests\" busy & served = 3 ==> begin busy := false; end;
        invariant \"nobody is served\" !busy;
    ";
    let Told { story, .. } = told_text("rows.m", model);
    let arrows: Vec<(&str, &Target)> =
        story.arrows.iter().map(|arrow| (arrow.label.as_str(), &arrow.to)).collect();
    let home = names(&story).iter().position(|name| *name == "home").unwrap();
    assert_eq!(arrows, [("Get(adr 1)", &Target::Taken(2, home))]);
}

/// Clocks climb with time and are set back by steps.
#[test]
fn clocks_are_followed() {
    let (trace, Told { story, .. }) = told("sgm/fischer_bug.vpl");
    assert!(!story.clocks.is_empty());
    for clock in &story.clocks {
        assert_eq!(clock.moments.len(), 1 + 2 * trace.steps.len(), "{}", clock.name);
        for (step, pair) in trace.steps.iter().zip(clock.moments[..].windows(2).step_by(2)) {
            let (Some(before), Some(after)) = (pair[0].shows, pair[1].shows) else { continue };
            assert_eq!(before.checked_add(step.delay), Some(after), "{} while time passes", clock.name);
        }
    }
}

/// The first violation of a text, told.
fn told_text(name: &str, text: &str) -> Told {
    let loaded = shoal::load_text(name, text, &LoadOptions::default()).unwrap();
    let report = check(&loaded, &CheckOptions::default(), &mut Quiet).unwrap();
    let (property, violation) = report.violations().next().unwrap_or_else(|| panic!("{name} is violated"));
    shoal::tell(&loaded, property, violation).unwrap()
}

/// An assertion says what it read, in a procedure as well as in a rule, and which part of it is false.
#[test]
fn an_assertion_says_what_it_read() {
    let text = "
        var x: 0..9; last: 0..9;
        procedure look(n: 0..9); begin assert n < 3 & x = last \"in step\"; end;
        startstate begin x := 0; last := 0; end;
        rule \"up\" x < 9 ==> begin x := x + 1; last := x; look(x); end;
        rule \"lag\" x = 2 ==> begin x := 1; look(x); end;
    ";
    let causes = told_text("lag.m", text).causes;
    let reads = |cause: &shoal::Blame| cause.reads.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(causes.len(), 1);
    // The shortest run counts to three, or lags behind after two: either part may be the false one.
    let read = reads(&causes[0]);
    assert!(read == ["n"] || read == ["x", "last"], "{causes:?}");
    let promela = "
        byte din = 1, prev = 1;
        active proctype A() { prev = 2; assert(din == (prev + 1) % 4 && prev == 2) }
    ";
    let causes = told_text("a.pml", promela).causes;
    let names: Vec<String> = causes.iter().flat_map(reads).collect();
    assert_eq!(names, ["din", "prev"]);
    assert!(!causes[0].text.contains("&&"), "{causes:?}");
}

/// At a deadlock a rule that may fire and leads nowhere is told, and why.
#[test]
fn rules_that_lead_nowhere_are_told() {
    let text = "
        type id: 0..1;
        var left: 0..2; pc: array [id] of enum { Idle, Full };
        function take(): 0..2; begin if left > 0 then left := left - 1; return 1; end; return 0; end;
        startstate begin left := 1; for i: id do pc[i] := Idle; end; end;
        ruleset i: id do
          rule \"fill\" pc[i] = Idle ==> var got: 0..2; begin got := take(); assume got != 0; pc[i] := Full; end;
        end;
    ";
    let Told { story, .. } = told_text("memory.m", text);
    let ending = story.ending.unwrap();
    let why: Vec<&str> =
        ending.standing.iter().flat_map(|it| &it.obstacles).map(|it| it.text.as_str()).collect();
    assert!(why.iter().any(|text| text.starts_with("fill needs ")), "{why:?}");
    let reads: Vec<_> =
        ending.standing.iter().flat_map(|it| &it.obstacles).flat_map(|it| &it.reads).collect();
    assert!(reads.contains(&&("got".to_string(), "0".to_string())), "{reads:?}");
}

/// Two processes that move together in one step: what one says, the other hears.
#[test]
fn what_is_said_and_heard_at_once_is_a_message() {
    let text = "
        chan c = [0] of { byte };
        active proctype A() { c!7 }
        active proctype B() { byte x; c?x; assert(x != 7) }
    ";
    let Told { story, .. } = told_text("both.pml", text);
    let at_once: Vec<_> = story
        .arrows
        .iter()
        .filter(|arrow| matches!(arrow.to, Target::Taken(row, lane) if row == arrow.from.0 && lane != arrow.from.1))
        .collect();
    assert_eq!(at_once.len(), 1, "{:?}", story.arrows);
    assert_eq!(at_once[0].label, "7");
    assert_eq!(names(&story)[at_once[0].from.1], "A");
}
