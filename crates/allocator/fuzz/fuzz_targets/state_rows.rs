//! Whatever somebody wrote into the rows of a state file, it is read or refused with a type; and what was read is read
//! alike by the next start.
#![no_main]

use std::path::Path;
use std::sync::LazyLock;
use std::time::SystemTime;

use arbitrary::Arbitrary;
use hostpool_allocator::state::{
    AnswerRecord, BudgetRecord, Change, EntryKind, EntryRecord, FILE_NAME, ReservationRecord,
    ReservationState, Saved, StateFile, Store,
};
use hostpool_allocator::{Backing, Bytes, NumaNode};
use libfuzzer_sys::fuzz_target;
use rusqlite::Connection;
use rusqlite::types::Value;

/// Every column of every table.
const COLUMNS: &[(&str, &[&str])] = &[
    ("identity", &["id_key", "boot_id"]),
    ("budget", &["name", "reserve", "requested", "fraction", "ranks", "size", "admission_closed"]),
    (
        "reservation",
        &[
            "id",
            "budget",
            "rank",
            "bytes",
            "mapped",
            "backing",
            "hugepage_size",
            "node",
            "holder",
            "pid",
            "start_time",
            "baseline_ordinary",
            "baseline_hugepages",
            "state",
            "created_at_ms",
            "expires_at_ms",
            "deadline_ns",
            "ended_at_ms",
            "ended_order",
        ],
    ),
    ("entry", &["kind", "number", "name", "specification", "created_at_ms"]),
    ("last_number", &["kind", "number"]),
    ("answer", &["answer_order", "operation", "key", "request", "result"]),
];

#[derive(Arbitrary, Debug)]
struct Edit {
    table: usize,
    column: usize,
    value: Cell,
}

#[derive(Arbitrary, Debug)]
enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
}

impl From<&Cell> for Value {
    fn from(cell: &Cell) -> Self {
        match cell {
            Cell::Null => Self::Null,
            Cell::Integer(number) => Self::Integer(*number),
            Cell::Real(number) => Self::Real(*number),
            Cell::Text(text) => Self::Text(text.clone()),
            Cell::Blob(bytes) => Self::Blob(bytes.clone()),
        }
    }
}

/// A state file with a row in every table.
static WHOLE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let (state, _) = StateFile::open(folder.path()).unwrap();
    state.enqueue(a_row_each()).wait().unwrap();
    state.close();
    std::fs::read(folder.path().join(FILE_NAME)).unwrap()
});

fn a_row_each() -> Vec<Change> {
    let text = |text: &str| text.to_owned();
    let now = SystemTime::now();
    let budget = BudgetRecord {
        name: text("job"),
        reserve: None,
        requested: Some(Bytes::mebibytes(1)),
        fraction: Some(0.5),
        ranks: 8,
        size: Some(Bytes::mebibytes(1)),
        admission_closed: false,
    };
    let reservation = ReservationRecord {
        id: 1,
        budget: text("job"),
        rank: Some(0),
        bytes: Bytes::mebibytes(1),
        mapped: Bytes::mebibytes(1),
        backing: Backing::Anonymous,
        hugepage_size: None,
        node: NumaNode::Any,
        holder: text("engine"),
        pid: None,
        process: None,
        state: ReservationState::Held,
        created_at: now,
        expires_at: None,
        deadline: None,
        ended_at: None,
    };
    let entry = EntryRecord {
        kind: EntryKind::Pool,
        number: 1,
        name: Some(text("kv")),
        specification: text("{}"),
        created_at: now,
    };
    let answer = AnswerRecord {
        operation: text("reserve"),
        key: text("k"),
        request: text("digest"),
        result: text("1"),
    };
    vec![
        Change::PutBudget(budget),
        Change::PutReservation(Box::new(reservation)),
        Change::PutEntry(entry),
        Change::PutAnswer(answer),
    ]
}

/// What the schema does not take stays as it was.
fn edit(connection: &Connection, edit: &Edit) {
    let (table, columns) = COLUMNS[edit.table % COLUMNS.len()];
    let column = columns[edit.column % columns.len()];
    let _ = connection.execute(&format!("UPDATE {table} SET {column} = ?1"), [Value::from(&edit.value)]);
}

fn read(folder: &Path) -> Option<Saved> {
    let (state, saved) = StateFile::open(folder).ok()?;
    state.close();
    Some(saved)
}

fuzz_target!(|edits: Vec<Edit>| {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let path = folder.path().join(FILE_NAME);
    std::fs::write(&path, &*WHOLE).unwrap();
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update(None, "synchronous", "OFF").unwrap();
    edits.iter().for_each(|change| edit(&connection, change));
    drop(connection);
    if read(folder.path()).is_some() {
        // The first start has ended what lived before the boot; from then on nothing changes.
        assert_eq!(read(folder.path()).unwrap(), read(folder.path()).unwrap());
    }
});
