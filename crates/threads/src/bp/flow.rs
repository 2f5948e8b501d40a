//! What can be known of flat code: which instructions do nothing, which are atomic, which locals are read again.

use shoal_syntax::{Diagnostic, Span};

use super::flat::{BpPc, BpVar, E, EKind, FlatProgram, Instr, InstructionKind};
use crate::codes;

/// Redirects everything past instructions that do nothing. Afterwards those are not reached any more.
pub(super) fn simplify(flat: &mut FlatProgram) -> Result<(), Box<Diagnostic>> {
    // What is only written is not needed, and neither is what was only read to write it.
    while forget(flat) {}
    let targets: Vec<BpPc> = flat.target.as_ref().map_or(Vec::new(), |target| target.1.clone());
    let past: Vec<BpPc> = (0..flat.code.len()).map(|pc| resolve(flat, &targets, pc)).collect();
    for instr in &mut flat.code {
        instr.next = past.get(instr.next).copied().unwrap_or(instr.next);
        match &mut instr.kind {
            InstructionKind::Goto(list) => {
                list.iter_mut().for_each(|target| *target = past[*target]);
                list.sort_unstable();
                list.dedup();
            }
            InstructionKind::Branch(_, then, other) => (*then, *other) = (past[*then], past[*other]),
            InstructionKind::Spawn(entry, ..) => *entry = past[*entry],
            _ => {}
        }
    }
    flat.entry = past[flat.entry];
    atomic(flat).map(drop)
}

/// Leaves out assignments to locals that nobody reads again; whether there was one.
fn forget(flat: &mut FlatProgram) -> bool {
    let live = live(flat);
    let mut found = false;
    for instr in &mut flat.code {
        let next = instr.next;
        let InstructionKind::Assign(parts, None) = &mut instr.kind else { continue };
        let before = parts.len();
        parts.retain(|(var, _)| match var {
            Some(BpVar::Local(local)) => live.get(next).is_some_and(|live| has(live, *local)),
            Some(BpVar::Global(_)) => true,
            None => false,
        });
        found |= parts.len() < before;
        if parts.is_empty() {
            instr.kind = InstructionKind::Nop;
        }
    }
    found
}

/// The first instruction from here that does something.
fn resolve(flat: &FlatProgram, targets: &[BpPc], from: BpPc) -> BpPc {
    let mut at = from;
    // A loop that does nothing ends in itself.
    for _ in 0..flat.code.len() {
        let instr = &flat.code[at];
        let next = match &instr.kind {
            InstructionKind::Nop => instr.next,
            InstructionKind::Goto(list) if list.len() == 1 => list[0],
            InstructionKind::Branch(condition, ..) if condition.known().is_some() => instr.targets()[0],
            InstructionKind::Assume(condition) if condition.known() == Some(true) => instr.next,
            InstructionKind::Assert(condition) if condition.known() == Some(true) => instr.next,
            _ => return at,
        };
        if !instr.enforce.is_empty() || targets.contains(&at) || next == at {
            return at;
        }
        at = next;
    }
    at
}

/// The instructions that can be reached, in order.
pub(super) fn reachable(flat: &FlatProgram) -> Vec<BpPc> {
    let mut seen = vec![false; flat.code.len()];
    let mut open = vec![flat.entry];
    while let Some(pc) = open.pop() {
        if std::mem::replace(&mut seen[pc], true) {
            continue;
        }
        let instr = &flat.code[pc];
        open.extend(instr.targets());
        if let InstructionKind::Spawn(entry, ..) = instr.kind {
            open.push(entry);
        }
    }
    (0..flat.code.len()).filter(|pc| seen[*pc]).collect()
}

/// For each instruction whether it runs inside an atomic section.
pub(super) fn atomic(flat: &FlatProgram) -> Result<Vec<bool>, Box<Diagnostic>> {
    let mut known: Vec<Option<bool>> = vec![None; flat.code.len()];
    let mut open = vec![(flat.entry, false, Span::default())];
    let wrong = |span: Span, message: &str| Err(Box::new(Diagnostic::error(codes::ATOMIC, span, message)));
    while let Some((pc, inside, from)) = open.pop() {
        let instr = &flat.code[pc];
        match known[pc] {
            Some(before) if before == inside => continue,
            Some(_) => {
                let message = "this is reached inside and outside of an atomic section";
                let error = Diagnostic::error(codes::ATOMIC, instr.span, message);
                return Err(Box::new(error.also(from, "one way comes from here")));
            }
            None => known[pc] = Some(inside),
        }
        let after = match (&instr.kind, inside) {
            (InstructionKind::AtomicBegin, true) => {
                return wrong(instr.span, "atomic sections cannot be nested");
            }
            (InstructionKind::AtomicBegin, false) => true,
            (InstructionKind::AtomicEnd, false) => {
                return wrong(instr.span, "no atomic section is open here");
            }
            (InstructionKind::AtomicEnd, true) => false,
            (InstructionKind::Spawn(entry, ..), _) => {
                open.push((*entry, false, instr.span));
                inside
            }
            _ => inside,
        };
        open.extend(instr.targets().into_iter().map(|target| (target, after, instr.span)));
    }
    let inside: Vec<bool> = known.into_iter().map(|inside| inside == Some(true)).collect();
    match endless(flat, &inside) {
        Some((span, message)) => wrong(span, message),
        None => Ok(inside),
    }
}

