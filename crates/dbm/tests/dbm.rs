//! Zones against points: every operation is compared with what it does to single valuations.

use proptest::prelude::*;
use shoal_dbm::{Bound, ClockBounds, Constraint, Federation, Zone};

/// So many clocks, constants up to `MOST`, points with denominator `PARTS`: fine enough to meet every region.
const CLOCKS: usize = 3;
const MOST: i32 = 3;
const PARTS: i64 = 4;

#[derive(Clone, Debug)]
enum Op {
    Up,
    Down,
    Reset(usize, i32),
    Free(usize),
    Constrain(Constraint),
}

fn constraints() -> impl Strategy<Value = Constraint> {
    (0..=CLOCKS, 0..=CLOCKS, -MOST..=MOST, any::<bool>()).prop_map(|(left, right, c, strict)| {
        let bound = if strict { Bound::less(c) } else { Bound::at_most(c) };
        Constraint { left, right: if right == left { (left + 1) % (CLOCKS + 1) } else { right }, bound }
    })
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        Just(Op::Up),
        Just(Op::Down),
        (1..=CLOCKS, 0..=MOST).prop_map(|(clock, value)| Op::Reset(clock, value)),
        (1..=CLOCKS).prop_map(Op::Free),
        constraints().prop_map(Op::Constrain),
    ];
    prop::collection::vec(op, 0..8)
}

fn zone(ops: &[Op]) -> Option<Zone> {
    let mut zone = Zone::zero(CLOCKS);
    ops.iter().all(|op| apply(&mut zone, op)).then_some(zone)
}

fn apply(zone: &mut Zone, op: &Op) -> bool {
    match op {
        Op::Up => zone.up(),
        Op::Down => zone.down(),
        Op::Reset(clock, value) => zone.reset(*clock, *value),
        Op::Free(clock) => zone.free(*clock),
        Op::Constrain(constraint) => return zone.constrain(*constraint),
    }
    true
}

/// All points up to a little beyond the constants.
fn points() -> impl Iterator<Item = Vec<i64>> {
    let side = i64::from(MOST + 2) * PARTS + 1;
    (0..side.pow(CLOCKS as u32))
        .map(move |number| (0..CLOCKS).map(|at| number / side.pow(at as u32) % side).collect())
}

