//! Where a kernel function finds its arguments when it is called, for each kind of machine.
//!
//! A kprobe event reads registers and stack slots by name. New kernels also have `$argN`, but it
//! only reads registers and does not support 64-bit arguments on 32-bit machines.

use super::error::LiveError;

/// The size of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    /// An `int`, a pointer or a `size_t`: one register.
    Word,
    /// A `loff_t`: two registers on a 32-bit machine.
    Long,
}

/// The calling convention of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    registers: &'static [&'static str],
    /// The stack slot of the first argument that is not in a register.
    first_slot: usize,
    /// Size of a pointer in bytes.
    pub(super) word: usize,
    /// Whether a 64-bit argument begins at an even register.
    is_aligned: bool,
}

/// The known conventions, by the names that `uname -m` prints for the machines.
const LAYOUTS: [(&[&str], Layout); 5] = [
    (
        &["x86_64"],
        Layout {
            registers: &["%di", "%si", "%dx", "%cx", "%r8", "%r9"],
            first_slot: 1,
            word: 8,
            is_aligned: false,
        },
    ),
    (
        &["aarch64"],
        Layout {
            registers: &["%x0", "%x1", "%x2", "%x3", "%x4", "%x5", "%x6", "%x7"],
            first_slot: 0,
            word: 8,
            is_aligned: false,
        },
    ),
    (
        &["riscv64"],
        Layout {
            registers: &["%a0", "%a1", "%a2", "%a3", "%a4", "%a5", "%a6", "%a7"],
            first_slot: 0,
            word: 8,
            is_aligned: false,
        },
    ),
    (
        &["armv5tel", "armv5tejl", "armv6l", "armv7l", "armv8l"],
        Layout {
            registers: &["%r0", "%r1", "%r2", "%r3"],
            first_slot: 0,
            word: 4,
            is_aligned: true,
        },
    ),
    // The kernel is built with -mregparm=3. Slot 0 is the return address.
    (
        &["i386", "i486", "i586", "i686"],
        Layout { registers: &["%ax", "%dx", "%cx"], first_slot: 1, word: 4, is_aligned: false },
    ),
];

impl Layout {
    /// The convention of a machine, by the name that `uname -m` prints.
    pub(super) fn of(machine: &str) -> Result<Self, LiveError> {
        let found = LAYOUTS.iter().find(|(names, _)| names.contains(&machine));
        found
            .map(|(_, layout)| *layout)
            .ok_or_else(|| LiveError::UnknownMachine(machine.to_owned()))
    }

    /// The register or stack slot that holds the low word of each argument.
    pub(super) fn places(&self, widths: &[Width]) -> Vec<String> {
        let (mut register, mut slot) = (0, self.first_slot);
        let place = |&width| {
            let words = if width == Width::Long { 8 / self.word } else { 1 };
            if words > 1 && self.is_aligned {
                register += register % 2;
            }
            if register + words <= self.registers.len() {
                register += words;
                return self.registers[register - words].to_owned();
            }
            // Once an argument is on the stack, all further arguments are on the stack too.
            register = self.registers.len();
            slot += words;
            format!("$stack{}", slot - words)
        };
        widths.iter().map(place).collect()
    }

    /// Offsets of `len` and `ooblen` in `struct mtd_oob_ops`. The struct begins with an enum and
    /// two `size_t`, followed by `ooblen`.
    pub(super) const fn oob_ops(&self) -> (usize, usize) {
        (self.word, 3 * self.word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_where_the_conventions_have_them() {
        use Width::{Long, Word};
        let check = |machine: &str, widths: &[Width], places: &[&str]| {
            assert_eq!(Layout::of(machine).unwrap().places(widths), places, "{machine}");
        };
        let page_op = [Word, Word, Word, Word, Word];
        check("x86_64", &page_op, &["%di", "%si", "%dx", "%cx", "%r8"]);
        check("aarch64", &page_op, &["%x0", "%x1", "%x2", "%x3", "%x4"]);
        check("armv7l", &page_op, &["%r0", "%r1", "%r2", "%r3", "$stack0"]);
        check("i686", &page_op, &["%ax", "%dx", "%cx", "$stack1", "$stack2"]);
        let request = [Word, Long, Word];
        check("x86_64", &request, &["%di", "%si", "%dx"]);
        check("armv5tejl", &request, &["%r0", "%r2", "$stack0"]);
        check("i686", &request, &["%ax", "%dx", "$stack1"]);
        assert_eq!(Layout::of("aarch64").unwrap().oob_ops(), (8, 24));
        assert_eq!(Layout::of("armv7l").unwrap().oob_ops(), (4, 12));
        let error = Layout::of("vax").unwrap_err().to_string();
        assert!(error.ends_with("not known for 'vax'"), "{error}");
    }
}
