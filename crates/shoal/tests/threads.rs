//! Any number of threads: the models of the gallery, the corpus, random systems with all numbers of threads, bad input.

#![allow(clippy::print_stderr)]

use std::{
    fs,
    path::{Path, PathBuf},
};

use shoal::{
    CheckOptions, Deadlock, Engine, Error, LoadOptions, Loaded, Quiet, Refined, Status, Verdict, Watch,
    check, load, load_text, model::StopReason,
};

fn status(loaded: &Loaded) -> (Status, Option<u64>) {
    let report = check(loaded, &CheckOptions::default(), &mut Quiet).unwrap();
    let threads = report.proved.iter().find_map(|proved| proved.elements).map(|elements| elements.0);
    (report.status(), threads)
}

#[test]
fn models_meet_their_expectations() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/beacon");
    let mut files: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 12);
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let line = text.lines().next().and_then(|line| line.split_once("shoal: ")).expect("an expectation").1;
        let wanted = |key: &str| line.split_whitespace().find_map(|word| word.strip_prefix(key));
        let target = wanted("target=").map(String::from);
        let (status, threads) =
            status(&load(&file, &LoadOptions { target, ..LoadOptions::default() }).unwrap());
        let verdict = if status == Status::Holds { "holds" } else { "violated" };
        assert_eq!(wanted("verdict="), Some(verdict), "{}", file.display());
        if let Some(expected) = wanted("threads=") {
            assert_eq!(
                threads.map(|threads| threads.to_string()).as_deref(),
                Some(expected),
                "{}",
                file.display()
            );
        }
    }
}

#[test]
fn programs_refine_what_they_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/beacon");
    let mut count = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let file = entry.unwrap().path();
        let text = fs::read_to_string(&file).unwrap();
        let mut words = text.lines().next().unwrap_or_default().split_whitespace();
        let Some(spec) = words.find_map(|word| word.strip_prefix("refines=")) else { continue };
        let wanted = !spec.starts_with("no:");
        let spec = folder.join(spec.trim_start_matches("no:"));
        let (program, spec) = shoal::load_refinement(&file, spec, &LoadOptions::default()).unwrap();
        let found = shoal::refine(&program, &spec, &Watch::default(), &mut Quiet).unwrap();
        assert_eq!(matches!(found, Refined::Yes(_)), wanted, "{}: {found:?}", file.display());
        count += 1;
    }
    assert!(count >= 2);
}

#[test]
fn proofs_are_accepted_for_their_model_only() {
    let good = "3 3\n0 0 -> 1 1\n1 1 -> 0 0\n1|1,1\n";
    let loaded = load_text("good.tts", good, &LoadOptions::default()).unwrap();
    let report = check(&loaded, &CheckOptions::default(), &mut Quiet).unwrap();
    let proved = &report.proved[0];
    let proof = proved.proof.as_ref().expect("a proof");
    let counted = shoal::count(&loaded, &Watch::default()).unwrap();
    let targets = counted.targets(proved.property).unwrap();
    let parts = (counted.system(), &targets[..], proof);
    assert_eq!(shoal::verify(&loaded, &counted, proved.property, parts).unwrap(), Ok(()));
    // A weaker target, or none, is not what the property asks.
    let none = (counted.system(), &[][..], proof);
    assert!(shoal::verify(&loaded, &counted, proved.property, none).unwrap().is_err());
    let bad = "3 3\n0 0 -> 1 1\n1 1 -> 0 0\n1 0 -> 1 1\n1|1,1\n";
    let other = load_text("bad.tts", bad, &LoadOptions::default()).unwrap();
    let counted = shoal::count(&other, &Watch::default()).unwrap();
    assert!(shoal::verify(&other, &counted, proved.property, parts).unwrap().is_err());
    let own = counted.targets(proved.property).unwrap();
    let parts = (counted.system(), &own[..], proof);
    assert!(shoal::verify(&other, &counted, proved.property, parts).unwrap().is_err());
    assert_eq!(status(&other), (Status::Violated, Some(2)));
}

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(limit)) as u32
    }
}

