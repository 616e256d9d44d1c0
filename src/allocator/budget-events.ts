import { BudgetEventLog, type BudgetEvent as NativeBudgetEvent } from '../../native/index.js';
import { notFound, type Outcome } from './failure.js';
import { type Look, poll } from './poll.js';
import type { ServiceDeps } from './service-deps.js';

/** How often the events are looked at for each watcher, in milliseconds. */
const INTERVAL_MS = 100;

/** The most events that are held for one watcher: a slow one leaves the rest where they are kept for all. */
const AT_ONCE = 100;

/** What became of a charge, with the figures of the decision. */
export interface BudgetEvent extends Omit<NativeBudgetEvent, 'at'> {
  readonly at: Date;
  /** Events between this watcher's last one and this one that are kept no longer, whosever they were. */
  readonly missed: number;
}

/** The feed of what the ledger grants, refuses and gets back. */
export class BudgetEvents {
  readonly #log: BudgetEventLog;

  constructor({ native }: Pick<ServiceDeps, 'native'>) {
    this.#log = new BudgetEventLog(native);
  }

  /** Every event from this call on, or those of one budget, until it is returned or the signal aborts. */
  async watch(budget: string | undefined, signal: AbortSignal): Promise<Outcome<AsyncIterableIterator<BudgetEvent>>> {
    // Taken before anything is awaited: what happens meanwhile is seen.
    const now = this.#log.latest();
    if (budget !== undefined && !(await this.#log.hasBudget(budget))) return notFound('budget', budget);
    return poll(INTERVAL_MS, this.#lookAfter(now, budget), signal);
  }

  #lookAfter(start: number, budget: string | undefined): () => Promise<Look<BudgetEvent>> {
    let after = start;
    let missed = 0;
    return async () => {
      const read = this.#log.after(after, AT_ONCE, budget);
      after = read.through;
      missed += read.missed;
      const values = read.events.map((event, n) => ({
        ...event,
        at: new Date(event.at),
        missed: n === 0 ? missed : 0,
      }));
      if (values.length > 0) missed = 0;
      return { values, last: false, more: values.length === AT_ONCE };
    };
  }
}
