//! The programs that run in the kernel for each request to a watched device: when it enters the
//! scheduler's queue, when it is merged into another there, when it is handed to the driver, when
//! it is completed.
//!
//! ```text
//! entered    who asked?  -> in flight[request]
//! merged     forgotten: it is freed, and is never issued nor completed
//! issued     who asked, where it entered no queue; what, where, how much, when
//! completed  latency = now - issued -> cells[device, kind, owner].slots[latency], log
//! ```
//!
//! A request is identified by its address: two requests for the same sector are different. Its
//! entry in the table of requests in flight stays when it is completed: the block layer uses the
//! same requests again and again, and finding an entry is several times cheaper than adding and
//! removing one.

use super::assembler::{Assembler, Call, Do, If, Label, Register, Size};
use super::layout::{Layout, Moment};
use super::maps::{Counts, Event, InFlight, KINDS, LossCause, Maps, OWNERS, SLOTS};
use super::system::{Instruction, Map};
use super::watched::Watched;
use Register::{Frame, R0, R1, R2, R3, R4, R6, R7, R8, R9};
use kvdyno_record::blockio::{IoKind, IoOwner};
use std::mem::offset_of;

/// The inputs for assembling a program.
pub(super) struct Source<'s> {
    pub(super) layout: &'s Layout,
    pub(super) devices: &'s [Watched],
    pub(super) maps: &'s Maps,
}

/// Places on the stack, counted from its end: a request's address; a number of 32 bits; an entry or
/// an event.
const ADDRESS: i16 = -8;
const NUMBER: i16 = -16;
const RECORD: i16 = NUMBER - size_of::<InFlight>() as i16;

const _: () = assert!(size_of::<Event>() <= size_of::<InFlight>());

/// `PF_KTHREAD`: a thread of the kernel (include/linux/sched.h).
const KERNEL_THREAD: i32 = 0x0020_0000;

/// The bits of a request's flags that are its operation, and operations by number (`enum req_op`):
/// the same since Linux 4.10.
const OPERATION: i32 = 0xff;
const READ: i32 = 0;
const WRITE: i32 = 1;
const FLUSH: i32 = 2;
const DISCARD: i32 = 3;
const SECURE_ERASE: i32 = 5;
const WRITE_ZEROES: i32 = 9;

/// `BPF_RB_NO_WAKEUP`: the reader polls, and needs no wake-up.
const NO_WAKEUP: i32 = 1;

