//! Representatives are exact: random layouts, random states, all permutations.

use proptest::prelude::*;
use shoal_code::{CellStep, Layout, normalise};
use shoal_model::{ExprKind, OutputItem, Representatives, SortId, StmtKind, Type, TypeId, TypedId, Value};

use super::{Canon, StateStructure};
use crate::testing::{Build, expr, stmt};

/// What a variable is made of; the numbers pick one of two sorts.
#[derive(Clone, Debug)]
enum Part {
    Bool,
    /// So many values that sums of what cells say could agree by accident if salts were near multiples of each other.
    Number,
    Reference(usize),
    /// An element of either sort.
    Either,
    Over(usize, Box<Part>),
    Bag(Box<Part>),
    Pair(Box<Part>, Box<Part>),
}

fn part() -> impl Strategy<Value = Part> {
    let scalar = prop_oneof![
        Just(Part::Bool),
        Just(Part::Number),
        (0..2usize).prop_map(Part::Reference),
        Just(Part::Either)
    ];
    let element = scalar.prop_recursive(2, 4, 2, |inner| {
        prop_oneof![
            (0..2usize, inner.clone()).prop_map(|(sort, inner)| Part::Over(sort, Box::new(inner))),
            (inner.clone(), inner).prop_map(|(a, b)| Part::Pair(Box::new(a), Box::new(b))),
        ]
    });
    prop_oneof![
        4 => element.clone(),
        1 => element.clone().prop_map(|inner| Part::Bag(Box::new(inner))),
        1 => (0..2usize, element.clone())
            .prop_map(|(sort, inner)| Part::Over(sort, Box::new(Part::Bag(Box::new(inner))))),
        // A multiset within another, and what comes after it.
        1 => (element.clone(), element).prop_map(|(inner, after)| {
            Part::Bag(Box::new(Part::Pair(Box::new(Part::Bag(Box::new(inner))), Box::new(after))))
        }),
    ]
}

/// With `pin`, the model names the first element of the first sort.
fn build(parts: &[Part], sizes: [u32; 2], pin: bool) -> (Build, [SortId; 2]) {
    let mut b = Build::new();
    let (first, first_type) = b.sort(sizes[0]);
    let (second, second_type) = b.sort(sizes[1]);
    for part in parts {
        let ty = type_of(&mut b, part, [first_type, second_type]);
        b.var(ty);
    }
    if pin {
        let named = expr(ExprKind::Const(Value::Elem(first, 0)), first_type);
        b.rule(&[], None, vec![stmt(StmtKind::Output(vec![OutputItem::Value(named)]))]);
    }
    (b, [first, second])
}

fn type_of(b: &mut Build, part: &Part, sorts: [TypeId; 2]) -> TypeId {
    match part {
        Part::Bool => b.boolean(),
        Part::Number => b.range(0, 7),
        Part::Reference(sort) => sorts[*sort],
        Part::Either => b.ty(Type::Union { members: sorts.to_vec() }),
        Part::Over(sort, element) => {
            let element = type_of(b, element, sorts);
            b.array(sorts[*sort], element)
        }
        Part::Bag(element) => {
            let element = type_of(b, element, sorts);
            b.ty(Type::Multiset { capacity: 2, element })
        }
        Part::Pair(left, right) => {
            let fields = [left, right]
                .map(|part| shoal_model::Field { name: "f".into(), ty: type_of(b, part, sorts) });
            b.ty(Type::Record { fields: fields.to_vec() })
        }
    }
}

/// A state with cells taken from random numbers.
fn state(b: &Build, layout: &Layout, random: &[u8]) -> Vec<i64> {
    let mut cells = vec![0; layout.cells()];
    let mut occupied = vec![true; layout.cells()];
    // Those within others come before them.
    for bag in layout.bags().iter().rev() {
        for position in 0..bag.capacity {
            let start = (bag.base + position * bag.group) as usize;
            let free = !occupied[start] || random[start % random.len()].is_multiple_of(3);
            occupied[start..start + bag.group as usize].fill(!free);
        }
    }
    layout.each_cell(&b.model, &mut |at, ty, _| {
        let count = ty.map_or(1, |ty| b.model.cardinality(ty).unwrap());
        let code = match ty {
            None => 1,
            // Few values, so that there are ties.
            Some(_) => i64::from(random[(at as usize * 7 + 3) % random.len()]) % (count as i64 + 1),
        };
        cells[at as usize] = if occupied[at as usize] { code } else { 0 };
    });
    normalise(layout.bags(), &mut cells);
    cells
}

