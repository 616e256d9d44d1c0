//! The state file: what comes back, and what is refused untouched.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, SystemTime};

use rusqlite::Connection;
use tempfile::TempDir;

use super::*;
use crate::backing::Backing;
use crate::units::{Bytes, NumaNode};

fn budget(name: &str) -> BudgetRecord {
    BudgetRecord {
        name: name.to_owned(),
        reserve: None,
        requested: Some(Bytes::new(1 << 40)),
        fraction: Some(0.1),
        ranks: 8,
        size: Some(Bytes::new((1 << 53) - 1)),
        admission_closed: true,
    }
}

fn reservation(id: u64, ended_at: Option<SystemTime>) -> ReservationRecord {
    let now = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_123);
    ReservationRecord {
        id,
        budget: "job-a".to_owned(),
        rank: Some(3),
        bytes: Bytes::new(5),
        mapped: Bytes::new(1 << 21),
        backing: Backing::AnonymousShmHugetlb,
        hugepage_size: Some(Bytes::new(1 << 21)),
        node: NumaNode::Node(1),
        holder: "engine \u{1f600}".to_owned(),
        pid: Some(4711),
        process: Some(ProcessRecord {
            start_time: 123_456_789,
            baseline_ordinary: Bytes::new(7),
            baseline_hugepages: Bytes::ZERO,
        }),
        state: if ended_at.is_some() { ReservationState::OwnerDied } else { ReservationState::Held },
        created_at: now,
        expires_at: Some(now + Duration::from_secs(9)),
        deadline: Some(Duration::from_nanos(123_456_789_012_345)),
        ended_at,
    }
}

fn entry(number: u64) -> EntryRecord {
    EntryRecord {
        kind: EntryKind::Pool,
        number,
        name: Some("kv".to_owned()),
        specification: r#"{"layerNum":4}"#.to_owned(),
        created_at: SystemTime::UNIX_EPOCH + Duration::from_millis(1),
    }
}

fn answer(key: &str) -> AnswerRecord {
    let text = |text: &str| text.to_owned();
    AnswerRecord { operation: text("reserve"), key: text(key), request: text("digest"), result: text("7") }
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn open(folder: &TempDir) -> Result<(StateFile, Saved), StateError> {
    StateFile::open(folder.path())
}

/// Opening is refused, and the file is what it was, byte for byte.
fn refused(folder: &TempDir) -> StateError {
    let path = folder.path().join(FILE_NAME);
    let before = fs::read(&path).unwrap();
    let error = open(folder).expect_err("it is refused");
    assert_eq!(fs::read(&path).unwrap(), before, "it was changed");
    error
}

#[test]
fn everything_comes_back_as_it_was_put() {
    let folder = folder();
    let (file, fresh) = open(&folder).unwrap();
    assert_eq!(fresh.id_key.len(), 32);
    let puts = vec![
        Change::PutBudget(budget("job-a")),
        Change::PutReservation(Box::new(reservation(4, None))),
        Change::PutEntry(entry(9)),
        Change::PutAnswer(answer("k")),
    ];
    file.enqueue(puts).wait().unwrap();
    drop(file);
    let (_file, saved) = open(&folder).unwrap();
    assert_eq!(saved.budgets, [budget("job-a")]);
    assert_eq!(saved.reservations, [reservation(4, None)]);
    assert_eq!(saved.entries, [entry(9)]);
    assert_eq!(saved.answers, [answer("k")]);
    assert_eq!((saved.last_reservation, saved.last_entries.get(&EntryKind::Pool)), (Some(4), Some(&9)));
    assert_eq!((saved.id_key, saved.same_boot), (fresh.id_key, true));
}

#[test]
fn what_is_dropped_is_gone_but_its_number_is_not_given_again() {
    let folder = folder();
    let (file, _) = open(&folder).unwrap();
    file.enqueue(vec![Change::PutBudget(budget("a")), Change::PutEntry(entry(9))]).wait().unwrap();
    file.enqueue(vec![Change::DropBudget("a".to_owned()), Change::DropEntry(EntryKind::Pool, 9)])
        .wait()
        .unwrap();
    file.close();
    drop(file);
    let (_file, saved) = open(&folder).unwrap();
    assert_eq!((saved.budgets.len(), saved.entries.len()), (0, 0));
    assert_eq!(saved.last_entries.get(&EntryKind::Pool), Some(&9));
}

#[test]
fn the_folder_and_the_file_are_for_their_user_alone() {
    let folder = folder();
    let below = folder.path().join("a/b");
    let (file, _) = StateFile::open(&below).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&below), mode(file.path())), (0o700, 0o600));
}