/// Where an atomic section is entered for good, if there is such a place. All other threads would stop for ever, and
/// whatever they could do wrong would seem impossible.
fn endless(flat: &FlatProgram, inside: &[bool]) -> Option<(Span, &'static str)> {
    let within = || (0..flat.code.len()).filter(|pc| inside[*pc]);
    let mut before: Vec<Vec<BpPc>> = vec![Vec::new(); flat.code.len()];
    for pc in within() {
        flat.code[pc].targets().into_iter().for_each(|target| before[target].push(pc));
    }
    let mut leaves = vec![false; flat.code.len()];
    let mut open: Vec<BpPc> =
        within().filter(|pc| matches!(flat.code[*pc].kind, InstructionKind::AtomicEnd)).collect();
    while let Some(pc) = open.pop() {
        if !std::mem::replace(&mut leaves[pc], true) {
            open.extend(&before[pc]);
        }
    }
    let found = |pc: BpPc| {
        let instr = &flat.code[pc];
        match instr.kind {
            InstructionKind::End => Some("the thread ends inside an atomic section"),
            InstructionKind::Wait => Some("nobody can wake a thread that waits inside an atomic section"),
            _ if !leaves[pc] => Some("from here the atomic section is never left"),
            _ => None,
        }
        .map(|message| (instr.span, message))
    };
    // How a section ends for good says more than where that is decided.
    let all: Vec<(Span, &str)> = within().filter_map(found).collect();
    let vague = |message: &str| message.starts_with("from here");
    all.iter().find(|(_, message)| !vague(message)).or(all.first()).copied()
}

/// A set of locals.
pub(super) type BpLocals = Vec<u64>;

pub(super) fn has(set: &BpLocals, local: usize) -> bool {
    set[local / 64] >> (local % 64) & 1 == 1
}

fn put(set: &mut BpLocals, local: usize) {
    set[local / 64] |= 1 << (local % 64);
}

/// For each instruction the locals that are read, there or later, before they are written.
pub(super) fn live(flat: &FlatProgram) -> Vec<BpLocals> {
    let words = flat.locals.len().div_ceil(64).max(1);
    let mut live: Vec<BpLocals> = vec![vec![0; words]; flat.code.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for pc in (0..flat.code.len()).rev() {
            let instr = &flat.code[pc];
            let mut set: BpLocals = vec![0; words];
            for target in instr.targets() {
                join(&mut set, live.get(target));
            }
            for local in written(instr) {
                set[local / 64] &= !(1 << (local % 64));
            }
            if let InstructionKind::Spawn(entry, _, true) = instr.kind {
                join(&mut set, live.get(entry));
            }
            for local in read(instr) {
                put(&mut set, local);
            }
            changed |= set != live[pc];
            live[pc] = set;
        }
    }
    live
}

fn join(into: &mut BpLocals, from: Option<&BpLocals>) {
    for (into, from) in into.iter_mut().zip(from.into_iter().flatten()) {
        *into |= from;
    }
}

/// The locals that an instruction writes.
pub(super) fn written(instr: &Instr) -> Vec<usize> {
    match &instr.kind {
        InstructionKind::Assign(parts, _) => parts
            .iter()
            .filter_map(|(var, _)| match var {
                Some(BpVar::Local(local)) => Some(*local),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// The locals that an instruction reads.
fn read(instr: &Instr) -> Vec<usize> {
    let written = written(instr);
    let mut all = Vec::new();
    for expr in instr.exprs() {
        expr.visit(&mut |part: &E| match part.kind {
            EKind::Var(BpVar::Local(local)) => all.push(local),
            // What is not assigned stays as it was.
            EKind::Next(BpVar::Local(local)) if !written.contains(&local) => all.push(local),
            _ => {}
        });
    }
    all
}

/// The globals that the first thread writes before anybody reads them: what they are in the beginning does not matter.
pub(super) fn settled(flat: &FlatProgram) -> Vec<bool> {
    let mut settled = vec![false; flat.globals.len()];
    if flat.any {
        return settled;
    }
    let mut read = vec![false; flat.globals.len()];
    let mut at = flat.entry;
    for _ in 0..flat.code.len() {
        let instr = &flat.code[at];
        for expr in instr.exprs() {
            expr.visit(&mut |part: &E| {
                if let EKind::Var(BpVar::Global(global)) | EKind::Next(BpVar::Global(global)) = part.kind {
                    read[global] = true;
                }
            });
        }
        let InstructionKind::Assign(parts, None) = &instr.kind else { break };
        for (var, _) in parts {
            if let Some(BpVar::Global(global)) = var
                && !read[*global]
            {
                settled[*global] = true;
            }
        }
        at = instr.next;
    }
    settled
}
