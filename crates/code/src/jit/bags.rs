//! Multisets in native code: what scans, fills and empties their groups.
//!
//! Steps that touch a multiset are dealt with as a whole ([`super::fire::StepHandling`]), so writes need not be followed here.
//! Multisets of many groups, or of large ones, are left to the interpreter.

use cranelift_codegen::ir::{BlockArg, InstBuilder, Value, condcodes::IntCC, types::I8};

use super::{emit::Emitter, flow::FlowNode};
use crate::{bag::Bag, code::Op};

/// Groups that are gone through one by one, and cells that are compared or emptied.
pub(super) const MOST_GROUPS: u32 = 32;
pub(super) const MOST_CELLS: u32 = 256;
pub(super) const MOST_SWEPT: u32 = 64;

impl Emitter<'_, '_, '_> {
    /// Translates an instruction about a multiset. False if it is left to the interpreter.
    pub(super) fn bag_instruction(&mut self, at: usize, node: &FlowNode) -> bool {
        let program = self.program;
        let bag = |bag: u32| &program.bags[bag as usize];
        let few = |bag: &Bag| bag.capacity <= MOST_GROUPS;
        match node.op {
            Op::BagScan { marks, address, bag: number } if few(bag(number)) => {
                self.bag_scan(node, marks, address, bag(number));
            }
            Op::BagMerge { marks, address, bag: number, taken }
                if few(bag(number))
                    && bag(number).capacity * bag(number).group <= MOST_CELLS
                    && program.taken[taken as usize].is_empty() =>
            {
                self.bag_merge(node, marks, address, bag(number));
            }
            Op::BagElement { dst, address, position, bag: number, .. } => {
                let group = self.occupied_group(at, node, address, position, bag(number));
                let element = self.builder.ins().iadd_imm_s(group, 1);
                self.set(node, dst, element);
            }
            Op::BagAdd { dst, address, bag: number, .. } if few(bag(number)) => {
                let group = self.free_group(at, node, address, bag(number));
                let (one, pointer) = (self.constant(1), self.pointer(group));
                self.store(one, pointer, 0);
                self.mark(node, group, 0, 1);
                let element = self.builder.ins().iadd_imm_s(group, 1);
                self.set(node, dst, element);
            }
            Op::BagRemove { address, position, bag: number, .. } if bag(number).group <= MOST_GROUPS => {
                let group = self.occupied_group(at, node, address, position, bag(number));
                let (zero, pointer) = (self.constant(0), self.pointer(group));
                for cell in 0..bag(number).group {
                    self.store(zero, pointer, i64::from(cell));
                }
                self.mark(node, group, 0, bag(number).group);
            }
            Op::BagSweep { marks, address, bag: number }
                if bag(number).capacity * bag(number).group <= MOST_SWEPT =>
            {
                self.bag_sweep(node, marks, address, bag(number));
            }
            Op::BagLen { dst, address, bag: number } if few(bag(number)) => {
                let bag = bag(number);
                let pointer = self.address_of(node, address);
                let mut length = self.constant(0);
                for position in 0..bag.capacity {
                    // 0 or 1.
                    let occupied = self.load(pointer, i64::from(position * bag.group));
                    length = self.builder.ins().iadd(length, occupied);
                }
                self.set(node, dst, length);
            }
            Op::Occupied { flag, .. } => self.occupied(at, node, flag),
            _ => return false,
        }
        true
    }

    fn address_of(&mut self, node: &FlowNode, register: u16) -> Value {
        let address = self.get(node, register);
        self.pointer(address)
    }

    fn bag_scan(&mut self, node: &FlowNode, marks: u16, address: u16, bag: &Bag) {
        let pointer = self.address_of(node, address);
        for position in 0..bag.capacity {
            let occupied = self.load(pointer, i64::from(position * bag.group));
            self.set(node, marks + position as u16, occupied);
        }
    }

    fn bag_sweep(&mut self, node: &FlowNode, marks: u16, address: u16, bag: &Bag) {
        let first = self.get(node, address);
        let (pointer, zero) = (self.pointer(first), self.constant(0));
        for position in 0..bag.capacity {
            let mark = self.get(node, marks + position as u16);
            for cell in (0..bag.group).map(|cell| i64::from(position * bag.group + cell)) {
                let content = self.load(pointer, cell);
                let content = self.builder.ins().select(mark, zero, content);
                self.store(content, pointer, cell);
            }
        }
        self.mark(node, first, 0, bag.capacity * bag.group);
    }

    /// Only instances of rules merge, and what they look at is in normal form: equal elements are neighbours, and what is free comes
    /// last.
    fn bag_merge(&mut self, node: &FlowNode, marks: u16, address: u16, bag: &Bag) {
        let pointer = self.address_of(node, address);
        let zero = self.constant(0);
        let done = self.builder.create_block();
        for position in 1..bag.capacity {
            let (here, before) = (position * bag.group, (position - 1) * bag.group);
            let (occupied, next) = (self.load(pointer, i64::from(here)), self.builder.create_block());
            self.builder.ins().brif(occupied, next, &[] as &[BlockArg], done, &[] as &[BlockArg]);
            self.builder.switch_to_block(next);
            self.builder.seal_block(next);
            let mut differ = zero;
            for cell in 0..bag.group {
                let [left, right] = [here, before].map(|first| self.load(pointer, i64::from(first + cell)));
                let differs = self.builder.ins().bxor(left, right);
                differ = self.builder.ins().bor(differ, differs);
            }
            let mark = self.get(node, marks + position as u16);
            let mark = self.builder.ins().select(differ, mark, zero);
            self.set(node, marks + position as u16, mark);
        }
        self.builder.ins().jump(done, &[] as &[BlockArg]);
        self.builder.switch_to_block(done);
        self.builder.seal_block(done);
    }

    /// The address of the group at a position; left if there is none or it is free.
    fn occupied_group(
        &mut self,
        at: usize,
        node: &FlowNode,
        address: u16,
        position: u16,
        bag: &Bag,
    ) -> Value {
        let (address, position) = (self.get(node, address), self.get(node, position));
        let limit = i64::from(bag.capacity);
        let outside = self.builder.ins().icmp_imm_s(IntCC::UnsignedGreaterThanOrEqual, position, limit);
        self.leave_if(at, outside, 0);
        let distance = self.builder.ins().imul_imm_s(position, i64::from(bag.group));
        let group = self.builder.ins().iadd(address, distance);
        let pointer = self.pointer(group);
        let occupied = self.load(pointer, 0);
        self.leave_if_zero(at, occupied);
        group
    }

    /// The address of the first free group; left if there is none.
    fn free_group(&mut self, at: usize, node: &FlowNode, address: u16, bag: &Bag) -> Value {
        let first = self.get(node, address);
        let pointer = self.pointer(first);
        let (mut group, mut any) = (first, self.builder.ins().iconst(I8, 0));
        for position in (0..bag.capacity).rev() {
            let distance = i64::from(position * bag.group);
            let occupied = self.load(pointer, distance);
            let free = self.builder.ins().icmp_imm_s(IntCC::Equal, occupied, 0);
            let here = self.builder.ins().iadd_imm_s(first, distance);
            group = self.builder.ins().select(free, here, group);
            any = self.builder.ins().bor(any, free);
        }
        let full = self.builder.ins().icmp_imm_s(IntCC::Equal, any, 0);
        self.leave_if(at, full, 0);
        group
    }

    /// Leaves if the occupied cell at an address is 0. There is none below 0, and the first cell of memory is read instead.
    fn occupied(&mut self, at: usize, node: &FlowNode, flag: u16) {
        let flag = self.get(node, flag);
        let zero = self.constant(0);
        let refers = self.builder.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, flag, 0);
        let address = self.builder.ins().select(refers, flag, zero);
        let pointer = self.pointer(address);
        let occupied = self.load(pointer, 0);
        let free = self.builder.ins().icmp_imm_s(IntCC::Equal, occupied, 0);
        let empty = self.builder.ins().band(refers, free);
        self.leave_if(at, empty, 0);
    }
}
