//! From terms to Cranelift's intermediate code.
//!
//! What a term is worth is computed where it is first wanted, and kept until that branch of the code ends. Equations of
//! cells with constants that are to hold together are one: a mask and a comparison.

use cranelift_codegen::ir::{InstBuilder, Value, condcodes::IntCC, types::I64};
use cranelift_frontend::FunctionBuilder;
use rustc_hash::FxHashMap;

use super::{
    super::places::read_field,
    successor::WordChange,
    terms::{Kind, Term, Terms},
};

/// Translates terms.
pub(super) struct Lower<'a, 'b, 'f> {
    pub(super) builder: FunctionBuilder<'b>,
    pub(super) terms: &'a Terms<'f>,
    /// The words of the packed state.
    pub(super) words: Vec<Value>,
    /// What has been computed: in each branch around, outermost first.
    computed: Vec<FxHashMap<Term, Value>>,
}

impl<'a, 'b, 'f> Lower<'a, 'b, 'f> {
    pub(super) fn new(builder: FunctionBuilder<'b>, terms: &'a Terms<'f>) -> Self {
        Lower { builder, terms, words: Vec::new(), computed: vec![FxHashMap::default()] }
    }

    /// A branch begins.
    pub(super) fn enter(&mut self) {
        self.computed.push(FxHashMap::default());
    }

    /// It ends.
    pub(super) fn leave(&mut self) {
        self.computed.pop();
    }

    fn once(&mut self, term: Term, make: impl FnOnce(&mut Self) -> Value) -> Value {
        if let Some(value) = self.computed.iter().find_map(|scope| scope.get(&term)) {
            return *value;
        }
        let value = make(self);
        if let Some(scope) = self.computed.last_mut() {
            scope.insert(term, value);
        }
        value
    }

    pub(super) fn constant(&mut self, value: i64) -> Value {
        self.builder.ins().iconst(I64, value)
    }

    /// A number.
    pub(super) fn number(&mut self, term: Term) -> Value {
        let terms = self.terms;
        if let Kind::Const(value) = terms.kind(term) {
            return self.constant(*value);
        }
        self.once(term, |this| match *terms.kind(term) {
            Kind::Cell(cell) => {
                let field = terms.fields[cell as usize];
                read_field(&mut this.builder, field, this.words[field.word as usize])
            }
            Kind::Element { index, first, step } => this.element(index, first, step),
            Kind::Add(left, right) => {
                let (left, right) = (this.number(left), this.number(right));
                this.builder.ins().iadd(left, right)
            }
            Kind::Mul(left, right) => match terms.known(right) {
                Some(factor) => {
                    let left = this.number(left);
                    this.times(left, factor as u64)
                }
                None => {
                    let (left, right) = (this.number(left), this.number(right));
                    this.builder.ins().imul(left, right)
                }
            },
            Kind::Div(number, by) => {
                let (number, by) = (this.number(number), this.constant(by));
                this.builder.ins().udiv(number, by)
            }
            Kind::Select(when, yes, no) => {
                let when = this.truth(when);
                let (yes, no) = (this.number(yes), this.number(no));
                this.builder.ins().select(when, yes, no)
            }
            _ => {
                let truth = this.truth(term);
                this.builder.ins().uextend(I64, truth)
            }
        })
    }

    fn times(&mut self, value: Value, factor: u64) -> Value {
        match factor {
            1 => value,
            _ if factor.is_power_of_two() => {
                self.builder.ins().ishl_imm_u(value, i64::from(factor.trailing_zeros()))
            }
            _ => self.builder.ins().imul_imm_s(value, factor as i64),
        }
    }

    fn element(&mut self, index: Term, first: u32, step: u32) -> Value {
        let [here, next] = [first, first + step].map(|cell| self.terms.fields[cell as usize]);
        let index = self.number(index);
        let distance = i64::from(next.shift) - i64::from(here.shift);
        let shift = self.builder.ins().imul_imm_s(index, distance);
        let shift = self.builder.ins().iadd_imm_s(shift, i64::from(here.shift));
        // Only the lowest six bits count, so an index that is none does no harm.
        let content = self.builder.ins().ushr(self.words[here.word as usize], shift);
        let content = self.builder.ins().band_imm_u(content, here.mask as i64);
        self.builder.ins().iadd_imm_s(content, here.bias as i64)
    }

