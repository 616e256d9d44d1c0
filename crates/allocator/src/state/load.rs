//! What a state file held when it was opened.

use std::collections::BTreeMap;
use std::time::SystemTime;

use rusqlite::{Connection, OptionalExtension, Result, Row, TransactionBehavior, params};

use super::record::{
    AnswerRecord, BudgetRecord, EntryKind, EntryRecord, ReservationRecord, ReservationState,
};
use super::rows;

/// Everything that was kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Saved {
    /// Budgets, by name.
    pub budgets: Vec<BudgetRecord>,
    /// Reservations by number, live and ended.
    pub reservations: Vec<ReservationRecord>,
    /// Pools and buffers, each kind by number.
    pub entries: Vec<EntryRecord>,
    /// Answers, oldest first.
    pub answers: Vec<AnswerRecord>,
    /// The last number given to a reservation.
    pub last_reservation: Option<u64>,
    /// The last number given to an entry, by kind.
    pub last_entries: BTreeMap<EntryKind, u64>,
    /// The key that ids are signed with, so that they stay good.
    pub id_key: Vec<u8>,
    /// Whether the machine has not been started again since: no process of before lives otherwise.
    pub same_boot: bool,
    /// How many reservations had ended.
    pub(super) ended_order: u64,
}

impl Saved {
    pub(super) fn load(connection: &Connection, boot_id: &str) -> Result<Self> {
        let (id_key, saved_boot): (Vec<u8>, Option<String>) =
            connection.query_row("SELECT id_key, boot_id FROM identity", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
        let mut last_entries = BTreeMap::new();
        for kind in [EntryKind::Pool, EntryKind::HostBuffer] {
            last_entries.extend(last_number(connection, kind)?.map(|number| (kind, number)));
        }
        Ok(Self {
            budgets: all(connection, "SELECT * FROM budget ORDER BY name", rows::budget)?,
            reservations: all(connection, "SELECT * FROM reservation ORDER BY id", rows::reservation)?,
            entries: all(connection, "SELECT * FROM entry ORDER BY kind, number", rows::entry)?,
            answers: all(connection, "SELECT * FROM answer ORDER BY answer_order", rows::answer)?,
            last_reservation: last_number(connection, "reservation")?,
            last_entries,
            id_key,
            same_boot: saved_boot.as_deref() == Some(boot_id),
            ended_order: connection.query_row(
                "SELECT ifnull(max(ended_order), 0) FROM reservation",
                [],
                |row| row.get(0),
            )?,
        })
    }

    /// From here on the state belongs to this boot of the machine; with the same write every live reservation ends, since
    /// no process outlives a boot: found live by a later start, it would go on. Writes only when the boot is news.
    pub(super) fn enter_boot(&mut self, connection: &mut Connection, boot_id: &str) -> Result<()> {
        if self.same_boot {
            return Ok(());
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute("UPDATE identity SET boot_id = ?1", [boot_id])?;
        let end = "UPDATE reservation SET state = ?2, ended_at_ms = ?3, ended_order = ?4 WHERE id = ?1";
        let ended_at = rows::millis(SystemTime::now());
        for live in self.reservations.iter().filter(|live| live.ended_at.is_none()) {
            self.ended_order += 1;
            let values = params![live.id, ReservationState::OwnerDied, ended_at, self.ended_order];
            transaction.execute(end, values)?;
        }
        transaction.commit()
    }
}

fn all<T>(connection: &Connection, query: &str, read: fn(&Row<'_>) -> Result<T>) -> Result<Vec<T>> {
    connection.prepare(query)?.query_map([], read)?.collect()
}

fn last_number(connection: &Connection, kind: impl rusqlite::ToSql) -> Result<Option<u64>> {
    let query = "SELECT number FROM last_number WHERE kind = ?1";
    connection.query_row(query, [kind], |row| row.get(0)).optional()
}
