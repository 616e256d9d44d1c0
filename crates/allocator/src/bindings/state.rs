//! What outlives the process, for JS: the records it keeps of pools and buffers, and answers to repeat.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use napi::bindgen_prelude::Buffer;
use napi_derive::napi;

use super::failure::{Failure, failure};
use super::number::{count, js, js_time};
use super::off_loop::off_loop;
use crate::error::Error;
use crate::state::{self, Change, Forgetful, Saved, StateFile, Store};
use crate::sync::lock;

/// What an entry is.
#[napi(string_enum)]
pub enum EntryKind {
    /// A pool of either kind.
    Pool,
    /// A host buffer.
    HostBuffer,
}

/// A pool or a buffer as it is kept. Times in milliseconds since 1970.
#[napi(object)]
pub struct EntryRecord {
    /// What it is.
    pub kind: EntryKind,
    /// Its number among its kind.
    pub number: f64,
    /// Its name, when it has one.
    pub name: Option<String>,
    /// What it was asked as: text that only its writer reads.
    pub specification: String,
    /// When it was made.
    pub created_at: f64,
}

/// Which entry.
#[napi(object)]
pub struct EntryRef {
    /// What it is.
    pub kind: EntryKind,
    /// Its number among its kind.
    pub number: f64,
}

/// The answer to a request that may be repeated.
#[napi(object)]
pub struct AnswerRecord {
    /// What was asked to be done.
    pub operation: String,
    /// The caller's key for it.
    pub key: String,
    /// A digest of the request.
    pub request: String,
    /// What came of it: a number or a name.
    pub result: String,
}

/// Changes that are kept together, or not at all.
#[napi(object)]
pub struct EntryChanges {
    /// Made, or changed.
    pub put: Vec<EntryRecord>,
    /// Gone.
    pub drop: Vec<EntryRef>,
    /// To be repeated.
    pub answer: Option<AnswerRecord>,
    /// Not to be repeated any more: what they gave came to nothing.
    pub drop_answers: Vec<AnswerRecord>,
}

/// The state of one host, on disk or not kept at all.
#[napi]
pub struct HostState {
    store: Arc<dyn Store>,
    file: Option<Arc<StateFile>>,
    saved: Mutex<Saved>,
}

impl HostState {
    pub(super) fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store)
    }

    /// Hands over a part of what was kept.
    pub(super) fn take<T>(&self, part: impl FnOnce(&mut Saved) -> T) -> T {
        part(&mut lock(&self.saved))
    }
}

#[napi]
impl HostState {
    /// Opens the state in a folder, making it where there is none; without a folder nothing is kept. Blocks. Throws when the
    /// state cannot be had: start-up stops there, and the message says what to do.
    #[napi(constructor)]
    pub fn new(folder: Option<String>) -> napi::Result<Self> {
        let Some(folder) = folder else {
            return Ok(Self { store: Arc::new(Forgetful), file: None, saved: Mutex::default() });
        };
        let opened = StateFile::open(Path::new(&folder));
        let (file, saved) = opened.map_err(|error| napi::Error::from_reason(error.to_string()))?;
        let file = Arc::new(file);
        Ok(Self { store: Arc::<StateFile>::clone(&file), file: Some(file), saved: Mutex::new(saved) })
    }

    /// Where it is; undefined when nothing is kept.
    #[napi(getter)]
    pub fn path(&self) -> Option<String> {
        self.file.as_ref().map(|file| file.path().display().to_string())
    }

    /// The key that ids are signed with; empty when nothing is kept.
    #[napi(getter)]
    pub fn id_key(&self) -> Buffer {
        lock(&self.saved).id_key.clone().into()
    }

    /// The last number given to an entry of that kind; 0 before the first.
    #[napi]
    pub fn last_number(&self, kind: EntryKind) -> f64 {
        js(lock(&self.saved).last_entries.get(&kind.into()).copied().unwrap_or_default())
    }

    /// The pools and buffers that were kept, each kind by number. Handed over once.
    #[napi]
    pub fn take_entries(&self) -> Vec<EntryRecord> {
        self.take(|saved| std::mem::take(&mut saved.entries)).into_iter().map(js_entry).collect()
    }

    /// The answers that were kept, oldest first. Handed over once.
    #[napi]
    pub fn take_answers(&self) -> Vec<AnswerRecord> {
        self.take(|saved| std::mem::take(&mut saved.answers)).into_iter().map(js_answer).collect()
    }

    /// Keeps changes; answers when they are on disk, or with why they are not.
    #[napi]
    pub async fn save(&self, changes: EntryChanges) -> napi::Result<Option<Failure>> {
        let store = self.store();
        let save = move || -> Result<(), Error> { Ok(store.enqueue(changes.check()?).wait()?) };
        off_loop(save).await?.err().map(failure).transpose()
    }

    /// Puts everything into the one file and closes it. Nothing is kept from here on.
    #[napi]
    pub async fn close(&self) -> napi::Result<()> {
        let file = self.file.clone();
        off_loop(move || file.iter().for_each(|file| file.close())).await
    }
}

impl EntryChanges {
    fn check(self) -> Result<Vec<Change>, Error> {
        let drops = self
            .drop
            .into_iter()
            .map(|gone| Ok(Change::DropEntry(gone.kind.into(), count("number", gone.number)?)));
        let puts = self.put.into_iter().map(|entry| Ok(Change::PutEntry(entry.check()?)));
        let answer = self.answer.map(|answer| Ok(Change::PutAnswer(answer.into())));
        let forgotten = self.drop_answers.into_iter();
        let forgotten =
            forgotten.map(|AnswerRecord { operation, key, .. }| Ok(Change::DropAnswer { operation, key }));
        // What goes first: a new thing may have the name, or the key, of an old one.
        drops.chain(forgotten).chain(puts).chain(answer).collect()
    }
}

impl EntryRecord {
    fn check(self) -> Result<state::EntryRecord, Error> {
        Ok(state::EntryRecord {
            kind: self.kind.into(),
            number: count("number", self.number)?,
            name: self.name,
            specification: self.specification,
            created_at: UNIX_EPOCH + Duration::from_millis(count("created_at", self.created_at)?),
        })
    }
}

impl From<EntryKind> for state::EntryKind {
    fn from(kind: EntryKind) -> Self {
        match kind {
            EntryKind::Pool => Self::Pool,
            EntryKind::HostBuffer => Self::HostBuffer,
        }
    }
}

impl From<AnswerRecord> for state::AnswerRecord {
    fn from(answer: AnswerRecord) -> Self {
        let AnswerRecord { operation, key, request, result } = answer;
        Self { operation, key, request, result }
    }
}

fn js_entry(entry: state::EntryRecord) -> EntryRecord {
    EntryRecord {
        kind: match entry.kind {
            state::EntryKind::Pool => EntryKind::Pool,
            state::EntryKind::HostBuffer => EntryKind::HostBuffer,
        },
        number: js(entry.number),
        name: entry.name,
        specification: entry.specification,
        created_at: js_time(entry.created_at),
    }
}

fn js_answer(answer: state::AnswerRecord) -> AnswerRecord {
    let state::AnswerRecord { operation, key, request, result } = answer;
    AnswerRecord { operation, key, request, result }
}