#[test]
fn closing_leaves_one_file_and_refuses_what_comes_after() {
    let folder = folder();
    let (file, _) = open(&folder).unwrap();
    file.enqueue(vec![Change::PutBudget(budget("a"))]).wait().unwrap();
    file.close();
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(names, [FILE_NAME]);
    assert!(file.enqueue(vec![Change::PutBudget(budget("b"))]).wait().is_err());
}

#[test]
fn callers_at_once_share_transactions_and_all_are_kept_in_their_order() {
    let folder = folder();
    let (file, _) = open(&folder).unwrap();
    std::thread::scope(|scope| {
        let put_50 = |thread: u64| {
            for n in 0..50 {
                let put = BudgetRecord { ranks: n + 1, ..budget(&thread.to_string()) };
                file.enqueue(vec![Change::PutBudget(put)]).wait().unwrap();
            }
        };
        let callers: Vec<_> = (0..8).map(|thread| scope.spawn(move || put_50(thread))).collect();
        callers.into_iter().for_each(|caller| caller.join().unwrap());
    });
    drop(file);
    let (_file, saved) = open(&folder).unwrap();
    assert_eq!(saved.budgets.iter().map(|budget| budget.ranks).collect::<Vec<_>>(), [50; 8]);
}

#[test]
fn the_latest_ended_reservations_and_answers_are_kept_and_no_more() {
    let folder = folder();
    let (file, _) = open(&folder).unwrap();
    let ended = |id| Change::PutReservation(Box::new(reservation(id, Some(SystemTime::UNIX_EPOCH))));
    let extra = 5;
    let mut changes: Vec<Change> = (0..writer::REMEMBERED + extra).map(ended).collect();
    changes.push(Change::PutReservation(Box::new(reservation(1 << 20, None))));
    changes.extend((0..writer::REMEMBERED + extra).map(|n| Change::PutAnswer(answer(&n.to_string()))));
    file.enqueue(changes).wait().unwrap();
    drop(file);
    let (_file, saved) = open(&folder).unwrap();
    let kept = usize::try_from(writer::REMEMBERED).unwrap();
    assert_eq!((saved.reservations.len(), saved.answers.len()), (kept + 1, kept));
    assert_eq!((saved.reservations[0].id, saved.answers[0].key.as_str()), (extra, "5"));
}

#[test]
fn a_second_process_is_told_that_the_folder_is_in_use() {
    let folder = folder();
    let (_first, _) = open(&folder).unwrap();
    assert!(matches!(open(&folder), Err(StateError::InUse { .. })));
}

#[test]
fn an_empty_file_is_refused() {
    let folder = folder();
    File::create(folder.path().join(FILE_NAME)).unwrap();
    assert!(matches!(refused(&folder), StateError::Empty { .. }));
}

