//! Symmetry proved, checked while searching, taken for granted, or shown to be broken.
#![allow(clippy::print_stdout)]

use std::collections::BTreeSet;

use shoal::{CheckOptions, LoadOptions, Report, Status, check, load_text};
use shoal_interpret::{Exploration, explore};
use shoal_model::{Model, Quiet, Reduction, SortId, State, StopReason, Verdict};

use crate::random::{brute::is_symmetric, loops, permute};

fn run(text: &str, options: &CheckOptions) -> (shoal::Loaded, Report) {
    let loaded =
        load_text("model.m", text, &LoadOptions::default()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let report = check(&loaded, options, &mut Quiet).unwrap();
    (loaded, report)
}

/// The sorts that a search reduced by, and those of them that were checked.
fn reduced(report: &Report) -> (Vec<SortId>, Vec<SortId>) {
    let (mut all, mut checked) = (Vec::new(), Vec::new());
    for reduction in &report.outcome.statistics.reductions {
        match reduction {
            Reduction::Symmetry(sorts) => all.extend(sorts),
            Reduction::Checked(sorts) => checked.extend(sorts),
            Reduction::Trusted(_)
            | Reduction::Ranges(_)
            | Reduction::Automorphisms(_)
            | Reduction::Inactive(_)
            | Reduction::PartialOrder => {}
        }
    }
    (all, checked)
}

fn all_states(model: &Model) -> Exploration {
    let found = explore(model, 20_000).unwrap();
    assert!(found.complete);
    found
}

/// Whether a search finds exactly the orbits of the states that there are, with one thread and with two, with machine code
/// and without; and how many of its sorts were checked.
fn finds_the_orbits(text: &str) -> usize {
    let mut known = None;
    for (threads, jit) in [(1, true), (2, true), (1, false)] {
        let (loaded, report) = run(text, &CheckOptions { threads, jit, ..CheckOptions::default() });
        let (sorts, checked) = reduced(&report);
        let states: BTreeSet<State> = all_states(&loaded.model).reached.iter().cloned().collect();
        let (orbits, _) = permute::orbits(&loaded.model, &states, &sorts);
        assert_eq!(report.status(), Status::Holds, "{text}");
        assert_eq!(report.outcome.statistics.states, orbits as u64, "{text}");
        // How many states the orbits have is only told where all of these are reached.
        if let Some(full) = report.outcome.statistics.states_full {
            assert_eq!(full, states.len() as u128, "{text}");
        }
        assert!(report.outcome.statistics.asymmetries.is_empty(), "{text}");
        assert_eq!(sorts.len(), loaded.model.sorts.len(), "all sorts are reduced\n{text}");
        let found = (orbits, checked.len());
        assert_eq!(*known.get_or_insert(found), found);
    }
    known.map_or(0, |(_, checked)| checked)
}

const COUNTED: &str = "
const N: 3;
type P: scalarset(N); L: 0..N;
var at: array [P] of L; free: boolean;
startstate begin free := true; for i: P do at[i] := 0; end; end;
";

#[test]
fn a_start_may_tell_elements_apart() {
    let text = "
type V: scalarset(3);
var memory: V; last: V;
startstate begin for v: V do memory := v; end; last := memory; end;
ruleset v: V do rule \"write\" true ==> begin last := memory; memory := v; end; end;
";
    assert_eq!(finds_the_orbits(text), 0);
    let (_, report) = run(text, &CheckOptions::default());
    // Orbits need not be reached as a whole.
    assert_eq!(report.outcome.statistics.states_full, None);
}

/// A function that only the starts call, and one that both call, are looked at where the starts call them.
#[test]
fn a_function_of_the_starts_may_tell_elements_apart() {
    let text = |start: &str| {
        format!(
            "
type V: scalarset(3);
var memory: V; last: V; seen: array [V] of boolean;
procedure forget(); begin for v: V do seen[v] := false; end; end;
procedure choose(); begin for v: V do memory := v; end; end;
startstate begin forget(); {start} end;
ruleset v: V do rule \"write\" true ==> begin forget(); seen[v] := true; last := v; memory := v; end; end;
"
        )
    };
    let told = |start: &str| {
        assert_eq!(finds_the_orbits(&text(start)), 0);
        run(&text(start), &CheckOptions::default()).1.outcome.statistics.states_full
    };
    assert_eq!(told("choose(); last := memory;"), None);
    assert!(told("undefine memory; undefine last;").is_some());
}

/// The highest of all is taken in a loop that is not a reduction of a kind that the proof knows.
#[test]
fn what_is_not_proved_is_checked() {
    let text = COUNTED.to_string()
        + "
ruleset i: P do rule \"step\" true ==>
  var top: L; begin
    top := 0;
    for j: P do if at[j] > top then top := at[j]; end; end;
    if top < N then at[i] := top + 1; else at[i] := 0; end;
  end;
end;
invariant \"in range\" forall i: P do at[i] <= N end;
";
    finds_the_orbits(&text);
}

#[test]
fn a_loop_that_is_left_early_is_checked() {
    let text = COUNTED.to_string()
        + "
function behind(i: P): L;
begin
  for j: P do if j != i & at[j] > at[i] then return 1; end; end;
  for j: P do if j != i & at[j] < at[i] then return 2; end; end;
  return 0;
end;
ruleset i: P do rule \"step\" behind(i) != 2 ==>
  begin if at[i] < N then at[i] := at[i] + 1; else at[i] := 0; end; end;
end;
invariant \"never far\" forall i: P do behind(i) <= 2 end;
";
    finds_the_orbits(&text);
}

/// The last element gets what the others have not.
const BROKEN: &str = "
type P: scalarset(3); Q: scalarset(2);
var holder: P; has: array [P] of boolean; mark: Q;
startstate begin undefine holder; undefine mark; for i: P do has[i] := false; end; end;
ruleset i: P do rule \"ask\" !has[i] ==> begin has[i] := true; end; end;
rule \"choose\" isundefined(holder) ==>
begin for i: P do if has[i] then holder := i; end; end; end;
ruleset q: Q do rule \"mark\" true ==> begin mark := q; end; end;
";

#[test]
fn a_sort_is_broken_by_a_state_that_shows_it() {
    let (loaded, report) = run(BROKEN, &CheckOptions::default());
    let statistics = &report.outcome.statistics;
    assert_eq!(statistics.asymmetries.len(), 1);
    let found = &statistics.asymmetries[0];
    assert_eq!(loaded.model.sorts[found.sort].name, "P");
    assert_eq!(found.rule.map(|rule| loaded.model.rules[rule].name.as_str()), Some("choose"));
    assert_ne!(found.results[0], found.results[1]);
    // The other sort is still reduced by, and nothing else is lost.
    let (sorts, checked) = reduced(&report);
    assert_eq!((sorts.len(), checked.len()), (1, 0));
    let states: BTreeSet<State> = all_states(&loaded.model).reached.iter().cloned().collect();
    let (orbits, _) = permute::orbits(&loaded.model, &states, &sorts);
    assert_eq!(statistics.states, orbits as u64);
    let warnings = shoal::asymmetry_warnings(&loaded, &statistics.asymmetries);
    assert_eq!(warnings.iter().count(), 1);
}

/// Where the word that was taken is not true, a run may lead nowhere: that is no mistake of the engine, and no violation.
#[test]
fn what_trust_leads_to_and_does_not_replay_is_unknown() {
    let text = "type P: scalarset(2); var x: 0..2; a: array [P] of 0..1;
        startstate x := 0; for p: P do a[p] := 0 end end;
        ruleset p: P do rule \"set\" x = 0 ==> a[p] := 1; x := 1 end end;
        rule \"last\" x = 1 ==> for p: P do if a[p] = 0 then x := 2 else x := 1 end end end;
        rule \"back\" x = 2 ==> x := 1 end;";
    let (_, report) = run(text, &CheckOptions { trust: true, ..CheckOptions::default() });
    let is_granted = |result: &shoal_model::PropertyResult| {
        matches!(result.verdict, Verdict::Unknown(StopReason::Granted(_)))
    };
    assert!(report.outcome.results.iter().any(is_granted), "{:?}", report.outcome.results);
}

#[test]
fn trust_is_named() {
    let (loaded, report) = run(BROKEN, &CheckOptions { trust: true, ..CheckOptions::default() });
    let trusted: Vec<&Reduction> = report
        .outcome
        .statistics
        .reductions
        .iter()
        .filter(|reduction| matches!(reduction, Reduction::Trusted(_)))
        .collect();
    let p = loaded.model.sorts.enumerate().find(|(_, sort)| sort.name == "P").map(|(id, _)| id).unwrap();
    assert_eq!(trusted, [&Reduction::Trusted(vec![p])]);
    assert!(report.plan.warnings.iter().count() > 0);
}

/// A violation that a broken sort would hide, or invent, is found as it is.
#[test]
fn a_broken_sort_does_not_change_a_verdict() {
    let text = BROKEN.to_string()
        + "
ruleset i: P do rule \"give\" !isundefined(holder) & holder = i & exists j: P do j != i & has[j] end ==>
begin has[i] := false; undefine holder; end; end;
invariant \"never two\" isundefined(holder) | has[holder];
";
    let (loaded, report) = run(&text, &CheckOptions::default());
    let expected = all_states(&loaded.model);
    assert_eq!(report.status() == Status::Holds, expected.violated.is_empty(), "{:?}", expected.violated);
}

/// A message that every round of a loop fills in again, sharers in a bag, nodes that are a union.
/// What a function writes of its own, through aliases and parameters, is seen by nobody else.
#[test]
fn functions_that_write_their_own_locals_are_asked_of_each_element() {
    let text = "
        type P: scalarset(3); s: 0..2;
        var c: array [P] of s;
        procedure set(var q: s; v: s); begin q := v; end;
        function mirrored(p: s): s; var l: s; begin set(l, 2 - p); alias a: l do a := a; end; return l; end;
        startstate begin for p: P do c[p] := 0; end; end;
        ruleset p: P do
          rule \"up\" forall q: P do mirrored(c[q]) = 2 end ==> begin c[p] := 1; end;
          rule \"on\" mirrored(c[p]) = 1 ==> begin c[p] := 2; end;
          rule \"down\" c[p] = 2 ==> begin c[p] := 0; end;
        end;
        invariant forall p: P do forall q: P do p = q | c[p] = 0 | mirrored(c[q]) = 2 end end;";
    assert_eq!(finds_the_orbits(text), 0, "proved, not checked in every state");
}

#[test]
fn a_multicast_is_symmetric() {
    let text = "
const CACHES: 3; NET: 4;
type
  Cache: scalarset(CACHES); Value: scalarset(2); Directory: enum { Dir };
  Node: union { Cache, Directory };
  Message: record src: Node; dst: Node; end;
var
  net: array [Node] of multiset [NET] of Message;
  sharers: multiset [CACHES] of Node;
  acks: 0..CACHES;
  memory: Value;
procedure Send(var m: Message);
begin
  assert multisetcount(i: net[m.dst], true) < NET \"room\";
  multisetadd(m, net[m.dst]);
end;
procedure Drop(n: Node);
begin
  if multisetcount(i: sharers, sharers[i] = n) = 1 then
    multisetremovepred(i: sharers, sharers[i] = n);
  end;
end;
procedure Multicast(var m: Message; asker: Node);
begin
  for n: Node do
    if ismember(n, Cache) & n != asker then
      if multisetcount(i: sharers, sharers[i] = n) != 0 then
        m.dst := n; Send(m); Drop(n); acks := acks + 1;
      end;
    end;
  end;
end;
startstate begin
  for v: Value do memory := v; end;
  for n: Node do undefine net[n]; end;
  undefine sharers; acks := 0;
end;
ruleset c: Cache do
  rule \"share\" acks = 0 & multisetcount(i: sharers, sharers[i] = c) = 0 ==>
  begin multisetadd(c, sharers); end;
  rule \"get\" acks = 0 & multisetcount(i: sharers, sharers[i] = c) = 1 ==>
  var m: Message;
  begin undefine m; m.src := Dir; Multicast(m, c); end;
end;
ruleset c: Cache do choose k: net[c] do
  rule \"take\" true ==> begin multisetremove(k, net[c]); acks := acks - 1; end;
end; end;
ruleset v: Value do rule \"write\" acks = 0 ==> begin memory := v; end; end;
";
    finds_the_orbits(text);
}

/// Machines as generators write them: a record with a field for each kind, of which one is defined; queues with counters.
#[test]
fn a_multicast_to_records_of_which_one_field_is_defined_is_proved() {
    let text = "
const M: 2;
type
  A: scalarset(3); B: scalarset(2); D: enum { dir };
  Machines: record a: A; b: B; d: D; end;
  Message: record t: 0..1; src: Machines; dst: Machines; end;
  Cnt: 0..M; Queue: array [0..M-1] of Message;
var
  fa: array [A] of Queue; ca: array [A] of Cnt; fb: array [B] of Queue; cb: array [B] of Cnt; cd: 0..1;
  sa: array [A] of boolean; sb: array [B] of boolean;
function of_a(o: A): Machines; var m: Machines; begin undefine m; m.a := o; return m; end;
function of_b(o: B): Machines; var m: Machines; begin undefine m; m.b := o; return m; end;
function of_d(o: D): Machines; var m: Machines; begin undefine m; m.d := o; return m; end;
procedure Send(msg: Message);
begin
  alias who: msg.dst do
    if !isundefined(who.a) then fa[who.a][ca[who.a]] := msg; ca[who.a] := ca[who.a] + 1;
    elsif !isundefined(who.b) then fb[who.b][cb[who.b]] := msg; cb[who.b] := cb[who.b] + 1;
    elsif !isundefined(who.d) then cd := 1 - cd;
    else error \"nobody\"; endif;
  endalias;
end;
function Has(n: Machines): boolean;
begin
  if !isundefined(n.a) then return sa[n.a]; endif;
  if !isundefined(n.b) then return sb[n.b]; endif;
  return false;
end;
procedure Multicast(var msg: Message);
begin
  for n: A do if Has(of_a(n)) then msg.dst := of_a(n); Send(msg); endif; endfor;
  for n: B do if Has(of_b(n)) then msg.dst := of_b(n); Send(msg); endif; endfor;
end;
function idle(): boolean;
begin
  for n: A do if ca[n] > 0 then return false; endif; endfor;
  for n: B do if sb[n] then if cb[n] > 0 then return false; endif; endif; endfor;
  return true;
end;
startstate
  for n: A do ca[n] := 0; sa[n] := false; endfor; for n: B do cb[n] := 0; sb[n] := false; endfor;
  undefine fa; undefine fb; cd := 0;
endstartstate;
ruleset n: A do rule \"join a\" !sa[n] ==> begin sa[n] := true; endrule; endruleset;
ruleset n: B do rule \"join b\" !sb[n] ==> begin sb[n] := true; endrule; endruleset;
rule \"tell\" idle() & forall n: B do cb[n] = 0 end ==>
var msg: Message;
begin undefine msg; msg.t := 0; msg.src := of_d(dir); Multicast(msg); msg.dst := of_d(dir); Send(msg); endrule;
ruleset n: A do rule \"take a\" ca[n] > 0 ==> begin undefine fa[n][ca[n] - 1]; ca[n] := ca[n] - 1; endrule; endruleset;
ruleset n: B do rule \"take b\" cb[n] > 0 ==> begin undefine fb[n][cb[n] - 1]; cb[n] := cb[n] - 1; endrule; endruleset;
";
    assert_eq!(finds_the_orbits(text), 0);
}

/// The reference that is passed stands for a slot of a bag; rounds add to bags, which leaves it as it is.
#[test]
fn adding_to_bags_leaves_the_message_that_is_handled_as_it_is() {
    let text = "
type P: scalarset(3); H: enum { Home }; Node: union { H, P };
  Msg: record src: Node; aux: Node; end;
var net: array [Node] of multiset [4] of Msg; sharers: multiset [3] of Node; top: 0..3; n: array [P] of 0..2;
procedure Send(dst: Node; src: Node; aux: Node);
var m: Msg; begin m.src := src; m.aux := aux; multisetadd(m, net[dst]); end;
procedure Tell(rqst: Node);
begin
  for i: Node do
    if ismember(i, P) & multisetcount(k: sharers, sharers[k] = i) != 0 then
      if i != rqst then Send(i, Home, rqst); multisetremovepred(k: sharers, sharers[k] = i); end;
    end;
  end;
end;
procedure Count();
begin
  top := 0;
  for i: P do if n[i] > top then top := n[i]; end; end;
end;
procedure Receive(msg: Msg);
begin Tell(msg.src); if multisetcount(k: sharers, sharers[k] = msg.src) = 0 then multisetadd(msg.src, sharers); end; end;
startstate begin undefine net; undefine sharers; top := 0; for i: P do n[i] := 0; end; end;
ruleset i: P do
  rule \"ask\" forall a: Node do multisetcount(k: net[a], true) = 0 end ==> begin Send(Home, i, Home); end;
end;
choose k: net[Home] do rule \"home\" true ==> begin Receive(net[Home][k]); multisetremove(k, net[Home]); end; end;
ruleset i: P do choose k: net[i] do
  rule \"take\" true ==> begin n[i] := (n[i] + 1) % 3; Count(); multisetremove(k, net[i]); end;
end; end;
";
    assert_eq!(finds_the_orbits(text), 0);
}

/// What became of the sorts of random models.
#[derive(Debug, Default)]
struct Tally {
    proved: usize,
    checked: usize,
    broken: usize,
}

/// The proof and the check, against brute force over all permutations of all reached states.
fn agrees_with_brute_force(text: &str, tally: &mut Tally) {
    let loaded = load_text("random.m", text, &LoadOptions::default())
        .unwrap_or_else(|error| panic!("the generator wrote a wrong model: {error}\n{text}"));
    let model = &loaded.model;
    let reference = explore(model, 400).unwrap();
    if !reference.complete {
        return;
    }
    let states: BTreeSet<State> = reference.reached.iter().cloned().collect();
    let known = shoal_analysis::symmetry_of_steps(model);
    let proved: Vec<SortId> = model.sorts.ids().filter(|sort| known.sorts[*sort].is_proved()).collect();
    assert!(is_symmetric(model, &states, &proved), "a proof is wrong: {proved:?}\n{text}");
    tally.proved += proved.len();
    let options = CheckOptions { threads: 1, patience: None, ..CheckOptions::default() };
    let report = check(&loaded, &options, &mut Quiet).unwrap();
    let violated: BTreeSet<_> = report.violations().map(|(id, _)| id).collect();
    let expected: BTreeSet<_> = reference.violated.keys().copied().collect();
    assert_eq!(violated, expected, "{text}");
    let (sorts, checked) = reduced(&report);
    tally.checked += checked.len();
    let statistics = &report.outcome.statistics;
    if statistics.exhaustive {
        assert!(is_symmetric(model, &states, &sorts), "a check is wrong\n{text}");
        let (orbits, _) = permute::orbits(model, &states, &sorts);
        assert_eq!(statistics.states, orbits as u64, "{text}");
        if let Some(full) = statistics.states_full {
            assert_eq!(full, states.len() as u128, "{text}");
        }
    }
    for found in &statistics.asymmetries {
        tally.broken += 1;
        let together: Vec<SortId> = found.orders.iter().map(|(sort, _)| *sort).collect();
        let shown = BTreeSet::from([found.state.clone()]);
        assert!(!is_symmetric(model, &shown, &together), "nothing is broken here\n{text}");
    }
}

#[test]
fn random_loops_agree_with_brute_force() {
    let rounds: u64 = std::env::var("SHOAL_LOOPS").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    let mut tally = Tally::default();
    for seed in 0..rounds {
        agrees_with_brute_force(&loops::seeded(seed), &mut tally);
    }
    println!("{tally:?}");
    assert!(tally.proved > 20 && tally.checked > 3 && tally.broken > 3, "dull: {tally:?}");
}