fn random_system(random: &mut Random) -> String {
    let (shared, locals) = (2 + random.below(2), 2 + random.below(3));
    let mut text = format!("{shared} {locals}\n");
    for _ in 0..3 + random.below(6) {
        let mut state = || format!("{} {}", random.below(shared), random.below(locals));
        let (from, to) = (state(), state());
        text.push_str(&match random.below(8) {
            0 => format!("{from} +> {to}\n"),
            1 => {
                let mut moves = || format!("{} ~> {}", random.below(locals), random.below(locals));
                format!("{from} -> {to} {} {}\n", moves(), moves())
            }
            2 => format!("{from} ~> {to}\n"),
            _ => format!("{from} -> {to}\n"),
        });
    }
    let target: Vec<String> = (0..random.below(3)).map(|_| random.below(locals).to_string()).collect();
    text.push_str(&format!("{}|{}\n", random.below(shared), target.join(",")));
    text
}

/// Any number of threads against every small number of threads with the explicit engine.
#[test]
fn any_number_agrees_with_each_number() {
    let (mut violated, mut held) = (0, 0);
    for seed in 1..=150u64 {
        let mut random = Random((seed ^ crate::random::salt()).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let text = random_system(&mut random);
        let init = ["0/0", "0|0", "0|0/1", "0|0,1"][random.below(4) as usize];
        let options = LoadOptions { init: Some(init.into()), ..LoadOptions::default() };
        let (any, threads) = status(&load_text("random.tts", text.as_str(), &options).unwrap());
        for count in 1..=4 {
            let sized = LoadOptions { set: vec![("Thread".into(), count)], ..options.clone() };
            let loaded = load_text("random.tts", text.as_str(), &sized).unwrap();
            let report =
                check(&loaded, &CheckOptions { jit: false, ..CheckOptions::default() }, &mut Quiet).unwrap();
            match report.status() {
                Status::Violated => {
                    assert_eq!(any, Status::Violated, "seed {seed}, {count} threads, {init}:\n{text}")
                }
                _ => {
                    let enough = threads.is_some_and(|threads| threads <= count as u64);
                    assert!(
                        !enough,
                        "seed {seed}: {threads:?} threads should do, {count} do not, {init}:\n{text}"
                    );
                }
            }
        }
        match any {
            Status::Violated => violated += 1,
            Status::Holds => held += 1,
            _ => {}
        }
    }
    assert!(violated > 20 && held > 20, "dull: {violated} violated, {held} held");
}

#[test]
fn malformed_input_gives_a_place() {
    let bad = [
        ("a.tts", "2\n0 0 -> 1 1\n0|0\n", "1:1"),
        ("a.tts", "2 2\n0 0 > 1 1\n0|0\n", "2:5"),
        ("a.tts", "2 2\n0 0 -> 2 1\n0|0\n", "2:8"),
        ("a.tts", "2 2\n0 0 -> 1 1\n", "1:1"),
        ("a.tts", "2 2\n0 0 -> 1 1 0 ~\n0|0\n", "2:12"),
        ("a.tts", "99999999999 2\n", "1:1"),
        ("a.spec", "vars x\nrules\n y >= 1 -> ;\ninit x = 0\ntarget x >= 1\n", "3:2"),
        ("a.spec", "vars x\nrules\n x >= 1 -> x' = x - 1\ninit x = 0\ntarget x >= 1\n", "4:1"),
        ("a.spec", "vars x x\nrules\ninit x = 0\ntarget x >= 1\n", "1:8"),
        ("a.pnml", "<pnml><net><place id='p'/></pnml>", "1:27"),
        ("a.pnml", "<html/>", "1:1"),
        ("a.pnml", "<pnml><net><place id='p'/></net></pnml>", "1:1"),
        ("a.bp", "void main() begin x := T; end", "1:19"),
        ("a.bp", "void main() begin skip end end", "1:28"),
        ("a.bp", "void main() begin f(); end void f() begin g(); end void g() begin f(); end", "1:67"),
        ("a.bp", "decl a; void main() begin a, a := T; end", "1:27"),
        ("a.bp", "void main() begin atomic_end; end", "1:19"),
        ("a.bp", "void main() begin goto L; end", "1:24"),
        ("a.bp", "void main() begin assume(*; end", "1:27"),
        ("a.bp", "decl a; /* open", "1:9"),
        ("a.bp", "decl a; void main() begin if a then skip; fi fi; end", "1:46"),
    ];
    for (name, text, place) in bad {
        match load_text(name, text, &LoadOptions::default()) {
            Err(Error::Source(rejected)) => {
                let first = rejected.diagnostics.iter().next().expect("a message");
                let found = rejected.sources.locate(first.primary.span);
                assert_eq!(found, format!("{name}:{place}"), "{text}: {}", first.message);
            }
            other => panic!("{text}: {:?}", other.map(|_| ())),
        }
    }
}

#[test]
fn recursion_names_the_cycle() {
    let text = "void main() begin f(); end void f() begin g(); end void g() begin f(); end";
    let error = load_text("a.bp", text, &LoadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("f calls g calls f"), "{error}");
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    // An upper bound on a counter can be made false by more tokens.
    let text = "vars x y\nrules\n x >= 1, y = 0 -> x' = x - 1;\ninit x >= 1, y = 0\ntarget y >= 1\n";
    let loaded = load_text("a.spec", text, &LoadOptions::default()).unwrap();
    assert!(unsupported(&loaded).contains("a guard that more tokens can make false in rule \"rule 1\""));
}

/// Why the first property is not decided.
fn unsupported(loaded: &Loaded) -> String {
    let report = check(loaded, &CheckOptions::default(), &mut Quiet).unwrap();
    assert_eq!(report.status(), Status::Unknown);
    match &report.outcome.results[0].verdict {
        Verdict::Unknown(StopReason::Unsupported(why)) => why.clone(),
        other => panic!("{other:?}"),
    }
}

/// The instances of other people with a verdict that stands in their description.
#[test]
fn the_corpus_agrees() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/threads");
    let Ok(table) = fs::read_to_string(corpus.join("verdicts.csv")) else {
        eprintln!("skipped: no corpus");
        return;
    };
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in table.lines().skip(1) {
        let file = line.split(',').next().unwrap_or_default();
        let Some((before, after)) = line.split_once(" [test.desc") else { continue };
        let expected = if before.ends_with("unsafe") || before.contains("unsafe (") {
            Status::Violated
        } else {
            Status::Holds
        };
        let description =
            fs::read_to_string(corpus.join(file).with_file_name("test.desc")).unwrap_or_default();
        let mut options = LoadOptions::default();
        if file.ends_with(".tts") {
            // Without a target, the recorded answer is about something else.
            if !description.contains("--target") {
                continue;
            }
            options.init =
                after.split_once("init ").and_then(|(_, init)| Some(init.split(']').next()?.to_string()));
        } else {
            let label = description.split("-l ").nth(1).and_then(|rest| rest.split_whitespace().next());
            options.target = label.map(String::from);
        }
        count += 1;
        let loaded = load(corpus.join(file), &options).unwrap();
        // Where nothing is asked, nothing is known.
        let expected = if loaded.asked.is_empty() { Status::Unknown } else { expected };
        let (found, _) = status(&loaded);
        if found != expected {
            wrong.push(format!("{file}: {found:?}"));
        }
    }
    assert!(count > 90, "{count}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const LOCK: &str = "
    const N: 3;
    type proc: scalarset(N);
    var inside: array [proc] of boolean; taken: boolean;
    startstate begin taken := false; for p: proc do inside[p] := false; end; end;
    ruleset p: proc do
      rule \"enter\" GUARD ==> begin inside[p] := true; taken := true; end;
      rule \"leave\" inside[p] ==> begin inside[p] := false; taken := false; end;
    end;
    invariant \"at most one is inside\"
      forall p: proc do forall q: proc do inside[p] & inside[q] -> p = q end end;
";

#[test]
fn a_scalarset_may_have_any_size() {
    let any = LoadOptions { any: vec!["N".into()], deadlock: Deadlock::Off, ..LoadOptions::default() };
    let load = |guard: &str| load_text("lock.m", LOCK.replace("GUARD", guard), &any).unwrap();
    assert_eq!(status(&load("!taken")), (Status::Holds, None));
    assert_eq!(status(&load("!inside[p]")), (Status::Violated, Some(2)));
    assert_eq!(status(&load("!taken & forall q: proc do !inside[q] end")), (Status::Holds, None));
    let counts = load("!taken & forall q: proc do !inside[q] end");
    let by_counting = CheckOptions { engine: Some(Engine::Cover), ..CheckOptions::default() };
    let error = check(&counts, &by_counting, &mut Quiet).unwrap_err();
    assert!(error.to_string().contains("a quantifier over all elements in rule \"enter\""), "{error}");
    let number = LOCK.replace("GUARD", "!taken & N > 2");
    assert!(
        load_text("lock.m", number, &any)
            .unwrap_err()
            .to_string()
            .contains("more than the size of a scalarset")
    );
}
