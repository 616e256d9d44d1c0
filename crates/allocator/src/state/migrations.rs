//! The schema, as the steps that lead to it. A step that was released is never changed: add another.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

/// "hpol": tells our files from other SQLite databases (PRAGMA application_id).
pub(super) const APPLICATION_ID: u32 = 0x6870_6f6c;

/// Step n leads from schema version n to n + 1.
pub(super) const MIGRATIONS: &[&str] = &["CREATE TABLE identity (
         id_key BLOB NOT NULL,
         boot_id TEXT
     ) STRICT;
     CREATE TABLE budget (
         name TEXT PRIMARY KEY,
         reserve INTEGER,
         requested INTEGER,
         fraction REAL,
         ranks INTEGER NOT NULL,
         size INTEGER,
         admission_closed INTEGER NOT NULL
     ) STRICT, WITHOUT ROWID;
     CREATE TABLE reservation (
         id INTEGER PRIMARY KEY,
         budget TEXT NOT NULL,
         rank INTEGER,
         bytes INTEGER NOT NULL,
         mapped INTEGER NOT NULL,
         backing TEXT NOT NULL,
         hugepage_size INTEGER,
         node INTEGER,
         holder TEXT NOT NULL,
         pid INTEGER,
         start_time INTEGER,
         baseline_ordinary INTEGER,
         baseline_hugepages INTEGER,
         state TEXT NOT NULL,
         created_at_ms INTEGER NOT NULL,
         expires_at_ms INTEGER,
         deadline_ns INTEGER,
         ended_at_ms INTEGER,
         ended_order INTEGER UNIQUE
     ) STRICT;
     CREATE TABLE entry (
         kind TEXT NOT NULL,
         number INTEGER NOT NULL,
         name TEXT,
         specification TEXT NOT NULL,
         created_at_ms INTEGER NOT NULL,
         PRIMARY KEY (kind, number)
     ) STRICT, WITHOUT ROWID;
     CREATE TABLE last_number (
         kind TEXT PRIMARY KEY,
         number INTEGER NOT NULL
     ) STRICT, WITHOUT ROWID;
     CREATE TABLE answer (
         answer_order INTEGER PRIMARY KEY AUTOINCREMENT,
         operation TEXT NOT NULL,
         key TEXT NOT NULL,
         request TEXT NOT NULL,
         result TEXT NOT NULL,
         UNIQUE (operation, key)
     ) STRICT;"];

/// The version that the steps lead to.
pub(super) fn latest(migrations: &[&str]) -> u32 {
    u32::try_from(migrations.len()).unwrap_or(u32::MAX)
}

/// Brings the schema from version `from` to the latest, each step whole or not at all. What an older hostpool left is
/// copied beside it first.
pub(super) fn migrate(
    connection: &mut Connection,
    path: &Path,
    migrations: &[&str],
    from: u32,
) -> rusqlite::Result<()> {
    let steps = (1_u32..).zip(migrations).skip(usize::try_from(from).unwrap_or(usize::MAX));
    for (version, step) in steps {
        if version == from + 1 && from > 0 {
            copy_aside(connection, path, from)?;
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "user_version", version)?;
        transaction.commit()?;
    }
    Ok(())
}

fn copy_aside(connection: &Connection, path: &Path, version: u32) -> rusqlite::Result<()> {
    let copy = path.with_extension(format!("version-{version}.sqlite3"));
    if copy.exists() {
        return Ok(());
    }
    connection.execute("VACUUM INTO ?1", [copy.to_string_lossy()]).map(drop)
}
