//! Integers as rows of diagrams: two's complement, least significant bit first, the sign last, as wide as they need be.

use shoal_model::{BinaryOp, FaultKind, Value};

use crate::dd::{Bdd, Dd, DdResult};

/// An integer that depends on the state.
pub type BitVector = Vec<Bdd>;

/// An integer that does not depend on anything.
pub fn constant(dd: &Dd, value: i64) -> BitVector {
    let mut width = 1;
    while width < 64 && (value >> (width - 1)) != 0 && (value >> (width - 1)) != -1 {
        width += 1;
    }
    (0..width).map(|bit| dd.constant(value >> bit & 1 == 1)).collect()
}

/// A number without a sign as an integer.
pub fn unsigned(dd: &Dd, mut bits: BitVector) -> BitVector {
    bits.push(dd.no());
    trim(bits)
}

/// The value, where it does not depend on anything.
pub fn known(bits: &BitVector) -> Option<i64> {
    let mut value = 0i64;
    for (at, bit) in bits.iter().enumerate() {
        if bit.known()? {
            value |= if at + 1 == bits.len() { -1i64 << at } else { 1 << at };
        }
    }
    Some(value)
}

/// Drops what only repeats the sign.
fn trim(mut bits: BitVector) -> BitVector {
    while bits.len() > 1 && bits[bits.len() - 1] == bits[bits.len() - 2] {
        bits.pop();
    }
    bits
}

fn bit(bits: &BitVector, at: usize) -> &Bdd {
    &bits[at.min(bits.len() - 1)]
}

/// The sum; it may need one bit more.
pub fn add(dd: &Dd, a: &BitVector, b: &BitVector) -> DdResult<BitVector> {
    add_with(dd, a, b, dd.no())
}

fn add_with(_: &Dd, a: &BitVector, b: &BitVector, mut carry: Bdd) -> DdResult<BitVector> {
    let width = a.len().max(b.len()) + 1;
    let mut sum = Vec::with_capacity(width);
    for at in 0..width {
        let (x, y) = (bit(a, at), bit(b, at));
        let differ = x.xor(y)?;
        sum.push(differ.xor(&carry)?);
        carry = differ.ite(&carry, x)?;
    }
    Ok(trim(sum))
}

/// The difference.
pub fn sub(dd: &Dd, a: &BitVector, b: &BitVector) -> DdResult<BitVector> {
    add_with(dd, a, &complement(b)?, dd.yes())
}

/// Each bit the other way.
pub fn complement(bits: &BitVector) -> DdResult<BitVector> {
    bits.iter().map(Bdd::not).collect()
}

/// The product.
pub fn mul(dd: &Dd, a: &BitVector, b: &BitVector) -> DdResult<BitVector> {
    // The sign bit of `b` counts negatively.
    let mut product = constant(dd, 0);
    for (at, digit) in b.iter().enumerate() {
        if digit.is_false() {
            continue;
        }
        let mut part = vec![dd.no(); at];
        for x in a {
            part.push(x.and(digit)?);
        }
        product = if at + 1 == b.len() { sub(dd, &product, &part)? } else { add(dd, &product, &part)? };
    }
    Ok(product)
}

/// Where the two are the same.
pub fn equal(dd: &Dd, a: &BitVector, b: &BitVector) -> DdResult<Bdd> {
    let mut same = dd.yes();
    for at in (0..a.len().max(b.len())).rev() {
        same = same.and(&bit(a, at).equiv(bit(b, at))?)?;
        if same.is_false() {
            break;
        }
    }
    Ok(same)
}

/// Where the first is less.
pub fn less(dd: &Dd, a: &BitVector, b: &BitVector) -> DdResult<Bdd> {
    let width = a.len().max(b.len());
    let mut less = dd.no();
    for at in 0..width {
        let (x, y) = (bit(a, at), bit(b, at));
        // The sign counts the other way round.
        let wins = if at + 1 == width { x } else { y };
        less = x.xor(y)?.ite(wins, &less)?;
    }
    Ok(less)
}

/// `a` where the condition holds, else `b`.
pub fn choose(condition: &Bdd, a: &BitVector, b: &BitVector) -> DdResult<BitVector> {
    let width = a.len().max(b.len());
    let bits: DdResult<BitVector> = (0..width).map(|at| condition.ite(bit(a, at), bit(b, at))).collect();
    bits.map(trim)
}

/// All values that it can have under a condition, each with where it has it. Nothing if there are more than `most`.
pub fn values(bits: &BitVector, under: &Bdd, most: usize) -> DdResult<Option<Vec<(i64, Bdd)>>> {
    let mut found = Vec::new();
    let complete = split(bits, bits.len(), 0, under.clone(), most, &mut found)?;
    found.sort_by_key(|(value, _)| *value);
    Ok(complete.then_some(found))
}

fn split(
    bits: &BitVector,
    left: usize,
    high: i64,
    under: Bdd,
    most: usize,
    found: &mut Vec<(i64, Bdd)>,
) -> DdResult<bool> {
    if under.is_false() {
        return Ok(true);
    }
    if left == 0 {
        found.push((high, under));
        return Ok(found.len() <= most);
    }
    let at = left - 1;
    let weight = if left == bits.len() { -1i64 << at } else { 1 << at };
    let no = under.minus(&bits[at])?;
    let yes = under.and(&bits[at])?;
    Ok(split(bits, at, high, no, most, found)? && split(bits, at, high | weight, yes, most, found)?)
}

/// The result of an operation, and where it faults.
pub struct BitResult {
    /// An integer, or a truth value in one bit without sign if the operation compares.
    pub bits: BitVector,
    /// Where and how it has none.
    pub faults: Vec<(Bdd, FaultKind)>,
}