impl Source<'_> {
    /// The program for this moment; `None` where it would be too long.
    pub(super) fn assemble(&self, moment: Moment) -> Option<Vec<Instruction>> {
        let mut asm = Assembler::default();
        let request = self.layout.tracepoint(moment).request;
        let argument = |number: usize| (8 * number) as i16;
        // R6: the request.
        asm.load(Size::Eight, R6, R1, argument(request));
        match moment {
            Moment::Entered | Moment::Issued => self.assemble_start(&mut asm, moment),
            Moment::Merged => self.assemble_merge(&mut asm),
            Moment::Completed => {
                // R9: the bytes completed.
                asm.load(Size::Eight, R9, R1, argument(request + 2));
                self.assemble_completion(&mut asm);
            }
        }
        asm.finish()
    }

    /// A request enters a queue or is handed to the driver.
    fn assemble_start(&self, asm: &mut Assembler, moment: Moment) {
        let (end, is_known, asker_known) = (asm.label(), asm.label(), asm.label());
        self.device_of_request(asm, end);
        self.find_in_flight(asm);
        asm.jump(If::NotEqual, R0, 0, is_known);
        self.add_in_flight(asm, end);
        asm.bind(is_known);
        // R7: its entry. A request that is issued again because the driver was busy keeps its
        // requesting process: this time a thread of the kernel issues it.
        asm.set(R7, R0);
        asm.load(Size::Eight, R1, R7, to_offset(offset_of!(InFlight, issued_ns)));
        asm.jump(If::NotEqual, R1, 0, asker_known);
        if moment == Moment::Issued {
            asm.load(Size::Four, R1, R7, to_offset(offset_of!(InFlight, entered)));
            asm.jump(If::NotEqual, R1, 0, asker_known);
        } else {
            asm.store(Size::Four, R7, to_offset(offset_of!(InFlight, entered)), 1);
        }
        self.note_asker(asm);
        asm.bind(asker_known);
        if moment == Moment::Issued {
            self.note_request(asm);
            asm.call(Call::MonotonicNs);
            asm.store(Size::Eight, R7, to_offset(offset_of!(InFlight, issued_ns)), R0);
        }
        asm.bind(end);
        asm.exit();
    }

    /// A request is merged into another and freed: the next request at its address may come from
    /// another process.
    fn assemble_merge(&self, asm: &mut Assembler) {
        let end = asm.label();
        self.find_in_flight(asm);
        asm.jump(If::Equal, R0, 0, end);
        asm.set(R7, R0);
        reset_entry(asm);
        asm.bind(end);
        asm.exit();
    }

    /// A request is completed, in full or in part.
    fn assemble_completion(&self, asm: &mut Assembler) {
        let (end, unseen) = (asm.label(), asm.label());
        asm.calculate(Do::ShiftLeft, R9, 32);
        asm.calculate(Do::ShiftRight, R9, 32);
        asm.load(Size::Four, R1, R6, self.layout.bytes);
        asm.jump(If::Above, R1, R9, end);
        self.find_in_flight(asm);
        asm.jump(If::Equal, R0, 0, unseen);
        asm.set(R7, R0);
        asm.load(Size::Eight, R8, R7, to_offset(offset_of!(InFlight, issued_ns)));
        // The entry is reset even if the issue was not seen: the next request must not inherit it.
        reset_entry(asm);
        asm.jump(If::Equal, R8, 0, unseen);
        // R8: its latency.
        asm.call(Call::MonotonicNs);
        asm.calculate(Do::Subtract, R0, R8);
        asm.set(R8, R0);
        self.count(asm, end);
        if let Some(log) = &self.maps.log {
            self.log(asm, log);
        }
        asm.go_to(end);
        asm.bind(unseen);
        self.count_unseen(asm, end);
        asm.bind(end);
        asm.exit();
    }

    /// R8: the number of the watched device that the request is for. A partition is found by the
    /// sector; a flush is for the whole disk.
    fn device_of_request(&self, asm: &mut Assembler, not_watched: Label) {
        asm.set(R1, R6);
        for step in &self.layout.to_disk {
            asm.load(Size::Eight, R1, R1, *step);
        }
        asm.load(Size::Four, R2, R1, self.layout.major);
        asm.load(Size::Four, R3, R1, self.layout.first_minor);
        asm.load(Size::Eight, R4, R6, self.layout.sector);
        let done = asm.label();
        for (number, device) in self.devices.iter().enumerate() {
            let next = asm.label();
            asm.set(R8, number as i32);
            asm.jump(If::NotEqual, R2, device.number.0 as i32, next);
            asm.jump(If::NotEqual, R3, device.number.1 as i32, next);
            if let Some(sectors) = &device.sectors {
                asm.load(Size::Four, R1, R6, self.layout.flags);
                asm.calculate(Do::And, R1, OPERATION);
                asm.jump(If::Equal, R1, FLUSH, done);
                asm.set_wide(R1, sectors.start);
                asm.jump(If::Below, R4, R1, next);
                asm.set_wide(R1, sectors.end);
                asm.jump(If::AtLeast, R4, R1, next);
            }
            asm.go_to(done);
            asm.bind(next);
        }
        asm.go_to(not_watched);
        asm.bind(done);
    }

    /// R0: the entry of the request in R6, or 0.
    fn find_in_flight(&self, asm: &mut Assembler) {
        asm.store(Size::Eight, Frame, ADDRESS, R6);
        look_up(asm, &self.maps.in_flight, ADDRESS);
    }

    /// Adds an entry for the request whose address is on the stack. R0: the entry.
    fn add_in_flight(&self, asm: &mut Assembler, end: Label) {
        for offset in (0..size_of::<InFlight>()).step_by(8) {
            asm.store(Size::Eight, Frame, RECORD + to_offset(offset), 0);
        }
        asm.set_map(R1, &self.maps.in_flight);
        set_stack_address(asm, R2, ADDRESS);
        set_stack_address(asm, R3, RECORD);
        asm.set(R4, 0);
        asm.call(Call::MapUpdate);
        let added = asm.label();
        asm.jump(If::Equal, R0, 0, added);
        self.count_lost(asm, LossCause::Full);
        asm.go_to(end);
        asm.bind(added);
        self.find_in_flight(asm);
        asm.jump(If::Equal, R0, 0, end);
    }

    /// Writes the running process and its owner into the entry in R7.
    fn note_asker(&self, asm: &mut Assembler) {
        let is_known = asm.label();
        asm.call(Call::CurrentIds);
        asm.calculate(Do::ShiftRight, R0, 32);
        asm.store(Size::Four, R7, to_offset(offset_of!(InFlight, process)), R0);
        asm.store(Size::Four, Frame, NUMBER, R0);
        asm.store(Size::Four, R7, to_offset(offset_of!(InFlight, owner)), IoOwner::Ours as i32);
        look_up(asm, &self.maps.ours, NUMBER);
        asm.jump(If::NotEqual, R0, 0, is_known);
        asm.store(Size::Four, R7, to_offset(offset_of!(InFlight, owner)), IoOwner::Kernel as i32);
        asm.call(Call::CurrentTask);
        asm.load(Size::Four, R1, R0, self.layout.task_flags);
        asm.jump(If::AnyBitOf, R1, KERNEL_THREAD, is_known);
        asm.store(Size::Four, R7, to_offset(offset_of!(InFlight, owner)), IoOwner::Foreign as i32);
        asm.bind(is_known);
        if self.maps.log.is_some() {
            asm.set(R1, R7);
            asm.calculate(Do::Add, R1, offset_of!(InFlight, name) as i32);
            asm.set(R2, 16);
            asm.call(Call::CurrentName);
        }
    }

    /// Writes the properties of the request in R6, for the device in R8, into the entry in R7.
    fn note_request(&self, asm: &mut Assembler) {
        asm.load(Size::Eight, R1, R6, self.layout.sector);
        asm.store(Size::Eight, R7, to_offset(offset_of!(InFlight, sector)), R1);
        asm.load(Size::Four, R1, R6, self.layout.bytes);
        asm.store(Size::Four, R7, to_offset(offset_of!(InFlight, bytes)), R1);
        asm.load(Size::Four, R1, R6, self.layout.flags);
        let not_fua = asm.label();
        asm.store(Size::Four, R7, to_offset(offset_of!(InFlight, fua)), 0);
        asm.set(R2, R1);
        asm.calculate(Do::And, R2, self.layout.fua);
        asm.jump(If::Equal, R2, 0, not_fua);
        asm.store(Size::Four, R7, to_offset(offset_of!(InFlight, fua)), 1);
        asm.bind(not_fua);
        self.kind_of_flags(asm);
        // The cell of device R8, kind R2 and owner.
        asm.calculate(Do::Multiply, R8, KINDS as i32);
        asm.calculate(Do::Add, R8, R2);
        asm.calculate(Do::Multiply, R8, OWNERS as i32);
        asm.load(Size::Four, R1, R7, to_offset(offset_of!(InFlight, owner)));
        asm.calculate(Do::Add, R8, R1);
        asm.store(Size::Four, R7, to_offset(offset_of!(InFlight, cell)), R8);
    }

    /// R2: the kind of a request with the flags in R1.
    fn kind_of_flags(&self, asm: &mut Assembler) {
        let done = asm.label();
        asm.set(R3, R1);
        asm.calculate(Do::And, R3, OPERATION);
        let special = [
            (FLUSH, IoKind::Flush),
            (DISCARD, IoKind::Discard),
            (SECURE_ERASE, IoKind::Discard),
            (WRITE_ZEROES, IoKind::Discard),
        ];
        for (operation, kind) in special {
            asm.set(R2, kind as i32);
            asm.jump(If::Equal, R3, operation, done);
        }
        asm.set(R2, IoKind::Other as i32);
        asm.jump(If::Above, R3, WRITE, done);
        asm.set(R2, IoKind::Metadata as i32);
        asm.jump(If::AnyBitOf, R1, self.layout.meta, done);
        asm.set(R2, IoKind::Read as i32);
        asm.jump(If::Equal, R3, READ, done);
        asm.set(R2, IoKind::Write as i32);
        asm.bind(done);
    }

    /// Counts the request of the entry in R7 with the latency in R8.
    fn count(&self, asm: &mut Assembler, end: Label) {
        asm.load(Size::Four, R1, R7, to_offset(offset_of!(InFlight, cell)));
        asm.store(Size::Four, Frame, NUMBER, R1);
        look_up(asm, &self.maps.cells, NUMBER);
        asm.jump(If::Equal, R0, 0, end);
        asm.set(R1, 1);
        asm.add_to_memory(R0, to_offset(offset_of!(Counts, count)), R1);
        asm.load(Size::Four, R1, R7, to_offset(offset_of!(InFlight, bytes)));
        asm.add_to_memory(R0, to_offset(offset_of!(Counts, bytes)), R1);
        asm.add_to_memory(R0, to_offset(offset_of!(Counts, latency_ns)), R8);
        asm.load(Size::Four, R1, R7, to_offset(offset_of!(InFlight, fua)));
        asm.add_to_memory(R0, to_offset(offset_of!(Counts, fua)), R1);
        slot_of_latency(asm);
        asm.calculate(Do::ShiftLeft, R2, 3);
        asm.calculate(Do::Add, R0, R2);
        asm.set(R1, 1);
        asm.add_to_memory(R0, to_offset(offset_of!(Counts, slots)), R1);
    }

    /// Sends the request of the entry in R7, with the latency in R8, to the log.
    fn log(&self, asm: &mut Assembler, log: &Map) {
        asm.call(Call::MonotonicNs);
        asm.store(Size::Eight, Frame, RECORD + to_offset(offset_of!(Event, completed_ns)), R0);
        asm.store(Size::Eight, Frame, RECORD + to_offset(offset_of!(Event, latency_ns)), R8);
        let name = (offset_of!(InFlight, name), offset_of!(Event, name));
        let eight = [
            (offset_of!(InFlight, sector), offset_of!(Event, sector)),
            name,
            (name.0 + 8, name.1 + 8),
        ];
        let four = [
            (offset_of!(InFlight, bytes), offset_of!(Event, bytes)),
            (offset_of!(InFlight, cell), offset_of!(Event, cell)),
            (offset_of!(InFlight, fua), offset_of!(Event, fua)),
            (offset_of!(InFlight, process), offset_of!(Event, process)),
        ];
        let sized = eight.map(|pair| (Size::Eight, pair)).into_iter();
        for (size, (from, to)) in sized.chain(four.map(|pair| (Size::Four, pair))) {
            asm.load(size, R1, R7, to_offset(from));
            asm.store(size, Frame, RECORD + to_offset(to), R1);
        }
        asm.set_map(R1, log);
        set_stack_address(asm, R2, RECORD);
        asm.set(R3, size_of::<Event>() as i32);
        asm.set(R4, NO_WAKEUP);
        asm.call(Call::RingOutput);
        let logged = asm.label();
        asm.jump(If::Equal, R0, 0, logged);
        self.count_lost(asm, LossCause::Log);
        asm.bind(logged);
    }

    /// Counts a request for a watched device as lost: its start was not seen. A write with a flush
    /// is completed a second time, without bytes, when the flush is done: that is not lost.
    fn count_unseen(&self, asm: &mut Assembler, end: Label) {
        self.device_of_request(asm, end);
        let lost = asm.label();
        asm.load(Size::Four, R1, R6, self.layout.flags);
        asm.calculate(Do::And, R1, OPERATION);
        asm.jump(If::Equal, R1, FLUSH, lost);
        asm.jump(If::Equal, R9, 0, end);
        asm.bind(lost);
        self.count_lost(asm, LossCause::Unseen);
    }

    /// Adds 1 to the losses by this cause.
    fn count_lost(&self, asm: &mut Assembler, to: LossCause) {
        let gone = asm.label();
        asm.store(Size::Four, Frame, NUMBER, to as i32);
        look_up(asm, &self.maps.lost, NUMBER);
        asm.jump(If::Equal, R0, 0, gone);
        asm.set(R1, 1);
        asm.add_to_memory(R0, 0, R1);
        asm.bind(gone);
    }
}