#[test]
fn random_bytes_are_refused() {
    for length in [1, 99, 100, 4096, 100_000] {
        let folder = folder();
        let bytes: Vec<u8> =
            (0..length).map(|n: u32| n.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
        fs::write(folder.path().join(FILE_NAME), bytes).unwrap();
        assert!(matches!(refused(&folder), StateError::Foreign { .. }));
    }
}

#[test]
fn a_database_of_another_program_is_refused() {
    let folder = folder();
    let other = Connection::open(folder.path().join(FILE_NAME)).unwrap();
    other.execute_batch("CREATE TABLE bookmarks (url TEXT); PRAGMA user_version = 1").unwrap();
    drop(other);
    assert!(matches!(refused(&folder), StateError::Foreign { .. }));
}

#[test]
fn a_file_of_a_newer_schema_is_refused() {
    let folder = folder();
    drop(open(&folder).unwrap());
    let newer = Connection::open(folder.path().join(FILE_NAME)).unwrap();
    newer.execute_batch("PRAGMA user_version = 99; PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    drop(newer);
    assert!(matches!(refused(&folder), StateError::Newer { found: 99, known: 1, .. }));
}

#[test]
fn a_newer_schema_that_is_in_the_log_alone_is_refused_too() {
    let folder = folder();
    drop(open(&folder).unwrap());
    let path = folder.path().join(FILE_NAME);
    let newer = Connection::open(&path).unwrap();
    let keep_log = rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
    newer.set_db_config(keep_log, true).unwrap();
    newer.execute_batch("PRAGMA user_version = 99; CREATE TABLE later (a)").unwrap();
    drop(newer);
    assert!(matches!(refused(&folder), StateError::Newer { found: 99, .. }));
    assert!(matches!(refused(&folder), StateError::Newer { found: 99, .. }), "the log is there still");
}

#[test]
fn a_new_boot_and_the_end_of_every_live_reservation_are_one_write() {
    let folder = folder();
    let (file, _) = open(&folder).unwrap();
    let puts = [1, 2].map(|id| Change::PutReservation(Box::new(reservation(id, None))));
    file.enqueue(puts.into()).wait().unwrap();
    drop(file);
    let other_boot = Connection::open(folder.path().join(FILE_NAME)).unwrap();
    other_boot.execute_batch("UPDATE identity SET boot_id = 'another'").unwrap();
    drop(other_boot);
    let (first, saved) = open(&folder).unwrap();
    assert_eq!(
        (saved.same_boot, saved.reservations.iter().filter(|it| it.ended_at.is_none()).count()),
        (false, 2)
    );
    drop(first);
    let (_second, saved) = open(&folder).unwrap();
    let states: Vec<_> = saved.reservations.iter().map(|it| (it.state, it.ended_at.is_some())).collect();
    assert_eq!((saved.same_boot, states), (true, vec![(ReservationState::OwnerDied, true); 2]));
}

#[test]
fn what_would_go_to_a_file_that_was_moved_or_deleted_is_refused() {
    let moved: [fn(&Path); 3] = [
        |folder| fs::remove_dir_all(folder).unwrap(),
        |folder| fs::rename(folder.join(FILE_NAME), folder.join("away")).unwrap(),
        |folder| fs::remove_file(folder.join("hostpool.sqlite3-wal")).unwrap(),
    ];
    for moved in moved {
        let folder = folder();
        let (file, _) = open(&folder).unwrap();
        file.enqueue(vec![Change::PutBudget(budget("a"))]).wait().unwrap();
        moved(folder.path());
        let refused = file.enqueue(vec![Change::PutBudget(budget("b"))]).wait().unwrap_err();
        assert!(refused.detail.contains("was moved or deleted"), "{refused}");
    }
}

#[test]
fn a_file_with_a_damaged_or_missing_page_is_refused() {
    let folder = folder();
    let (file, _) = open(&folder).unwrap();
    let many = (0..200).map(|n| Change::PutBudget(budget(&format!("budget {n}")))).collect();
    file.enqueue(many).wait().unwrap();
    drop(file);
    let path = folder.path().join(FILE_NAME);
    let whole = fs::read(&path).unwrap();
    for page in 1..whole.len() / 4096 {
        fs::write(&path, &whole).unwrap();
        let page = u64::try_from(page).unwrap() * 4096;
        File::options().write(true).open(&path).unwrap().write_all_at(&[0x5a; 64], page).unwrap();
        assert!(matches!(refused(&folder), StateError::Damaged { .. }), "page at {page}");
    }
    fs::write(&path, &whole[..whole.len() - 4096]).unwrap();
    assert!(matches!(refused(&folder), StateError::Damaged { .. }));
}

#[test]
fn a_row_that_cannot_be_understood_is_damage() {
    let folder = folder();
    drop(open(&folder).unwrap());
    let edited = Connection::open(folder.path().join(FILE_NAME)).unwrap();
    edited.execute("INSERT INTO entry VALUES ('nonsense', 1, NULL, '{}', 0)", []).unwrap();
    edited.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    drop(edited);
    assert!(matches!(refused(&folder), StateError::Damaged { .. }));
}

#[test]
fn a_log_without_its_file_is_refused() {
    let folder = folder();
    fs::write(folder.path().join("hostpool.sqlite3-wal"), "acknowledged").unwrap();
    assert!(matches!(open(&folder), Err(StateError::Damaged { .. })));
    assert!(!folder.path().join(FILE_NAME).exists());
}

#[test]
fn a_damaged_file_that_is_moved_away_as_told_makes_room_for_a_new_one() {
    let folder = folder();
    let (file, _) = open(&folder).unwrap();
    file.enqueue((0..200).map(|n| Change::PutBudget(budget(&format!("budget {n}")))).collect())
        .wait()
        .unwrap();
    drop(file);
    let path = folder.path().join(FILE_NAME);
    File::options().write(true).open(&path).unwrap().write_all_at(&[0x5a; 64], 2 * 4096).unwrap();
    assert!(matches!(refused(&folder), StateError::Damaged { .. }));
    fs::rename(&path, folder.path().join("damaged")).unwrap();
    assert_eq!(open(&folder).unwrap().1.budgets, []);
}

#[test]
fn an_answer_that_is_dropped_is_gone_and_the_others_are_not() {
    let folder = folder();
    let (file, _) = open(&folder).unwrap();
    file.enqueue(vec![Change::PutAnswer(answer("a")), Change::PutAnswer(answer("b"))]).wait().unwrap();
    let AnswerRecord { operation, key, .. } = answer("a");
    file.enqueue(vec![Change::DropAnswer { operation, key }]).wait().unwrap();
    drop(file);
    assert_eq!(open(&folder).unwrap().1.answers, [answer("b")]);
}

#[test]
fn a_draft_that_a_crash_left_is_in_nobodys_way() {
    let folder = folder();
    fs::write(folder.path().join("hostpool.sqlite3-new"), "half").unwrap();
    drop(open(&folder).unwrap());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_folder_that_is_a_file_is_refused() {
    let folder = folder();
    let path = folder.path().join("file");
    File::create(&path).unwrap();
    assert!(matches!(StateFile::open(&path), Err(StateError::Folder { .. })));
}

#[test]
fn an_older_schema_is_brought_up_to_date_and_copied_aside_first() {
    let folder = folder();
    let (file, _) = open(&folder).unwrap();
    file.enqueue(vec![Change::PutBudget(budget("a"))]).wait().unwrap();
    drop(file);
    let steps = [migrations::MIGRATIONS[0], "ALTER TABLE budget ADD COLUMN note TEXT DEFAULT 'new'"];
    let (file, saved) = StateFile::open_with(folder.path(), &steps).unwrap();
    assert_eq!(saved.budgets, [budget("a")]);
    drop(file);
    assert!(matches!(refused(&folder), StateError::Newer { found: 2, known: 1, .. }));
    let aside = Connection::open(folder.path().join("hostpool.version-1.sqlite3")).unwrap();
    let version: u32 = aside.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, 1);
}

#[test]
fn a_step_that_fails_changes_nothing() {
    let folder = folder();
    drop(open(&folder).unwrap());
    let steps = [migrations::MIGRATIONS[0], "CREATE TABLE half (a); CREATE TABLE half (a)"];
    assert!(StateFile::open_with(folder.path(), &steps).is_err());
    drop(open(&folder).unwrap());
}
