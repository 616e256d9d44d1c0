//! Locks, atomics and threads: std's; loom's when the models run (`--cfg loom`), which try every order of their steps.
//! (Scoped threads, which loom does not have, `memory::prefault` takes from std.)
//!
//! A lock here outlives a panic: every critical section leaves its data whole, so a poisoned lock is still good.

#[cfg(loom)]
pub(crate) use loom::{
    sync::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic},
    thread,
};
// loom's own cannot be the receiver of a method (`self: &Arc<Self>`); nothing here decides by a count of references.
pub(crate) use std::sync::Arc;
#[cfg(not(loom))]
pub(crate) use std::{
    sync::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic},
    thread,
};

use std::sync::PoisonError;

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

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

/// Lets go of the lock until `condition` is told of, and takes it again.
pub(crate) fn wait<'a, T>(condition: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condition.wait(guard).unwrap_or_else(PoisonError::into_inner)
}
