//! Memory that this process and a program share, because both map the same file.
#![expect(unsafe_code, reason = "memory that another process changes")]

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::thread::futex;

/// Mapped memory. Another process may change it at any time, so there are no references to its
/// bytes: words are atomic, and bytes are copied.
pub(crate) struct SharedMemory {
    start: NonNull<AtomicU32>,
    len: usize,
}

impl SharedMemory {
    /// Map the first `len` bytes of a file, which must not be shorter.
    pub(crate) fn map(file: &File, len: usize) -> io::Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses an address that nothing else uses.
        let start = unsafe { mmap(null_mut(), len, access, MapFlags::SHARED, file, 0)? };
        let start = NonNull::new(start.cast::<AtomicU32>()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, len })
    }

    pub(crate) fn load(&self, at: usize) -> u32 {
        self.word(at).load(Ordering::SeqCst)
    }

    pub(crate) fn store(&self, at: usize, value: u32) {
        self.word(at).store(value, Ordering::SeqCst);
    }

    /// Store a value, and return the previous one.
    pub(crate) fn swap(&self, at: usize, value: u32) -> u32 {
        self.word(at).swap(value, Ordering::SeqCst)
    }

    /// Change a word, and wake a process that sleeps on it.
    pub(crate) fn bump(&self, at: usize) {
        let word = self.word(at);
        word.fetch_add(1, Ordering::SeqCst);
        // A process that is about to sleep checks the word first, so it sees the change.
        let _unseen = futex::wake(word, futex::Flags::empty(), 1);
    }

    pub(crate) fn read(&self, at: usize, bytes: &mut [u8]) {
        self.check(at, bytes.len());
        // SAFETY: both ranges have the same length, and memory of our own does not overlap the
        // mapping. If the other process changes bytes during the copy, only the copied values are
        // undefined.
        unsafe {
            let from = self.start.as_ptr().cast::<u8>().add(at);
            from.copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len());
        }
    }

    pub(crate) fn write(&self, at: usize, bytes: &[u8]) {
        self.check(at, bytes.len());
        // SAFETY: as for `read`.
        unsafe {
            let to = self.start.as_ptr().cast::<u8>().add(at);
            to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
    }

    fn word(&self, at: usize) -> &AtomicU32 {
        self.check(at, size_of::<AtomicU32>());
        assert!(at.is_multiple_of(align_of::<AtomicU32>()), "a word is aligned");
        // SAFETY: the word lies in the mapping, which begins at a page and lives as long as `self`.
        unsafe { self.start.add(at / size_of::<AtomicU32>()).as_ref() }
    }

    fn check(&self, at: usize, len: usize) {
        let end = at.checked_add(len);
        assert!(end.is_some_and(|end| end <= self.len), "within the memory");
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and no reference to it is left.
        let _unseen = unsafe { munmap(self.start.as_ptr().cast::<c_void>(), self.len) };
    }
}
