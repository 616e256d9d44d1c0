//! The state on disk: one SQLite database, written by one thread.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use rustix::rand::{GetRandomFlags, getrandom};

use super::clock::boot_id;
use super::error::StateError;
use super::folder::Folder;
use super::load::Saved;
use super::migrations::{APPLICATION_ID, MIGRATIONS, latest, migrate};
use super::record::Change;
use super::store::{Store, Ticket};
use super::writer::Writer;
use crate::sync::{Mutex, lock};

/// What the file is called in its folder. While it is open SQLite keeps its log beside it, in a file ending in -wal.
pub const FILE_NAME: &str = "hostpool.sqlite3";

/// SQLite's file header: <https://www.sqlite.org/fileformat.html>.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
const USER_VERSION_AT: usize = 60;
const APPLICATION_ID_AT: usize = 68;
const HEADER_BYTES: usize = 100;
/// The key that ids are signed with (HMAC-SHA-256).
const ID_KEY_BYTES: usize = 32;

/// The open state file. Dropping it, or closing it, puts everything into the one file.
#[derive(Debug)]
pub struct StateFile {
    path: PathBuf,
    writer: Mutex<Option<Writer>>,
    /// Held for its lock, which ends last.
    _folder: Folder,
}

impl StateFile {
    /// Opens the state in `folder`, making both where there is none, and reads what it holds. Blocks.
    ///
    /// # Errors
    /// [`StateError`]; a file that is not ours, not whole or not understood is left as it is.
    pub fn open(folder: &Path) -> Result<(Self, Saved), StateError> {
        Self::open_with(folder, MIGRATIONS)
    }

    pub(super) fn open_with(folder: &Path, migrations: &[&str]) -> Result<(Self, Saved), StateError> {
        let locked = Folder::open(folder)?;
        let path = folder.join(FILE_NAME);
        if !is_there(&path)? {
            create(&locked, &path, migrations)?;
        }
        check_header(&path, latest(migrations))?;
        let (connection, saved) = connect(&path, migrations)?;
        let writer =
            Writer::start(connection, &path, saved.ended_order).map_err(|error| unusable(&path, &error))?;
        Ok((Self { path, writer: Mutex::new(Some(writer)), _folder: locked }, saved))
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes what is in line, puts everything into the one file and closes it. Nothing is kept from here on. Blocks.
    pub fn close(&self) {
        drop(lock(&self.writer).take());
    }
}

impl Store for StateFile {
    fn enqueue(&self, changes: Vec<Change>) -> Ticket {
        if changes.is_empty() {
            return Ticket::nothing();
        }
        match &*lock(&self.writer) {
            Some(writer) => writer.enqueue(changes),
            None => Ticket::refused(&self.path, "it is closed: hostpool is shutting down"),
        }
    }
}

fn unusable(path: &Path, error: &std::io::Error) -> StateError {
    StateError::Unusable { path: path.to_owned(), detail: error.to_string() }
}

/// Whether the file is there. Its log without it is what a careless copy leaves, and holds changes that were acknowledged;
/// an empty one is what SQLite leaves beside a file that was looked at and refused.
fn is_there(path: &Path) -> Result<bool, StateError> {
    let length = |path: &Path| match fs::metadata(path) {
        Ok(found) => Ok(Some(found.len())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unusable(path, &error)),
    };
    if length(path)?.is_some() {
        return Ok(true);
    }
    if length(&path.with_extension("sqlite3-wal"))?.is_some_and(|length| length > 0) {
        let detail = "it is missing, but its log, the file ending in -wal, is there".to_owned();
        return Err(StateError::Damaged { path: path.to_owned(), detail });
    }
    Ok(false)
}

/// Makes a whole file under another name and renames it: a crash leaves no half file, and no empty one.
fn create(folder: &Folder, path: &Path, migrations: &[&str]) -> Result<(), StateError> {
    let unusable = |error: std::io::Error| unusable(path, &error);
    let draft = path.with_extension("sqlite3-new");
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(unusable(error)),
        _ => {}
    }
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft).map_err(unusable)?;
    let mut id_key = [0; ID_KEY_BYTES];
    getrandom(&mut id_key, GetRandomFlags::empty()).map_err(|errno| unusable(errno.into()))?;
    fill(&draft, migrations, &id_key).map_err(|error| {
        let _ = fs::remove_file(&draft);
        StateError::of(path, &error)
    })?;
    made.sync_all().map_err(unusable)?;
    fs::rename(&draft, path).map_err(unusable)?;
    folder.sync().map_err(unusable)
}

