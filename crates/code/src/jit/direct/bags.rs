//! Multisets: what scans, fills and empties their groups.

use super::{
    Direct,
    assembler::{
        Binary, MemoryCell,
        Register::{Rax, Rcx},
        When,
    },
};
use crate::{
    bag::Bag,
    code::Op,
    jit::{
        bags::{MOST_CELLS, MOST_GROUPS, MOST_SWEPT},
        flow::FlowNode,
    },
};

impl Direct<'_, '_> {
    /// Translates an instruction about a multiset. False if it is left to the interpreter.
    pub(super) fn bag_instruction(&mut self, at: usize, node: &FlowNode) -> bool {
        let program = self.program;
        let bag = |bag: u32| &program.bags[bag as usize];
        let few = |bag: &Bag| bag.capacity <= MOST_GROUPS;
        match node.op {
            Op::BagScan { marks, address, bag: number } if few(bag(number)) => {
                self.get(node, address, None);
                for position in 0..bag(number).capacity {
                    let mark = self.register(node, marks + position as u16);
                    self.code.load(Rcx, MemoryCell::behind(Rax, first_of(bag(number), position)));
                    self.code.store(mark, Rcx);
                }
            }
            Op::BagMerge { marks, address, bag: number, taken }
                if few(bag(number))
                    && bag(number).capacity * bag(number).group <= MOST_CELLS
                    && program.taken[taken as usize].is_empty() =>
            {
                self.get(node, address, None);
                self.merge(node, marks, bag(number));
            }
            Op::BagElement { dst, address, position, bag: number, .. } => {
                self.occupied_group(at, node, address, position, bag(number));
                self.code.add_constant(Rax, 1);
                self.set(node, dst);
            }
            Op::BagAdd { dst, address, bag: number, .. } if few(bag(number)) => {
                self.free_group(at, node, address, bag(number));
                self.code.store_constant(MemoryCell::behind(Rax, 0), 1);
                self.mark(node, 0, 1);
                self.code.add_constant(Rax, 1);
                self.set(node, dst);
            }
            Op::BagRemove { address, position, bag: number, .. } if bag(number).group <= MOST_GROUPS => {
                self.occupied_group(at, node, address, position, bag(number));
                self.empty(0, bag(number).group);
                self.mark(node, 0, bag(number).group);
            }
            Op::BagSweep { marks, address, bag: number }
                if bag(number).capacity * bag(number).group <= MOST_SWEPT =>
            {
                self.get(node, address, None);
                self.sweep(node, marks, bag(number));
            }
            Op::BagLen { dst, address, bag: number } if few(bag(number)) => {
                self.get_in(Rcx, node, address);
                self.code.binary_registers(Binary::Xor, Rax, Rax);
                for position in 0..bag(number).capacity {
                    // 0 or 1.
                    self.code.binary(
                        Binary::Add,
                        Rax,
                        MemoryCell::behind(Rcx, first_of(bag(number), position)),
                    );
                }
                self.set(node, dst);
            }
            Op::Occupied { flag, .. } => {
                let done = self.code.label();
                self.get(node, flag, None);
                self.code.test(Rax);
                self.code.jump_when(When::Negative, done);
                self.code.compare_cell(MemoryCell::behind(Rax, 0), 0);
                self.leave_when(at, When::Equal);
                self.code.place(done);
            }
            _ => return false,
        }
        true
    }

    /// Empties cells behind the number in rax.
    fn empty(&mut self, first: i64, length: u32) {
        for cell in first..first + i64::from(length) {
            self.code.store_constant(MemoryCell::behind(Rax, cell), 0);
        }
    }

    /// Empties the marked groups of the multiset at the number in rax.
    fn sweep(&mut self, node: &FlowNode, marks: u16, bag: &Bag) {
        for position in 0..bag.capacity {
            let (mark, next) = (self.register(node, marks + position as u16), self.code.label());
            self.code.compare_cell(mark, 0);
            self.code.jump_when(When::Equal, next);
            self.empty(first_of(bag, position), bag.group);
            self.code.place(next);
        }
        self.mark(node, 0, bag.capacity * bag.group);
    }

    /// Only instances of rules merge, and what they look at is in normal form: equal elements are neighbours, and what is free comes
    /// last.
    fn merge(&mut self, node: &FlowNode, marks: u16, bag: &Bag) {
        let done = self.code.label();
        for position in 1..bag.capacity {
            let (mark, differ) = (self.register(node, marks + position as u16), self.code.label());
            let (here, before) = (first_of(bag, position), first_of(bag, position - 1));
            self.code.compare_cell(MemoryCell::behind(Rax, here), 0);
            self.code.jump_when(When::Equal, done);
            for cell in 0..i64::from(bag.group) {
                self.code.load(Rcx, MemoryCell::behind(Rax, here + cell));
                self.code.binary(Binary::Compare, Rcx, MemoryCell::behind(Rax, before + cell));
                self.code.jump_when(When::Differ, differ);
            }
            self.code.store_constant(mark, 0);
            self.code.place(differ);
        }
        self.code.place(done);
    }

    /// The number of the first cell of the group at a position in rax; left if there is none or it is free.
    fn occupied_group(&mut self, at: usize, node: &FlowNode, address: u16, position: u16, bag: &Bag) {
        self.get(node, position, None);
        self.code.compare_constant(Rax, bag.capacity as i32);
        self.leave_when(at, When::AboveOrEqual);
        self.code.multiply(Rax, bag.group as i32);
        let address = self.register(node, address);
        self.code.binary(Binary::Add, Rax, address);
        self.code.compare_cell(MemoryCell::behind(Rax, 0), 0);
        self.leave_when(at, When::Equal);
    }

    /// The number of the first cell of the first free group in rax; left if there is none.
    fn free_group(&mut self, at: usize, node: &FlowNode, address: u16, bag: &Bag) {
        let found = self.code.label();
        self.get(node, address, None);
        for _ in 0..bag.capacity {
            self.code.compare_cell(MemoryCell::behind(Rax, 0), 0);
            self.code.jump_when(When::Equal, found);
            self.code.add_constant(Rax, bag.group as i32);
        }
        let way_out = self.way_out(at);
        self.code.jump(way_out);
        self.code.place(found);
    }
}

/// How far the first cell of a group is behind the multiset's.
fn first_of(bag: &Bag, position: u32) -> i64 {
    i64::from(position * bag.group)
}
