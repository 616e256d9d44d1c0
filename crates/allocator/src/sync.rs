//! Locks, atomics and threads: std's; loom's when the models run (`--cfg loom`), which try every order of their steps.
//! (Scoped threads, which loom does not have, `memory::prefault` takes from std.) Under ThreadSanitizer (`--cfg tsan`) locks
//! are parking_lot's: std comes compiled without it, so that what std's own locks order would look like a race.
//!
//! A lock here outlives a panic: every critical section leaves its data whole, so a poisoned lock is still good.

#[cfg(loom)]
pub(crate) use loom::{
    sync::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic},
    thread,
};
// loom's own cannot be the receiver of a method (`self: &Arc<Self>`); nothing here decides by a count of references.
pub(crate) use std::sync::Arc;
#[cfg(not(any(loom, tsan)))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
#[cfg(not(loom))]
pub(crate) use std::{sync::atomic, thread};

#[cfg(tsan)]
pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A `static` that loom makes anew for each order that it tries.
#[cfg(not(loom))]
macro_rules! process_wide {
    ($(#[$doc:meta])* static $name:ident: $type:ty = $value:expr;) => {
        $(#[$doc])* static $name: $type = $value;
    };
}
#[cfg(loom)]
macro_rules! process_wide {
    ($(#[$doc:meta])* static $name:ident: $type:ty = $value:expr;) => {
        loom::lazy_static! { $(#[$doc])* static ref $name: $type = $value; }
    };
}
pub(crate) use process_wide;

#[cfg(not(tsan))]
pub(crate) use poisonable::{lock, read, try_read, wait, write};
#[cfg(tsan)]
pub(crate) use unpoisonable::{lock, read, try_read, wait, write};

#[cfg(not(tsan))]
mod poisonable {
    use std::sync::PoisonError;

    use super::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

    pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
        lock.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// `None` while somebody writes.
    pub(crate) fn try_read<T>(lock: &RwLock<T>) -> Option<RwLockReadGuard<'_, T>> {
        lock.try_read().ok()
    }

    pub(crate) fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
        lock.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets go of the lock until `condition` is told of, and takes it again.
    pub(crate) fn wait<'a, T>(condition: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        condition.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }
}

/// The same of locks that know no poison.
#[cfg(tsan)]
mod unpoisonable {
    use super::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

    pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock()
    }

    pub(crate) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
        lock.read()
    }

    pub(crate) fn try_read<T>(lock: &RwLock<T>) -> Option<RwLockReadGuard<'_, T>> {
        lock.try_read()
    }

    pub(crate) fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
        lock.write()
    }

    pub(crate) fn wait<'a, T>(condition: &Condvar, mut guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        condition.wait(&mut guard);
        guard
    }
}