/// R2: the slot of the latency in R8. The highest bit that is set is found by halving; the three
/// after it choose one of eight.
fn slot_of_latency(asm: &mut Assembler) {
    let (small, done) = (asm.label(), asm.label());
    asm.set(R2, R8);
    asm.jump(If::Below, R8, 8, done);
    // R2: the bits above bit 3; R3: the shift.
    asm.set(R3, 0);
    for bits in [32, 16, 8, 4, 2, 1] {
        let below = asm.label();
        asm.set(R1, R2);
        asm.calculate(Do::ShiftRight, R1, bits + 3);
        asm.jump(If::Equal, R1, 0, below);
        asm.calculate(Do::ShiftRight, R2, bits);
        asm.calculate(Do::Add, R3, bits);
        asm.bind(below);
    }
    asm.calculate(Do::ShiftLeft, R3, 3);
    asm.calculate(Do::Add, R2, R3);
    asm.bind(done);
    asm.jump(If::Below, R2, SLOTS as i32, small);
    asm.set(R2, SLOTS as i32 - 1);
    asm.bind(small);
}

/// Marks the entry in R7 as not in flight, so that its requesting process is set again.
fn reset_entry(asm: &mut Assembler) {
    asm.store(Size::Eight, R7, to_offset(offset_of!(InFlight, issued_ns)), 0);
    asm.store(Size::Four, R7, to_offset(offset_of!(InFlight, entered)), 0);
}

/// R0: the address of the value for the key at this place on the stack, or 0.
fn look_up(asm: &mut Assembler, map: &Map, key: i16) {
    asm.set_map(R1, map);
    set_stack_address(asm, R2, key);
    asm.call(Call::MapLookup);
}

/// Sets a register to the address of a place on the stack.
fn set_stack_address(asm: &mut Assembler, to: Register, offset: i16) {
    asm.set(to, Frame);
    asm.calculate(Do::Add, to, i32::from(offset));
}

/// The offset of a field, as in instructions.
const fn to_offset(offset: usize) -> i16 {
    offset as i16
}
