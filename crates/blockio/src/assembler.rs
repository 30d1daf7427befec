//! An assembler for the kernel's BPF machine: it translates named registers, operations and labels
//! into the eight-byte instructions (Documentation/bpf/standardization/instruction-set.rst).
//!
//! It knows only the instructions that our programs use, not their purpose.

use super::system::{Instruction, Map};
use std::os::fd::{AsFd, AsRawFd};

/// A register. `R0` has a call's result; `R1` to `R5` have its arguments, which it destroys; it
/// keeps `R6` to `R9`. `Frame` is the end of 512 bytes of stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Register {
    R0 = 0,
    R1 = 1,
    R2 = 2,
    R3 = 3,
    R4 = 4,
    R6 = 6,
    R7 = 7,
    R8 = 8,
    R9 = 9,
    Frame = 10,
}

/// A register or a number.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    Of(Register),
    Number(i32),
}

impl From<Register> for Value {
    fn from(register: Register) -> Self {
        Self::Of(register)
    }
}

impl From<i32> for Value {
    fn from(number: i32) -> Self {
        Self::Number(number)
    }
}

/// How many bytes are loaded or stored.
#[derive(Clone, Copy, Debug)]
pub(super) enum Size {
    Four = 0x00,
    Eight = 0x18,
}

/// Arithmetic, on 64 bits.
#[derive(Clone, Copy, Debug)]
pub(super) enum Do {
    Add = 0x00,
    Subtract = 0x10,
    Multiply = 0x20,
    And = 0x50,
    ShiftLeft = 0x60,
    ShiftRight = 0x70,
    Move = 0xb0,
}

/// When a jump is made. Comparisons are unsigned.
#[derive(Clone, Copy, Debug)]
pub(super) enum If {
    Equal = 0x10,
    Above = 0x20,
    AtLeast = 0x30,
    AnyBitOf = 0x40,
    NotEqual = 0x50,
    Below = 0xa0,
}

/// Functions of the kernel, by their numbers (include/uapi/linux/bpf.h).
#[derive(Clone, Copy, Debug)]
pub(super) enum Call {
    MapLookup = 1,
    MapUpdate = 2,
    MonotonicNs = 5,
    CurrentIds = 14,
    CurrentName = 16,
    RingOutput = 130,
    CurrentTask = 158,
}

/// A place in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label(usize);

/// Classes and modes of instructions.
mod code {
    pub(super) const LOAD_WIDE: u8 = 0x18;
    pub(super) const LOAD: u8 = 0x61;
    pub(super) const STORE_NUMBER: u8 = 0x62;
    pub(super) const STORE: u8 = 0x63;
    pub(super) const ATOMIC_ADD: u8 = 0xdb;
    pub(super) const JUMP: u8 = 0x05;
    pub(super) const ARITHMETIC: u8 = 0x07;
    pub(super) const FROM_REGISTER: u8 = 0x08;
    pub(super) const CALL: u8 = 0x85;
    pub(super) const EXIT: u8 = 0x95;
}

/// In a wide load: the number is a map's file descriptor.
const MAP_BY_FD: u8 = 1;

/// A program in the making.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    instructions: Vec<Instruction>,
    /// Where each label is, once it is placed.
    labels: Vec<Option<usize>>,
    /// The place of each jump, and the label it goes to.
    jumps: Vec<(usize, Label)>,
}

impl Assembler {
    /// Returns a new label, to be placed later.
    pub(super) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Places the label here.
    pub(super) fn bind(&mut self, label: Label) {
        self.labels[label.0] = Some(self.instructions.len());
    }

    pub(super) fn set(&mut self, to: Register, value: impl Into<Value>) {
        self.calculate(Do::Move, to, value);
    }

    pub(super) fn calculate(&mut self, what: Do, to: Register, value: impl Into<Value>) {
        self.with(code::ARITHMETIC | what as u8, to, 0, value.into());
    }

    pub(super) fn load(&mut self, size: Size, to: Register, from: Register, offset: i16) {
        self.push(code::LOAD | size as u8, to, from as u8, offset, 0);
    }

    pub(super) fn store(&mut self, size: Size, to: Register, offset: i16, value: impl Into<Value>) {
        match value.into() {
            Value::Of(from) => self.push(code::STORE | size as u8, to, from as u8, offset, 0),
            Value::Number(number) => {
                self.push(code::STORE_NUMBER | size as u8, to, 0, offset, number);
            }
        }
    }

