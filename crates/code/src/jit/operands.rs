//! Which registers an instruction reads and writes.

use crate::code::{Op, Program, Reg};

/// The registers of an instruction, relative to its frame.
#[derive(Default)]
pub(super) struct Operands {
    pub(super) uses: Vec<Reg>,
    pub(super) defs: Vec<Reg>,
    /// Registers that are reached by their address: the first, and how many.
    pub(super) addressed: Option<(Reg, u32)>,
}

/// The registers of an instruction. Calls have none: their windows are looked after by who inlines them.
pub(super) fn operands(program: &Program, op: Op) -> Operands {
    let mut addressed = None;
    let capacity = |bag: u32| program.bags[bag as usize].capacity;
    let (uses, defs): (Vec<Reg>, Vec<Reg>) = match op {
        Op::Const { dst, .. } | Op::Peek { dst, .. } | Op::Load { dst, .. } => (vec![], vec![dst]),
        Op::FrameAddress { dst, first, length, .. } => {
            addressed = Some((first, length));
            (vec![], vec![dst])
        }
        Op::Move { dst, src }
        | Op::Index { dst, src, .. }
        | Op::Offset { dst, src, .. }
        | Op::Encode { dst, src, .. }
        | Op::Map { dst, src, .. }
        | Op::Negate { dst, src, .. }
        | Op::Complement { dst, src } => (vec![src], vec![dst]),
        Op::Entry { dst, index, .. }
        | Op::PeekIndexed { dst, index, .. }
        | Op::LoadIndexed { dst, index, .. }
        | Op::Scale { dst, index, .. } => (vec![index], vec![dst]),
        Op::PeekAt { dst, address, .. }
        | Op::LoadAt { dst, address, .. }
        | Op::BagAdd { dst, address, .. }
        | Op::BagLen { dst, address, .. } => (vec![address], vec![dst]),
        Op::Defined { src, .. }
        | Op::Store { src, .. }
        | Op::JumpIs { src, .. }
        | Op::JumpIsNot { src, .. }
        | Op::JumpBelow { src, .. }
        | Op::JumpAbove { src, .. }
        | Op::Chosen { src, .. } => (vec![src], vec![]),
        Op::StoreIndexed { src, index, .. } => (vec![src, index], vec![]),
        Op::StoreAt { src, address, .. } => (vec![src, address], vec![]),
        Op::Join { dst, left, right }
        | Op::Add { dst, left, right, .. }
        | Op::Sub { dst, left, right, .. }
        | Op::Binary { dst, left, right, .. }
        | Op::Same { dst, left, right, .. } => (vec![left, right], vec![dst]),
        Op::JumpEqual { left, right, .. }
        | Op::JumpDiffer { left, right, .. }
        | Op::JumpLess { left, right, .. }
        | Op::JumpAtMost { left, right, .. } => (vec![left, right], vec![]),
        Op::Next { counter, .. } | Op::Round { counter, .. } => (vec![counter], vec![counter]),
        Op::CheckStep { step, .. } => (vec![step], vec![]),
        Op::LeaveRange { counter, .. } => (vec![counter, counter + 1, counter + 2], vec![]),
        Op::NextInRange { counter, .. } => (vec![counter, counter + 2], vec![counter]),
        Op::CountRange { dst, counter } => (vec![counter, counter + 1, counter + 2], vec![dst]),
        Op::Fill { address, .. } => (vec![address], vec![]),
        Op::Zero { first, length } => (vec![], (first..first + length as Reg).collect()),
        Op::Copy { to, from, .. } => (vec![to, from], vec![]),
        Op::Template { to, .. } => (vec![to], vec![]),
        Op::Occupied { flag, .. } => (vec![flag], vec![]),
        Op::BagScan { marks, address, bag } | Op::BagSweep { marks, address, bag } => {
            addressed = Some((marks, capacity(bag)));
            (vec![address], vec![])
        }
        Op::BagMerge { marks, address, bag, taken } => {
            addressed = Some((marks, capacity(bag)));
            let taken = program.taken[taken as usize].iter().flat_map(|(of, at)| [*of, *at]);
            (std::iter::once(address).chain(taken).collect(), vec![])
        }
        Op::JumpUnmarked { position, .. } => (vec![position], vec![]),
        Op::CountMarks { dst, marks, length } => {
            addressed = Some((marks, length));
            (vec![], vec![dst])
        }
        Op::SelectMark { index, marks, length } => {
            addressed = Some((marks, length));
            (vec![index], vec![index])
        }
        Op::BagElement { dst, address, position, .. } => (vec![address, position], vec![dst]),
        Op::BagRemove { address, position, .. } => (vec![address, position], vec![]),
        Op::Choose { dst, count } => (vec![count], vec![dst]),
        Op::Jump { .. }
        | Op::Tick { .. }
        | Op::Call { .. }
        | Op::Return
        | Op::NoResult
        | Op::Fault { .. }
        | Op::Discard
        | Op::Cover { .. }
        | Op::Fire
        | Op::End
        | Op::Truth { .. } => (vec![], vec![]),
    };
    Operands { uses, defs, addressed }
}
