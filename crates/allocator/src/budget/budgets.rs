//! The door to budgets: every change is on disk before anybody is told of it.

use super::account::{BudgetChange, BudgetReading, BudgetTerms};
use super::ledger::{Design, Ledger};
use crate::error::Error;
use crate::state::{AnswerRecord, BudgetRecord, Change, Forgetful, Store};
use crate::sync::{Arc, Mutex, lock};

/// Makes, changes and removes the budgets of a ledger, and keeps them in a store.
#[derive(Debug)]
pub struct Budgets {
    ledger: Arc<Ledger>,
    store: Arc<dyn Store>,
    /// One change at a time, from the look at what there is to the word that it is on disk.
    changes: Mutex<()>,
}

impl Budgets {
    /// The budgets of `ledger`; nothing of them is kept.
    #[must_use]
    pub fn unkept(ledger: Arc<Ledger>) -> Self {
        Self::restore(ledger, Arc::new(Forgetful), &[])
    }

    /// The budgets that were kept, and a ledger that has them from here on.
    #[must_use]
    pub fn restore(ledger: Arc<Ledger>, store: Arc<dyn Store>, kept: &[BudgetRecord]) -> Self {
        for record in kept {
            ledger.put_budget(record);
        }
        Self { ledger, store, changes: Mutex::new(()) }
    }

    /// Makes the budget `name`; with `existing_is_fine` one of that name and these terms is answered as it is. `answer` is
    /// kept with it. Blocks until that is on disk.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for terms that are none; NAME_TAKEN; STATE_NOT_SAVED. Nothing has changed then.
    pub fn create(
        &self,
        name: &str,
        terms: BudgetTerms,
        existing_is_fine: bool,
        answer: Option<AnswerRecord>,
    ) -> Result<BudgetReading, Error> {
        let _one_at_a_time = lock(&self.changes);
        let answer = answer.map(Change::PutAnswer);
        match self.ledger.design(name, terms)? {
            Design::New(record, reading) => {
                let put = Change::PutBudget(record.clone());
                self.save(std::iter::once(put).chain(answer))?;
                Ok(self.ledger.put_and_read(&record).unwrap_or(reading))
            }
            Design::Exists(reading, differs) if existing_is_fine && differs.is_empty() => {
                self.save(answer)?;
                Ok(reading)
            }
            Design::Exists(BudgetReading { name, .. }, differs) => {
                Err(Error::NameTaken { what: "budget", name, differs })
            }
        }
    }

    /// Changes the budget `name` and answers what it is then. Lowering a cap below what is held frees nothing. Blocks
    /// until the change is on disk.
    ///
    /// # Errors
    /// NOT_FOUND; INVALID_ARGUMENT for a fraction outside (0, 1], a byte count above 2^53 - 1, or a reserve for a named
    /// budget; STATE_NOT_SAVED. Nothing has changed then.
    pub fn update(&self, name: &str, change: &BudgetChange) -> Result<BudgetReading, Error> {
        let _one_at_a_time = lock(&self.changes);
        let (record, reading) = self.ledger.redesign(name, change)?;
        self.save([Change::PutBudget(record.clone())])?;
        Ok(self.ledger.put_and_read(&record).unwrap_or(reading))
    }

    /// Removes the budget `name`, which must hold nothing, and answers what it was; `answers` are kept with that. Nothing can be charged to it while
    /// that is being put on disk. Blocks.
    ///
    /// # Errors
    /// NOT_FOUND; IN_USE while it holds something; INVALID_ARGUMENT for "host", which always exists; STATE_NOT_SAVED.
    /// Nothing has changed then.
    pub fn delete(&self, name: &str, answers: Vec<AnswerRecord>) -> Result<BudgetReading, Error> {
        let _one_at_a_time = lock(&self.changes);
        let (record, reading) = self.ledger.take_budget(name)?;
        let drop = Change::DropBudget(record.name.clone());
        let changes = std::iter::once(drop).chain(answers.into_iter().map(Change::PutAnswer));
        self.save(changes).inspect_err(|_| self.ledger.put_budget(&record))?;
        Ok(reading)
    }

    fn save(&self, changes: impl IntoIterator<Item = Change>) -> Result<(), Error> {
        let changes: Vec<Change> = changes.into_iter().collect();
        if changes.is_empty() {
            return Ok(());
        }
        Ok(self.store.enqueue(changes).wait()?)
    }
}
