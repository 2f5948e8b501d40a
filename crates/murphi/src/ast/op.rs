//! The operators and how tightly they bind.

/// Operators before an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `!`, which binds looser than a comparison: `!a = b` is `!(a = b)`.
    Not,
    /// `~`, bitwise (Rumur), which binds as `-` does.
    BitNot,
    /// `-`.
    Minus,
    /// `+`, which does nothing.
    Plus,
}

impl UnaryOp {
    /// As written in ASCII.
    pub fn symbol(self) -> &'static str {
        match self {
            UnaryOp::Not => "!",
            UnaryOp::BitNot => "~",
            UnaryOp::Minus => "-",
            UnaryOp::Plus => "+",
        }
    }
}

/// Operators between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `->`.
    Implies,
    /// `||` (Rumur): only for booleans, and looser than `|`.
    OrElse,
    /// `&&` (Rumur): only for booleans, and looser than `|` too.
    AndAlso,
    /// `|`: disjunction of booleans; of integers, bitwise or (Rumur).
    Or,
    /// `^`: bitwise exclusive or (Rumur).
    Xor,
    /// `&`: conjunction of booleans; of integers, bitwise and (Rumur).
    And,
    /// `=` or `==`.
    Eq,
    /// `!=`.
    Ne,
    /// `<`.
    Lt,
    /// `<=`.
    Le,
    /// `>`.
    Gt,
    /// `>=`.
    Ge,
    /// `<<` (Rumur).
    Shl,
    /// `>>` (Rumur).
    Shr,
    /// `+`.
    Add,
    /// `-`.
    Sub,
    /// `*`.
    Mul,
    /// `/`, toward zero.
    Div,
    /// `%`, with the sign of the dividend.
    Mod,
}

impl BinaryOp {
    /// As written in ASCII.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Implies => "->",
            BinaryOp::OrElse => "||",
            BinaryOp::AndAlso => "&&",
            BinaryOp::Or => "|",
            BinaryOp::Xor => "^",
            BinaryOp::And => "&",
            BinaryOp::Eq => "=",
            BinaryOp::Ne => "!=",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Mod => "%",
        }
    }

    /// How tightly it binds.
    pub fn level(self) -> Level {
        match self {
            BinaryOp::Implies => Level::Implies,
            BinaryOp::OrElse => Level::OrElse,
            BinaryOp::AndAlso => Level::AndAlso,
            BinaryOp::Or => Level::Or,
            BinaryOp::Xor => Level::Xor,
            BinaryOp::And => Level::And,
            BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
                Level::Compare
            }
            BinaryOp::Shl | BinaryOp::Shr => Level::Shift,
            BinaryOp::Add | BinaryOp::Sub => Level::Sum,
            BinaryOp::Mul | BinaryOp::Div | BinaryOp::Mod => Level::Product,
        }
    }

    /// Whether `a op b op c` is `(a op b) op c`; otherwise it is an error.
    pub fn is_left_associative(self) -> bool {
        !matches!(self.level(), Level::Implies | Level::Compare)
    }
}

/// How tightly operators bind, the loosest first.
///
/// Checked against Rumur 2022.08.20 (`murphi2xml`), which adds to CMurphi's levels without moving them:
/// `a & b || c` is `(a & b) || c`; `a && b | c` is `a && (b | c)`; `a || b && c` is `a || (b && c)`;
/// `x | y ^ z` is `x | (y ^ z)` and `x ^ y & z` is `x ^ (y & z)`. The bitwise operators are looser than comparisons, as in
/// C: `x & 1 = 1` is `x & (1 = 1)`. Shifts are tighter than comparisons and looser than sums: `x << 1 + 1 = 2` is
/// `(x << (1 + 1)) = 2`. `!a = b` is `!(a = b)`, `!a & b` is `(!a) & b`, `~x * y` is `(~x) * y`, `-x % y` is `(-x) % y`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// `?:`, non-associative.
    Conditional,
    /// `->`, non-associative.
    Implies,
    /// `||`.
    OrElse,
    /// `&&`.
    AndAlso,
    /// `|`.
    Or,
    /// `^`.
    Xor,
    /// `&`.
    And,
    /// `!`, a prefix.
    Not,
    /// `=` and the other comparisons, non-associative.
    Compare,
    /// `<<` and `>>`.
    Shift,
    /// `+` and `-`.
    Sum,
    /// `*`, `/` and `%`.
    Product,
    /// `-`, `+` and `~` as prefixes. The grammars put `-` with `*`; no text can tell the difference.
    Prefix,
}

impl Level {
    /// The next tighter level; the tightest has none but itself.
    #[must_use]
    pub fn tighter(self) -> Level {
        match self {
            Level::Conditional => Level::Implies,
            Level::Implies => Level::OrElse,
            Level::OrElse => Level::AndAlso,
            Level::AndAlso => Level::Or,
            Level::Or => Level::Xor,
            Level::Xor => Level::And,
            Level::And => Level::Not,
            Level::Not => Level::Compare,
            Level::Compare => Level::Shift,
            Level::Shift => Level::Sum,
            Level::Sum => Level::Product,
            Level::Product | Level::Prefix => Level::Prefix,
        }
    }
}