/// Permutes a state cell by cell, by what types say. The second sort's elements come after the `first` many.
fn apply(b: &Build, layout: &Layout, first: u32, cells: &[i64], permutation: &[u32]) -> Vec<i64> {
    let moved = |ty: TypeId, ordinal: i64| match b.model.kind(ty) {
        Type::Ref { sort, .. } => {
            let offset = if sort.index() == 0 { 0 } else { first };
            i64::from(permutation[(i64::from(offset) + ordinal) as usize]) - i64::from(offset)
        }
        // The elements of one sort after those of the other.
        Type::Union { .. } => i64::from(permutation[ordinal as usize]),
        _ => ordinal,
    };
    let mut image = vec![0; cells.len()];
    layout.each_cell(&b.model, &mut |at, ty, path| {
        let mut to = i64::from(at);
        for step in path {
            if let CellStep::Index { ty, ordinal, stride } = *step {
                to += (moved(ty, ordinal as i64) - ordinal as i64) * i64::from(stride);
            }
        }
        let code = cells[at as usize];
        image[to as usize] = match ty {
            Some(ty) if code > 0 => moved(ty, code - 1) + 1,
            _ => code,
        };
    });
    image
}

/// All permutations of both sorts, as of all elements.
fn permutations(sizes: [u32; 2]) -> Vec<Vec<u32>> {
    let mut all = Vec::new();
    for first in orders(0, sizes[0]) {
        for second in orders(sizes[0], sizes[1]) {
            all.push([first.clone(), second].concat());
        }
    }
    all
}

fn orders(first: u32, size: u32) -> Vec<Vec<u32>> {
    if size == 0 {
        return vec![vec![]];
    }
    let mut all = Vec::new();
    for order in orders(first, size - 1) {
        for at in 0..size as usize {
            let mut order = order.clone();
            order.insert(at, first + size - 1);
            all.push(order);
        }
    }
    all
}

/// The arrow from each element of a sort to another makes a forest, a cycle, or something with both.
fn arrows() -> impl Strategy<Value = Vec<Part>> {
    let arrow = || Part::Over(0, Box::new(Part::Reference(0)));
    let named = prop::collection::vec(Just(Part::Reference(0)), 0..2);
    (1..3usize, named)
        .prop_map(move |(arrows, named)| std::iter::repeat_with(arrow).take(arrows).chain(named).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn representatives_are_exact(
        parts in prop_oneof![3 => prop::collection::vec(part(), 1..4), 1 => arrows()],
        sizes in prop_oneof![3 => (1..5u32, 1..4u32), 1 => (5..7u32, 1..2u32)],
        pin in any::<bool>(),
        random in prop::collection::vec(any::<u8>(), 1..40),
        other in prop::collection::vec(any::<u8>(), 1..40),
    ) {
        let sizes = [sizes.0, sizes.1];
        let (b, sorts) = build(&parts, sizes, pin);
        let layout = shoal_code::accept(&b.model, "test").unwrap();
        let Some(mut canon) = Canon::new(&b.model, &layout, &sorts, Representatives::Exact).unwrap() else { return Ok(()) };
        let cells = state(&b, &layout, &random);
        let mut representative = cells.clone();
        let orbit_size = canon.canonicalise(&mut representative);

        let mut orbit = std::collections::BTreeSet::new();
        for permutation in permutations(sizes) {
            if pin && permutation[0] != 0 {
                continue;
            }
            let mut image = apply(&b, &layout, sizes[0], &cells, &permutation);
            normalise(layout.bags(), &mut image);
            let mut of_image = image.clone();
            canon.canonicalise(&mut of_image);
            prop_assert_eq!(&of_image, &representative);
            orbit.insert(image);
        }
        prop_assert!(orbit.contains(&representative));
        prop_assert_eq!(orbit_size, Some(orbit.len() as u128));

        let other = state(&b, &layout, &other);
        let mut of_other = other.clone();
        canon.canonicalise(&mut of_other);
        prop_assert_eq!(of_other == representative, orbit.contains(&other));

        let mut words = vec![0; layout.words()];
        let mut unpacked = vec![0; cells.len()];
        layout.pack(&cells, &mut words);
        layout.unpack(&words, &mut unpacked);
        prop_assert_eq!(unpacked, &*cells);

        let mut after = vec![0; layout.words()];
        layout.pack(&other, &mut after);
        let mut differ = Vec::new();
        layout.each_difference(&words, &after, |_| 0, |cell| differ.push(cell));
        differ.sort_unstable();
        prop_assert_eq!(differ, (0..cells.len()).filter(|at| cells[*at] != other[*at]).collect::<Vec<_>>());
        // As if a step led from the one to the other; then it is remembered what multisets say and become.
        for _ in 0..if canon.takes_packed() || canon.needs_no_cells() { 2 } else { 0 } {
            let step = super::PackedStep { layout: &layout, base: &words, state: &after };
            let mut found = vec![0; layout.words()];
            canon.begin(false);
            if !canon.represent_packed(step, &mut found).moved {
                found.copy_from_slice(&after);
            }
            let mut whole = vec![0; layout.words()];
            layout.pack(&of_other, &mut whole);
            prop_assert_eq!(found, whole);
        }
    }
}

#[test]
fn elements_are_numbered_sort_by_sort() {
    let (b, sorts) = build(&[Part::Reference(0), Part::Reference(1)], [2, 3], false);
    let layout = shoal_code::accept(&b.model, "test").unwrap();
    let structure = StateStructure::new(&b.model, &layout, &sorts).unwrap();
    assert_eq!(structure.elements, 5);
    assert_eq!(sorts.map(|sort| sort.index()), [0, 1]);
}