fn fill(draft: &Path, migrations: &[&str], id_key: &[u8]) -> rusqlite::Result<()> {
    let mut connection = Connection::open(draft)?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    migrate(&mut connection, draft, migrations, 0)?;
    connection.execute("INSERT INTO identity (id_key) VALUES (?1)", [id_key])?;
    connection.close().map_err(|(_, error)| error)
}

/// Looks at the bytes before SQLite does: it would take an empty file for a new one.
fn check_header(path: &Path, known: u32) -> Result<(), StateError> {
    let unusable = |error: std::io::Error| unusable(path, &error);
    let mut header = Vec::with_capacity(HEADER_BYTES);
    let file = File::open(path).map_err(unusable)?;
    file.take(HEADER_BYTES as u64).read_to_end(&mut header).map_err(unusable)?;
    if header.is_empty() {
        return Err(StateError::Empty { path: path.to_owned() });
    }
    let number_at = |at: usize| header.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes);
    let ours = header.starts_with(MAGIC) && number_at(APPLICATION_ID_AT) == Some(APPLICATION_ID);
    let version = number_at(USER_VERSION_AT).filter(|_| ours);
    match version {
        None | Some(0) => Err(StateError::Foreign { path: path.to_owned() }),
        Some(found) if found > known => Err(StateError::Newer { path: path.to_owned(), found, known }),
        Some(_) => Ok(()),
    }
}

fn connect(path: &Path, migrations: &[&str]) -> Result<(Connection, Saved), StateError> {
    let opened = |error: rusqlite::Error| StateError::of(path, &error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(opened)?;
    // Until it has been looked at, closing it again must not write its log into it.
    let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(opened)?;
    if connection.is_readonly("main").map_err(opened)? {
        let detail = "it is read-only".to_owned();
        return Err(StateError::Unusable { path: path.to_owned(), detail });
    }
    configure(&connection).map_err(opened)?;
    let version = version(&connection, path, latest(migrations))?;
    check_whole(&connection, path)?;
    migrate(&mut connection, path, migrations, version).map_err(opened)?;
    let boot_id = boot_id().map_err(|error| unusable(path, &error))?;
    let mut saved = Saved::load(&connection, &boot_id).map_err(opened)?;
    saved.enter_boot(&mut connection, &boot_id).map_err(opened)?;
    let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false).map_err(opened)?;
    Ok((connection, saved))
}

/// Each commit is in the log and synced before it returns (synchronous FULL); alone with the file, the log's index needs
/// no file of its own (locking_mode EXCLUSIVE).
fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "journal_size_limit", 4_194_304)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "trusted_schema", false)
}

/// The version of the schema, log included: a newer hostpool that was killed may have left it there alone.
fn version(connection: &Connection, path: &Path, known: u32) -> Result<u32, StateError> {
    let found = connection.pragma_query_value(None, "user_version", |row| row.get(0));
    match found.map_err(|error| StateError::of(path, &error))? {
        found if found > known => Err(StateError::Newer { path: path.to_owned(), found, known }),
        found => Ok(found),
    }
}

fn check_whole(connection: &Connection, path: &Path) -> Result<(), StateError> {
    let verdict: String = connection
        .query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))
        .map_err(|error| StateError::of(path, &error))?;
    if verdict == "ok" {
        return Ok(());
    }
    let detail = verdict.lines().collect::<Vec<_>>().join(" ");
    Err(StateError::Damaged { path: path.to_owned(), detail })
}
