//! Programs that give objects back and compare pointers, against memory as C programmers know it: objects with a mark for those
//! that were given back, and `new` that makes one or takes such a one. Written for this, on the source, with nothing of Shoal's.

use std::collections::{BTreeMap, BTreeSet};

use shoal::{
    CheckOptions, Deadlock, LoadOptions, PartialOrder, PromelaOptions, Strategy, Verdict, check, load_text,
};
use shoal_model::{Quiet, StopReason};

use crate::random::{compared, dose, numbers::Numbers, salt};

/// A statement of a process: what it does to its pointers (0 and 1), the global ones (0 and 1) and a number.
#[derive(Clone, Copy)]
enum Does {
    New(usize),
    Load(usize, usize),
    Store(usize, usize),
    SetValue(usize, u8),
    SetNext(usize, usize),
    GetNext(usize, usize),
    Delete(usize),
    /// If a global pointer is the process's first, it becomes its second.
    Swap(usize, usize, usize),
    /// If the next of an object is the process's first, it becomes its second.
    SwapNext(usize, usize, usize),
    /// The value is another.
    Assert(usize, u8),
}

const OWN: [&str; 2] = ["p", "q"];
const GLOBAL: [&str; 2] = ["g", "h"];

fn statement(numbers: &mut Numbers) -> Does {
    let (a, b, c) = (numbers.below(2), numbers.below(2), numbers.below(2));
    let number = 1 + numbers.below(2) as u8;
    match numbers.below(18) {
        0..3 => Does::New(a),
        3 => Does::Load(a, b),
        4 => Does::Store(a, b),
        5 | 6 => Does::SetValue(a, number),
        7 => Does::SetNext(a, b),
        8 | 9 => Does::GetNext(a, b),
        10 | 11 => Does::Delete(a),
        12 | 13 => Does::Swap(a, b, c),
        14 | 15 => Does::SwapNext(a, b, c),
        _ => Does::Assert(a, number),
    }
}

fn process(numbers: &mut Numbers) -> Vec<Does> {
    let second = if numbers.below(2) == 0 { Does::New(1) } else { Does::Load(numbers.below(2), 1) };
    let first = [Does::Load(numbers.below(2), 0), second];
    first.into_iter().chain((0..3 + numbers.below(4)).map(|_| statement(numbers))).collect()
}

fn line(does: &Does) -> String {
    match *does {
        Does::New(to) => format!("{} = new T", OWN[to]),
        Does::Load(from, to) => format!("{} = {}", OWN[to], GLOBAL[from]),
        Does::Store(from, to) => format!("{} = {}", GLOBAL[to], OWN[from]),
        Does::SetValue(of, number) => format!("{}.v = {number}", OWN[of]),
        Does::SetNext(of, to) => format!("{}.n = {}", OWN[of], OWN[to]),
        Does::GetNext(of, to) => format!("{} = {}.n", OWN[to], OWN[of]),
        Does::Delete(of) => format!("delete {}", OWN[of]),
        Does::Swap(global, old, new) => {
            let (global, old, new) = (GLOBAL[global], OWN[old], OWN[new]);
            format!("atomic {{ if :: {global} == {old} -> {global} = {new} :: else fi }}")
        }
        Does::SwapNext(of, old, new) => {
            let (of, old, new) = (GLOBAL[of], OWN[old], OWN[new]);
            format!("atomic {{ if :: {of}.n == {old} -> {of}.n = {new} :: else fi }}")
        }
        Does::Assert(of, number) => format!("assert({}.v != {number})", OWN[of]),
    }
}

fn source(processes: &[Vec<Does>; 2]) -> String {
    let mut text = String::from("typedef T { byte v; T &n }\nT &g = new T, &h = new T;\n");
    for (number, process) in processes.iter().enumerate() {
        let lines: Vec<String> = process.iter().map(line).collect();
        text += &format!("active proctype P{number}() {{ T &p, &q;\n  {};\n  skip }}\n", lines.join(";\n  "));
    }
    text
}

