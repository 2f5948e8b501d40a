//! Terms are worth what they were made of, for all contents of the cells.

use super::*;
use crate::fields::{Content, place};

/// Pseudo-random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// What all terms are worth by what they are. Each stands behind its parts.
fn worth(terms: &Terms<'_>, cells: &[i64]) -> Vec<i64> {
    let mut worth: Vec<i64> = Vec::new();
    for kind in &terms.kinds {
        let get = |term: &Term| worth[term.0 as usize];
        let value = match kind {
            Kind::Const(value) => *value,
            Kind::Cell(cell) => cells[*cell as usize],
            Kind::Element { index, first, step } => {
                cells[(i64::from(*first) + get(index) * i64::from(*step)) as usize]
            }
            Kind::Add(left, right) => get(left).wrapping_add(get(right)),
            Kind::Mul(left, right) => get(left).wrapping_mul(get(right)),
            Kind::Div(left, right) => get(left) / right,
            Kind::Select(when, yes, no) => get(if get(when) != 0 { yes } else { no }),
            Kind::Is(left, right) => i64::from(get(left) == *right),
            Kind::Equal(left, right) => i64::from(get(left) == get(right)),
            Kind::Less(left, right) => i64::from(get(left) < get(right)),
            Kind::Not(inner) => 1 - get(inner),
            Kind::All(parts) => i64::from(parts.iter().all(|part| get(part) != 0)),
        };
        worth.push(value);
    }
    worth
}

/// All contents of the cells.
fn states(fields: &[PackedField]) -> Vec<Vec<i64>> {
    let mut states = vec![Vec::new()];
    for field in fields {
        let codes = i64::from(field.defined)..=field.most.unwrap_or(0) as i64;
        let longer = |state: &Vec<i64>| {
            let state = state.clone();
            codes.clone().map(move |code| [&state[..], &[code]].concat()).collect::<Vec<_>>()
        };
        states = states.iter().flat_map(longer).collect();
    }
    states
}

#[test]
fn terms_are_worth_what_they_are_made_of() {
    let cell = |values, defined| Content { values: Some(values), defined };
    let contents = [cell(2, true), cell(3, true), cell(1, false), cell(2, false), cell(1, true)];
    let (fields, _) = place(&contents);
    let states = states(&fields);
    let mut random = Random(7);
    for _ in 0..200 {
        let mut terms = Terms::new(&fields);
        // Numbers and truth values, each with what it must be worth in every state.
        let mut numbers: Vec<(Term, Vec<i64>)> = Vec::new();
        let mut truths: Vec<(Term, Vec<i64>)> = Vec::new();
        for at in 0..fields.len() {
            numbers.push((terms.cell(at as u32), states.iter().map(|state| state[at]).collect()));
        }
        let constant = random.below(4) as i64 - 1;
        numbers.push((terms.constant(constant), vec![constant; states.len()]));
        truths
            .push((terms.is(numbers[0].0, 1), states.iter().map(|state| i64::from(state[0] == 1)).collect()));
        for _ in 0..60 {
            let mut pick = |from: &[(Term, Vec<i64>)]| from[random.below(from.len() as u64) as usize].clone();
            let [(a, va), (b, vb)] = [pick(&numbers), pick(&numbers)];
            let [(p, vp), (q, vq), (r, vr)] = [pick(&truths), pick(&truths), pick(&truths)];
            let two = |f: &dyn Fn(i64, i64) -> i64, x: &[i64], y: &[i64]| {
                x.iter().zip(y).map(|(x, y)| f(*x, *y)).collect::<Vec<i64>>()
            };
            let constant = random.below(5) as i64 - 1;
            match random.below(11) {
                0 => numbers.push((terms.add(a, b), two(&i64::wrapping_add, &va, &vb))),
                1 => numbers.push((terms.mul(a, b), two(&i64::wrapping_mul, &va, &vb))),
                2 => {
                    let chosen = va.iter().zip(&vb).zip(&vp).map(|((a, b), p)| if *p != 0 { *a } else { *b });
                    numbers.push((terms.select(p, a, b), chosen.collect()));
                }
                3 => truths
                    .push((terms.is(a, constant), va.iter().map(|a| i64::from(*a == constant)).collect())),
                4 => truths.push((terms.equal(a, b), two(&|a, b| i64::from(a == b), &va, &vb))),
                5 => truths.push((terms.less(a, b), two(&|a, b| i64::from(a < b), &va, &vb))),
                6 => truths.push((terms.not(p), vp.iter().map(|p| 1 - p).collect())),
                7 => {
                    let both = two(&|p, q| p & q, &two(&|p, q| p & q, &vp, &vq), &vr);
                    truths.push((terms.all(&[p, q, r]), both));
                }
                8 => truths.push((terms.any(&[p, q]), two(&|p, q| p | q, &vp, &vq))),
                9 => {
                    let inside = |a: &i64| i64::from((constant..=constant + 1).contains(a));
                    truths.push((terms.inside(a, constant, constant + 1), va.iter().map(inside).collect()));
                }
                _ => {
                    let by = terms.constant(constant.max(1));
                    if let Some(quotient) = terms.div(a, by) {
                        numbers.push((quotient, va.iter().map(|a| a / constant.max(1)).collect()));
                    }
                }
            }
        }
        // Where others hold, a simpler one is worth the same.
        let pairs = truths.iter().zip(truths.iter().rev());
        let simpler: Vec<Term> = pairs.map(|((held, _), (term, _))| terms.under(&[*held], *term)).collect();
        for (at, state) in states.iter().enumerate() {
            let worth = worth(&terms, state);
            for (term, values) in numbers.iter().chain(&truths) {
                let (value, Range { lo, hi }) = (values[at], terms.range(*term));
                assert_eq!(worth[term.0 as usize], value, "{:?} in {state:?}", terms.kind(*term));
                assert!((lo..=hi).contains(&value), "{:?} in {lo}..={hi}", terms.kind(*term));
            }
            for (simple, ((_, held), (_, values))) in
                simpler.iter().zip(truths.iter().zip(truths.iter().rev()))
            {
                assert!(held[at] == 0 || worth[simple.0 as usize] == values[at]);
            }
        }
    }
}
