//! The table of reservations and its watcher, in every order of their steps and their callers'.

mod bench;
mod ends;
mod grants;