/// What can go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Wrong {
    Null,
    Deleted,
    Compared,
    Asserted,
}

/// An object: its value, where it leads, and whether it was given back.
type Object = (u8, Option<usize>, bool);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Memory {
    at: [usize; 2],
    /// The global pointers, then those of each process.
    pointers: [Option<usize>; 6],
    objects: BTreeMap<usize, Object>,
}

impl Memory {
    /// The same without what nobody can reach, and with numbers in the order in which objects are reached.
    fn tidied(self) -> Memory {
        let mut order: Vec<usize> = Vec::new();
        let mut waiting: Vec<usize> = self.pointers.iter().rev().flatten().copied().collect();
        while let Some(object) = waiting.pop() {
            if !order.contains(&object) {
                order.push(object);
                waiting.extend(self.objects[&object].1);
            }
        }
        let number = |object: usize| order.iter().position(|it| *it == object).expect("it is reached");
        let objects = order.iter().enumerate().map(|(at, object)| {
            let (value, next, free) = self.objects[object];
            (at, (value, next.map(number), free))
        });
        Memory {
            at: self.at,
            pointers: self.pointers.map(|pointer| pointer.map(number)),
            objects: objects.collect(),
        }
    }

    fn follow(&self, pointer: usize) -> Result<usize, Wrong> {
        match self.pointers[pointer] {
            None => Err(Wrong::Null),
            Some(object) if self.objects[&object].2 => Err(Wrong::Deleted),
            Some(object) => Ok(object),
        }
    }

    fn dangles(&self, pointer: Option<usize>) -> bool {
        pointer.is_some_and(|object| self.objects[&object].2)
    }

    /// What one process can do next.
    fn step(&self, who: usize, does: Does, reuse: bool) -> Result<Vec<Memory>, Wrong> {
        let own = |pointer: usize| 2 + 2 * who + pointer;
        let mut after = self.clone();
        after.at[who] += 1;
        match does {
            Does::New(to) => {
                let fresh = self.objects.keys().last().map_or(0, |last| last + 1);
                let again =
                    self.objects.iter().filter(|(_, object)| reuse && object.2).map(|(number, _)| *number);
                let taken: BTreeSet<usize> = again.chain([fresh]).collect();
                let made = taken.into_iter().map(|object| {
                    let mut after = after.clone();
                    after.objects.insert(object, (0, None, false));
                    after.pointers[own(to)] = Some(object);
                    after
                });
                return Ok(made.collect());
            }
            Does::Load(from, to) => after.pointers[own(to)] = self.pointers[from],
            Does::Store(from, to) => after.pointers[to] = self.pointers[own(from)],
            Does::SetValue(of, number) => {
                let object = self.follow(own(of))?;
                after.objects.entry(object).and_modify(|it| it.0 = number);
            }
            Does::SetNext(of, to) => {
                let object = self.follow(own(of))?;
                after.objects.entry(object).and_modify(|it| it.1 = self.pointers[own(to)]);
            }
            Does::GetNext(of, to) => after.pointers[own(to)] = self.objects[&self.follow(own(of))?].1,
            Does::Delete(of) => {
                let object = self.follow(own(of))?;
                after.objects.entry(object).and_modify(|it| it.2 = true);
            }
            Does::Swap(global, old, _)
                if !reuse && [global, own(old)].iter().any(|it| self.dangles(self.pointers[*it])) =>
            {
                return Err(Wrong::Compared);
            }
            Does::Swap(global, old, new) => {
                if self.pointers[global] == self.pointers[own(old)] {
                    after.pointers[global] = self.pointers[own(new)];
                }
            }
            Does::SwapNext(of, old, new) => {
                let (object, old) = (self.follow(of)?, self.pointers[own(old)]);
                let next = self.objects[&object].1;
                if !reuse && (self.dangles(next) || self.dangles(old)) {
                    return Err(Wrong::Compared);
                }
                if next == old {
                    after.objects.entry(object).and_modify(|it| it.1 = self.pointers[own(new)]);
                }
            }
            Does::Assert(of, number) => {
                if self.objects[&self.follow(own(of))?].0 == number {
                    return Err(Wrong::Asserted);
                }
            }
        }
        Ok(vec![after])
    }
}