fn satisfies(point: &[i64], constraint: &Constraint) -> bool {
    let mut only = Zone::universe(CLOCKS);
    only.constrain(*constraint) && only.contains(point, PARTS)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// A constraint keeps exactly the points that satisfy it; a zone that becomes empty had none.
    #[test]
    fn constraints_keep_what_satisfies_them(ops in ops(), constraint in constraints()) {
        if let Some(before) = zone(&ops) {
            let mut after = before.clone();
            let some = after.constrain(constraint);
            for point in points() {
                let inside = before.contains(&point, PARTS) && satisfies(&point, &constraint);
                prop_assert_eq!(some && after.contains(&point, PARTS), inside, "{:?} {:?}", before, point);
            }
        }
    }

    /// Time passing, forwards and backwards, and resets do to a zone what they do to its points.
    #[test]
    fn operations_do_what_they_do_to_points(ops in ops(), clock in 1..=CLOCKS, value in 0..=MOST) {
        if let Some(before) = zone(&ops) {
            let (mut up, mut down, mut reset, mut free) = (before.clone(), before.clone(), before.clone(), before.clone());
            up.up();
            down.down();
            reset.reset(clock, value);
            free.free(clock);
            for point in points().filter(|point| before.contains(point, PARTS)) {
                for delay in 0..2 * PARTS {
                    let later: Vec<i64> = point.iter().map(|x| x + delay).collect();
                    prop_assert!(up.contains(&later, PARTS));
                    let earlier: Vec<i64> = point.iter().map(|x| x - delay).collect();
                    prop_assert!(earlier.iter().any(|x| *x < 0) || down.contains(&earlier, PARTS));
                }
                let mut set = point.clone();
                set[clock - 1] = i64::from(value) * PARTS;
                prop_assert!(reset.contains(&set, PARTS));
                set[clock - 1] = 5;
                prop_assert!(free.contains(&set, PARTS));
            }
            // And nothing else: whatever is in the result comes from somewhere. Twice as fine, for bounds between points.
            let fine = |point: &[i64], delay: i64| point.iter().map(|x| 2 * x + delay).collect::<Vec<i64>>();
            for point in points() {
                let reach = 2 * PARTS * i64::from(MOST + 3);
                if up.contains(&point, PARTS) {
                    prop_assert!((0..=reach).any(|delay| {
                        let from = fine(&point, -delay);
                        from.iter().all(|x| *x >= 0) && before.contains(&from, 2 * PARTS)
                    }), "{:?} {:?}", before, point);
                }
                if down.contains(&point, PARTS) {
                    prop_assert!((0..=reach).any(|delay| before.contains(&fine(&point, delay), 2 * PARTS)), "{:?} {:?}", before, point);
                }
                if reset.contains(&point, PARTS) {
                    prop_assert_eq!(point[clock - 1], i64::from(value) * PARTS);
                }
            }
        }
    }

    /// What is left of a zone without another is what is in the one and not in the other, each point once.
    #[test]
    fn differences_split_the_points(left in ops(), right in ops()) {
        if let (Some(left), Some(right)) = (zone(&left), zone(&right)) {
            let parts = left.minus(&right);
            for point in points() {
                let inside = left.contains(&point, PARTS) && !right.contains(&point, PARTS);
                let count = parts.iter().filter(|part| part.contains(&point, PARTS)).count();
                prop_assert_eq!(count, usize::from(inside));
            }
            prop_assert_eq!(left.intersection(&right).is_some(),
                points().any(|point| left.contains(&point, PARTS) && right.contains(&point, PARTS)));
        }
    }

    /// Inclusion is inclusion of points.
    #[test]
    fn inclusion_is_of_points(left in ops(), right in ops()) {
        if let (Some(left), Some(right)) = (zone(&left), zone(&right)) {
            let included = points().filter(|point| right.contains(point, PARTS)).all(|point| left.contains(&point, PARTS));
            prop_assert!(!left.includes(&right) || included);
            prop_assert_eq!(left.includes(&right), right.minus(&left).is_empty());
        }
    }

    /// Extrapolation only adds, is done after one time, and adds nothing that a comparison within the bounds can tell: a
    /// constraint on one clock up to its bounds is satisfiable after it only if it was before.
    #[test]
    fn extrapolation_keeps_what_can_be_told(ops in ops(), lower in prop::collection::vec(prop::option::of(0..=MOST), CLOCKS),
        upper in prop::collection::vec(prop::option::of(0..=MOST), CLOCKS))
    {
        if let Some(before) = zone(&ops) {
            let limits: Vec<ClockBounds> = lower.iter().zip(&upper).map(|(l, u)| ClockBounds { lower: *l, upper: *u }).collect();
            for extrapolate in [Zone::extrapolate_lu, Zone::extrapolate_m, Zone::extrapolate_max] {
                let mut after = before.clone();
                extrapolate(&mut after, &limits);
                prop_assert!(after.includes(&before));
                for clock in 1..=CLOCKS {
                    let own = limits[clock - 1];
                    let at_least = own.lower.map(|c| Constraint { left: 0, right: clock, bound: Bound::less(-c) });
                    let at_most = own.upper.map(|c| Constraint { left: clock, right: 0, bound: Bound::at_most(c) });
                    for constraint in [at_least, at_most].into_iter().flatten() {
                        prop_assert_eq!(after.clone().constrain(constraint), before.clone().constrain(constraint),
                            "{:?} {:?} {:?}", before, after, constraint);
                    }
                }
            }
        }
    }

    /// What waits for one set without meeting another, point by point: between two moments at which a clock of the point is
    /// a multiple of a quarter nothing changes, so the moments in the middle of them will do.
    #[test]
    fn waiting_without_meeting(goal in prop::collection::vec(ops(), 1..3), avoid in prop::collection::vec(ops(), 0..3)) {
        let all = |ops: &[Vec<Op>]| ops.iter().filter_map(|ops| zone(ops)).collect::<Federation>();
        let (goal, avoid) = (all(&goal), all(&avoid));
        let before = goal.before(&avoid);
        let mut tidy = before.clone();
        tidy.tidy(&Zone::universe(CLOCKS));
        for point in points().step_by(7) {
            let later = |wait: i64| point.iter().map(|clock| 2 * clock + wait).collect::<Vec<i64>>();
            let most = 2 * PARTS * i64::from(MOST + 2);
            let met = (0..most).find(|wait| avoid.contains(&later(*wait), 2 * PARTS)).unwrap_or(most);
            let waits = (0..met).any(|wait| goal.contains(&later(wait), 2 * PARTS));
            prop_assert_eq!(before.contains(&point, PARTS), waits, "{:?} {:?} {:?}", goal, avoid, point);
            prop_assert_eq!(tidy.contains(&point, PARTS), waits);
        }
    }
}
