//! Records as rows.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Result, Row};

use super::record::{
    AnswerRecord, BudgetRecord, EntryKind, EntryRecord, ProcessRecord, ReservationRecord, ReservationState,
};
use crate::backing::Backing;
use crate::units::{Bytes, NumaNode};

/// Gives closed enums the words they are kept under. A word that is none of them makes the file damaged.
macro_rules! kept_as_words {
    ($type:ty { $($variant:ident = $word:literal),+ $(,)? }) => {
        impl ToSql for $type {
            fn to_sql(&self) -> Result<ToSqlOutput<'_>> {
                Ok(ToSqlOutput::Borrowed(match self { $(Self::$variant => $word),+ }.into()))
            }
        }
        impl FromSql for $type {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                match value.as_str()? {
                    $($word => Ok(Self::$variant),)+
                    other => Err(FromSqlError::Other(format!("unknown word {other:?}").into())),
                }
            }
        }
    };
}

kept_as_words!(ReservationState {
    Held = "held",
    Committed = "committed",
    Released = "released",
    Expired = "expired",
    OwnerDied = "owner died",
});
kept_as_words!(Backing {
    Anonymous = "anonymous",
    AnonymousHugetlb = "anonymous hugetlb",
    AnonymousShm = "anonymous shm",
    AnonymousShmHugetlb = "anonymous shm hugetlb",
});
kept_as_words!(EntryKind { Pool = "pool", HostBuffer = "host buffer" });

impl ToSql for Bytes {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>> {
        Ok(i64::try_from(self.get()).unwrap_or(i64::MAX).into())
    }
}

impl FromSql for Bytes {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        u64::column_result(value).map(Self::new)
    }
}

impl ToSql for NumaNode {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>> {
        Ok(self.id().map_or(ToSqlOutput::Owned(rusqlite::types::Value::Null), ToSqlOutput::from))
    }
}

impl FromSql for NumaNode {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Ok(Option::<u32>::column_result(value)?.map_or(Self::Any, Self::Node))
    }
}

/// Milliseconds since 1970.
pub(super) fn millis(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// A duration in nanoseconds: 292 years at most.
pub(super) fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

pub(super) fn budget(row: &Row<'_>) -> Result<BudgetRecord> {
    Ok(BudgetRecord {
        name: row.get("name")?,
        reserve: row.get("reserve")?,
        requested: row.get("requested")?,
        fraction: row.get("fraction")?,
        ranks: row.get("ranks")?,
        size: row.get("size")?,
        admission_closed: row.get("admission_closed")?,
    })
}

pub(super) fn reservation(row: &Row<'_>) -> Result<ReservationRecord> {
    Ok(ReservationRecord {
        id: row.get("id")?,
        budget: row.get("budget")?,
        rank: row.get("rank")?,
        bytes: row.get("bytes")?,
        mapped: row.get("mapped")?,
        backing: row.get("backing")?,
        hugepage_size: row.get("hugepage_size")?,
        node: row.get("node")?,
        holder: row.get("holder")?,
        pid: row.get("pid")?,
        process: process(row)?,
        state: row.get("state")?,
        created_at: time(row.get("created_at_ms")?),
        expires_at: row.get::<_, Option<u64>>("expires_at_ms")?.map(time),
        deadline: row.get::<_, Option<u64>>("deadline_ns")?.map(Duration::from_nanos),
        ended_at: row.get::<_, Option<u64>>("ended_at_ms")?.map(time),
    })
}

fn process(row: &Row<'_>) -> Result<Option<ProcessRecord>> {
    let Some(start_time) = row.get("start_time")? else { return Ok(None) };
    Ok(Some(ProcessRecord {
        start_time,
        baseline_ordinary: row.get("baseline_ordinary")?,
        baseline_hugepages: row.get("baseline_hugepages")?,
    }))
}

pub(super) fn entry(row: &Row<'_>) -> Result<EntryRecord> {
    Ok(EntryRecord {
        kind: row.get("kind")?,
        number: row.get("number")?,
        name: row.get("name")?,
        specification: row.get("specification")?,
        created_at: time(row.get("created_at_ms")?),
    })
}

pub(super) fn answer(row: &Row<'_>) -> Result<AnswerRecord> {
    Ok(AnswerRecord {
        operation: row.get("operation")?,
        key: row.get("key")?,
        request: row.get("request")?,
        result: row.get("result")?,
    })
}

fn time(millis: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(millis)
}