/// All that can go wrong, in all orders.
fn explored(processes: &[Vec<Does>; 2], reuse: bool) -> BTreeSet<Wrong> {
    let objects = BTreeMap::from([(0, (0, None, false)), (1, (0, None, false))]);
    let start = Memory { at: [0; 2], pointers: [Some(0), Some(1), None, None, None, None], objects };
    let (mut seen, mut waiting) = (BTreeSet::from([start.clone()]), vec![start]);
    let mut wrong = BTreeSet::new();
    while let Some(memory) = waiting.pop() {
        for (who, process) in processes.iter().enumerate() {
            let Some(does) = process.get(memory.at[who]) else { continue };
            match memory.step(who, *does, reuse) {
                Err(error) => drop(wrong.insert(error)),
                Ok(next) => {
                    for next in next.into_iter().map(Memory::tidied) {
                        if seen.insert(next.clone()) {
                            waiting.push(next);
                        }
                    }
                }
            }
        }
    }
    wrong
}

/// What Shoal says can go wrong, by the names of properties.
fn checked(text: &str, reuse: bool, options: &CheckOptions) -> BTreeSet<String> {
    let promela = PromelaOptions { reuse, ..PromelaOptions::default() };
    let load = LoadOptions { promela, deadlock: Deadlock::Off, ..LoadOptions::default() };
    let loaded = load_text("reuse.dpml", text, &load).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let report = check(&loaded, options, &mut Quiet).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let violated = report.outcome.results.iter().filter(|result| match &result.verdict {
        Verdict::Violated(_) => true,
        Verdict::Holds => false,
        // Something else goes wrong before.
        Verdict::Unknown(StopReason::NotFollowed) => false,
        Verdict::Unknown(reason) => panic!("{reason}\n{text}"),
    });
    violated.map(|result| loaded.model.properties[result.property].name.clone()).collect()
}

/// The property that tells of it.
fn named(wrong: Wrong, reuse: bool) -> &'static str {
    match wrong {
        Wrong::Null => "no run-time errors",
        Wrong::Deleted if reuse => "no object is used after it was deleted",
        Wrong::Deleted => "no run-time errors",
        Wrong::Compared => "no pointer to a deleted object is compared",
        Wrong::Asserted => "assertions",
    }
}

#[test]
fn objects_that_are_given_again_are_those_of_plain_memory() {
    let mut found = BTreeMap::<(Wrong, bool), u32>::new();
    for seed in 0..u64::from(dose(60)) {
        let mut numbers = Numbers::with_seed(salt().wrapping_add(seed));
        let processes = [process(&mut numbers), process(&mut numbers)];
        let text = source(&processes);
        for reuse in [true, false] {
            let wrong = explored(&processes, reuse);
            wrong.iter().for_each(|wrong| *found.entry((*wrong, reuse)).or_default() += 1);
            let expected: BTreeSet<String> = wrong.iter().map(|it| named(*it, reuse).to_string()).collect();
            let raw = Strategy { partial_order: PartialOrder::Off, ..Strategy::default() };
            for options in [
                CheckOptions::default(),
                CheckOptions { symmetry: false, ..CheckOptions::default() },
                CheckOptions { strategy: raw, ..CheckOptions::default() },
            ] {
                let options = CheckOptions { patience: None, ..options };
                assert_eq!(checked(&text, reuse, &options), expected, "seed {seed}, reuse {reuse}\n{text}");
            }
        }
        compared("objects that are given again");
    }
    // Nothing is compared where nothing goes wrong.
    for (wrong, reuse) in
        [(Wrong::Null, true), (Wrong::Deleted, true), (Wrong::Asserted, true), (Wrong::Compared, false)]
    {
        assert!(found.contains_key(&(wrong, reuse)), "{found:?}");
    }
}