/// Most pairs of values that an operation is worked out for one by one.
const MOST_PAIRS: usize = 1 << 16;

/// An operation on two integers; nothing if it would take too long. Comparisons are not among them.
pub fn apply(
    dd: &Dd,
    op: BinaryOp,
    a: &BitVector,
    b: &BitVector,
    under: &Bdd,
) -> DdResult<Option<BitResult>> {
    let bits = match op {
        BinaryOp::Add => add(dd, a, b)?,
        BinaryOp::Sub => sub(dd, a, b)?,
        BinaryOp::Mul => mul(dd, a, b)?,
        BinaryOp::BitAnd => bitwise(a, b, Bdd::and)?,
        BinaryOp::BitOr => bitwise(a, b, Bdd::or)?,
        BinaryOp::BitXor => bitwise(a, b, Bdd::xor)?,
        _ => return pairwise(dd, op, a, b, under),
    };
    let mut faults = Vec::new();
    let mut bits = bits;
    if bits.len() > 64 {
        // It fits if all bits from the 64th on are the sign.
        let mut fits = dd.yes();
        for high in &bits[64..] {
            fits = fits.and(&high.equiv(&bits[63])?)?;
        }
        faults.push((under.minus(&fits)?, FaultKind::Overflow));
        bits.truncate(64);
    }
    Ok(Some(BitResult { bits, faults }))
}

fn bitwise(a: &BitVector, b: &BitVector, op: fn(&Bdd, &Bdd) -> DdResult<Bdd>) -> DdResult<BitVector> {
    let bits: DdResult<BitVector> = (0..a.len().max(b.len())).map(|at| op(bit(a, at), bit(b, at))).collect();
    bits.map(trim)
}

fn pairwise(dd: &Dd, op: BinaryOp, a: &BitVector, b: &BitVector, under: &Bdd) -> DdResult<Option<BitResult>> {
    let (Some(left), Some(right)) = (values(a, under, MOST_PAIRS)?, values(b, under, MOST_PAIRS)?) else {
        return Ok(None);
    };
    if left.len() * right.len() > MOST_PAIRS {
        return Ok(None);
    }
    let mut result = BitResult { bits: constant(dd, 0), faults: Vec::new() };
    for (x, where_x) in &left {
        for (y, where_y) in &right {
            let both = where_x.and(where_y)?;
            if both.is_false() {
                continue;
            }
            match op.apply(*x, *y) {
                Ok(Value::Int(value)) => {
                    result.bits = choose(&both, &constant(dd, value), &result.bits)?;
                }
                Ok(_) => {}
                Err(kind) => result.faults.push((both, kind)),
            }
        }
    }
    Ok(Some(result))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_on_rows_is_arithmetic_on_integers() {
        let dd =
            Dd::new(6, &shoal_model::Watch::default().with_memory(Some(1 << 22)), crate::dd::Care::Speed)
                .unwrap();
        let number = |from: u32| -> BitVector { (from..from + 3).map(|var| dd.var(var).unwrap()).collect() };
        let (a, b) = (number(0), number(3));
        let ops = [
            BinaryOp::Add,
            BinaryOp::Sub,
            BinaryOp::Mul,
            BinaryOp::Div,
            BinaryOp::Rem,
            BinaryOp::BitAnd,
            BinaryOp::BitOr,
            BinaryOp::BitXor,
            BinaryOp::Shl,
            BinaryOp::Shr,
        ];
        let value = |bits: &BitVector, at: &Bdd| {
            let found = values(bits, at, 10).unwrap().unwrap();
            assert_eq!(found.len(), 1);
            found[0].0
        };
        for x in -4..4i64 {
            for y in -4..4i64 {
                let literals: Vec<(u32, bool)> =
                    (0..3).flat_map(|bit| [(bit, x >> bit & 1 == 1), (3 + bit, y >> bit & 1 == 1)]).collect();
                let at = dd.minterm(&literals).unwrap();
                assert_eq!((value(&a, &at), value(&b, &at)), (x, y));
                for op in ops {
                    let result = apply(&dd, op, &a, &b, &dd.yes()).unwrap().unwrap();
                    let fault = result.faults.iter().find(|(place, _)| place.meets(&at).unwrap());
                    match op.apply(x, y) {
                        Ok(expected) => {
                            assert!(fault.is_none());
                            assert_eq!(Value::Int(value(&result.bits, &at)), expected, "{x} {op:?} {y}");
                        }
                        Err(kind) => assert_eq!(fault.map(|(_, it)| it), Some(&kind)),
                    }
                }
                assert_eq!(less(&dd, &a, &b).unwrap().meets(&at).unwrap(), x < y);
                assert_eq!(equal(&dd, &a, &b).unwrap().meets(&at).unwrap(), x == y);
            }
        }
    }

    #[test]
    fn what_does_not_fit_in_64_bits_is_a_fault() {
        let dd =
            Dd::new(1, &shoal_model::Watch::default().with_memory(Some(1 << 22)), crate::dd::Care::Speed)
                .unwrap();
        let (most, one) = (constant(&dd, i64::MAX), constant(&dd, 1));
        assert_eq!(known(&most), Some(i64::MAX));
        let sum = apply(&dd, BinaryOp::Add, &most, &one, &dd.yes()).unwrap().unwrap();
        assert_eq!(sum.faults.len(), 1);
        assert!(sum.faults[0].0.is_true());
        let least = apply(&dd, BinaryOp::Sub, &constant(&dd, -1), &most, &dd.yes()).unwrap().unwrap();
        assert!(least.faults.is_empty());
        assert_eq!(known(&least.bits), Some(i64::MIN));
    }
}