    /// Adds to eight bytes in memory, atomically.
    pub(super) fn add_to_memory(&mut self, to: Register, offset: i16, from: Register) {
        self.push(code::ATOMIC_ADD, to, from as u8, offset, 0);
    }

    pub(super) fn jump(
        &mut self,
        when: If,
        register: Register,
        right: impl Into<Value>,
        to: Label,
    ) {
        self.jumps.push((self.instructions.len(), to));
        self.with(code::JUMP | when as u8, register, 0, right.into());
    }

    pub(super) fn go_to(&mut self, to: Label) {
        self.jumps.push((self.instructions.len(), to));
        self.push(code::JUMP, Register::R0, 0, 0, 0);
    }

    pub(super) fn call(&mut self, what: Call) {
        self.push(code::CALL, Register::R0, 0, 0, what as i32);
    }

    /// Loads a map, as an argument of a call.
    pub(super) fn set_map(&mut self, to: Register, map: &Map) {
        self.push(code::LOAD_WIDE, to, MAP_BY_FD, 0, map.as_fd().as_raw_fd());
        self.instructions.push(Instruction::default());
    }

    /// Loads a number of 64 bits.
    pub(super) fn set_wide(&mut self, to: Register, number: u64) {
        self.push(code::LOAD_WIDE, to, 0, 0, number as u32 as i32);
        let number = (number >> 32) as i32;
        self.instructions.push(Instruction { number, ..Instruction::default() });
    }

    /// Ends the program with the result 0.
    pub(super) fn exit(&mut self) {
        self.set(Register::R0, 0);
        self.push(code::EXIT, Register::R0, 0, 0, 0);
    }

    /// Returns the finished program; `None`: a label was never placed or is too far away.
    pub(super) fn finish(mut self) -> Option<Vec<Instruction>> {
        for (position, label) in self.jumps {
            let distance = self.labels[label.0]? as i64 - (position as i64 + 1);
            self.instructions[position].offset = i16::try_from(distance).ok()?;
        }
        Some(self.instructions)
    }

    fn with(&mut self, code: u8, to: Register, offset: i16, value: Value) {
        match value {
            Value::Of(from) => {
                self.push(code | code::FROM_REGISTER, to, from as u8, offset, 0);
            }
            Value::Number(number) => self.push(code, to, 0, offset, number),
        }
    }

    fn push(&mut self, code: u8, to: Register, from: u8, offset: i16, number: i32) {
        let registers = from << 4 | to as u8;
        self.instructions.push(Instruction { code, registers, offset, number });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected words are those of `llvm-mc -triple bpfel` for the same lines.
    #[test]
    fn instructions_are_those_of_the_kernels_manual() {
        let mut asm = Assembler::default();
        let out = asm.label();
        asm.load(Size::Eight, Register::R6, Register::R1, 8);
        asm.jump(If::Equal, Register::R6, 0, out);
        asm.calculate(Do::Add, Register::R6, Register::R2);
        asm.store(Size::Four, Register::Frame, -4, 7);
        asm.store(Size::Eight, Register::Frame, -16, Register::R6);
        asm.add_to_memory(Register::R9, 16, Register::R1);
        asm.call(Call::MonotonicNs);
        asm.bind(out);
        asm.exit();
        let bytes: Vec<u64> = asm.finish().unwrap().into_iter().map(word).collect();
        assert_eq!(
            bytes,
            [
                0x0000_0000_0008_1679,
                0x0000_0000_0005_0615,
                0x0000_0000_0000_260f,
                0x0000_0007_fffc_0a62,
                0x0000_0000_fff0_6a7b,
                0x0000_0000_0010_19db,
                0x0000_0005_0000_0085,
                0x0000_0000_0000_00b7,
                0x0000_0000_0000_0095,
            ]
        );
    }

    fn word(instruction: Instruction) -> u64 {
        let Instruction { code, registers, offset, number } = instruction;
        u64::from(code)
            | u64::from(registers) << 8
            | u64::from(offset as u16) << 16
            | u64::from(number as u32) << 32
    }

    #[test]
    fn a_label_that_is_nowhere_is_no_program() {
        let mut asm = Assembler::default();
        let nowhere = asm.label();
        asm.go_to(nowhere);
        assert!(asm.finish().is_none());
    }
}