    /// A truth value, as Cranelift's comparisons give it.
    pub(super) fn truth(&mut self, term: Term) -> Value {
        let terms = self.terms;
        self.once(term, |this| match terms.kind(term) {
            Kind::Is(number, value) => match this.bits(*number, *value) {
                Some((word, mask, bits)) => this.test(word, mask, bits, IntCC::Equal),
                None => {
                    let number = this.number(*number);
                    this.builder.ins().icmp_imm_s(IntCC::Equal, number, *value)
                }
            },
            Kind::Equal(left, right) => this.compare(IntCC::Equal, *left, *right),
            Kind::Less(left, right) => this.compare(IntCC::SignedLessThan, *left, *right),
            Kind::Not(inner) => this.opposite(*inner),
            Kind::All(parts) => this.all(parts),
            _ => {
                let number = this.number(term);
                this.builder.ins().icmp_imm_s(IntCC::NotEqual, number, 0)
            }
        })
    }

    fn compare(&mut self, how: IntCC, left: Term, right: Term) -> Value {
        let left = self.number(left);
        match self.terms.known(right) {
            Some(right) => self.builder.ins().icmp_imm_s(how, left, right),
            None => {
                let right = self.number(right);
                self.builder.ins().icmp(how, left, right)
            }
        }
    }

    fn opposite(&mut self, term: Term) -> Value {
        match *self.terms.kind(term) {
            Kind::Is(number, value) => match self.bits(number, value) {
                Some((word, mask, bits)) => self.test(word, mask, bits, IntCC::NotEqual),
                None => {
                    let number = self.number(number);
                    self.builder.ins().icmp_imm_s(IntCC::NotEqual, number, value)
                }
            },
            Kind::Equal(left, right) => self.compare(IntCC::NotEqual, left, right),
            Kind::Less(left, right) => self.compare(IntCC::SignedGreaterThanOrEqual, left, right),
            _ => {
                let truth = self.truth(term);
                self.builder.ins().icmp_imm_s(IntCC::Equal, truth, 0)
            }
        }
    }

    /// Where a number stands by itself in a word, and the bits it has there if it is so much.
    fn bits(&self, number: Term, value: i64) -> Option<(usize, u64, u64)> {
        let Kind::Cell(cell) = *self.terms.kind(number) else { return None };
        let field = self.terms.fields[cell as usize];
        let content = (value as u64).wrapping_sub(field.bias);
        let alone = field.radix == 0 && content & !field.mask == 0;
        alone.then_some((field.word as usize, field.mask << field.shift, content << field.shift))
    }

    fn test(&mut self, word: usize, mask: u64, bits: u64, how: IntCC) -> Value {
        let masked = self.builder.ins().band_imm_s(self.words[word], mask as i64);
        self.builder.ins().icmp_imm_s(how, masked, bits as i64)
    }

    /// Whether all of these hold.
    pub(super) fn all(&mut self, parts: &[Term]) -> Value {
        let mut tests = vec![(0u64, 0u64); self.words.len()];
        let mut holds: Vec<Value> = Vec::new();
        for part in parts {
            let equation = match *self.terms.kind(*part) {
                Kind::Is(number, value) => self.bits(number, value),
                _ => None,
            };
            match equation {
                Some((word, mask, bits)) => {
                    tests[word].0 |= mask;
                    tests[word].1 |= bits;
                }
                None => holds.push(self.truth(*part)),
            }
        }
        for (word, (mask, bits)) in tests.into_iter().enumerate() {
            if mask > 0 {
                holds.push(self.test(word, mask, bits, IntCC::Equal));
            }
        }
        let first = holds.pop();
        let first = first.unwrap_or_else(|| self.builder.ins().iconst(cranelift_codegen::ir::types::I8, 1));
        holds.into_iter().fold(first, |all, part| self.builder.ins().band(all, part))
    }

    /// A word of a successor.
    pub(super) fn changed(&mut self, word: usize, change: &WordChange) -> Value {
        let mut value = self.words[word];
        if change.clear > 0 {
            value = self.builder.ins().band_imm_s(value, !change.clear as i64);
        }
        for (distance, bits) in &change.moves {
            let bits = self.builder.ins().band_imm_s(self.words[word], *bits as i64);
            let moved = match distance {
                0.. => self.builder.ins().ishl_imm_u(bits, *distance),
                _ => self.builder.ins().ushr_imm_u(bits, -distance),
            };
            value = self.builder.ins().iadd(value, moved);
        }
        for (term, factor) in &change.terms {
            let term = self.number(*term);
            let product = self.times(term, *factor);
            value = self.builder.ins().iadd(value, product);
        }
        if change.add > 0 {
            value = self.builder.ins().iadd_imm_s(value, change.add as i64);
        }
        value
    }
}
