//! Memory that the system does not give, as under `ulimit -v`: a program that asks for it is ended by its language, with nothing told of
//! what it has found. Here who asks waits instead, until the [guard](crate::guard) has told and ended the process.
#![allow(unsafe_code)]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::Duration,
};

/// How often a guard is given time to end the process, and for how long. After that it will not come.
const TIMES: u32 = 300;
const PAUSE: Duration = Duration::from_millis(10);
/// Addresses that a guard keeps for what it has to say.
const RESERVE: usize = 8 << 20;

/// The system's own allocator; who is given nothing waits.
struct WaitingAllocator;

#[global_allocator]
static ALLOCATOR: WaitingAllocator = WaitingAllocator;

/// Whether somebody was given nothing.
static REFUSED: AtomicBool = AtomicBool::new(false);
/// How many guards there are. Without one nobody waits.
static GUARDS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static IS_GUARD: Cell<bool> = const { Cell::new(false) };
}

// SAFETY: each call goes to `System` as it is, and what that gives is given. Waiting takes no memory, and happens before the caller
// hears that there is none.
unsafe impl GlobalAlloc for WaitingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps to what `System` asks for.
        given(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        given(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        given(unsafe { System.realloc(memory, layout, size) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[inline]
fn given(memory: *mut u8) -> *mut u8 {
    if memory.is_null() {
        wait();
    }
    memory
}

#[cold]
fn wait() {
    if GUARDS.load(Ordering::Acquire) == 0 || IS_GUARD.try_with(Cell::get) != Ok(false) {
        return;
    }
    REFUSED.store(true, Ordering::Release);
    (0..TIMES).for_each(|_| thread::sleep(PAUSE));
}

/// A thread that ends the process where memory is refused: it looks at [`AllocationGuard::refused`] again and again.
pub(crate) struct AllocationGuard(Vec<u8>);

impl AllocationGuard {
    /// There will be a guard: who is refused memory waits for it from now on.
    pub(crate) fn announced() -> AllocationGuard {
        let mut reserve = Vec::new();
        // What is not there cannot be kept.
        let _ = reserve.try_reserve_exact(RESERVE);
        GUARDS.fetch_add(1, Ordering::AcqRel);
        AllocationGuard(reserve)
    }

    /// This thread is the guard, which is refused memory without waiting.
    pub(crate) fn begin(&self) {
        IS_GUARD.set(true);
    }

    /// Whether somebody waits. If so, what was kept is free.
    pub(crate) fn refused(&mut self) -> bool {
        let refused = REFUSED.load(Ordering::Acquire);
        if refused {
            self.0 = Vec::new();
        }
        refused
    }
}

impl Drop for AllocationGuard {
    fn drop(&mut self) {
        GUARDS.fetch_sub(1, Ordering::AcqRel);
    }
}
