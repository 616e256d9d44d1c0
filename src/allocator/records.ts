import type { AnswerRecord, EntryKind, EntryRecord } from '../../native/index.js';
import type { Failure } from './failure.js';
import type { Changes, State } from './state.js';

/** What is kept of a pool or buffer, and what it is found again by. */
export interface Recorded {
  readonly kind: string;
  readonly number: number;
  readonly name: string | undefined;
  readonly createdAt: Date;
  /** What it was asked as. */
  readonly request: object;
}

/** A record of before. */
export interface Kept extends Pick<Recorded, 'kind' | 'number' | 'createdAt' | 'request'> {}

/** The pools, or the buffers, that are on disk. */
export class Records<T extends Recorded> {
  readonly #kept = new Set<T>();
  /** What was taken back and is on disk still: it goes with the next save. */
  #owed: Changes[] = [];

  constructor(
    private readonly entryKind: EntryKind,
    private readonly state: State,
  ) {}

  /** Those of before, by number; each is given once. */
  take(): Kept[] {
    return this.state.takeEntries(this.entryKind).map(({ number, createdAt, specification }) => {
      const { kind, request } = JSON.parse(specification) as Pick<Recorded, 'kind' | 'request'>;
      return { kind, request, number, createdAt: new Date(createdAt) };
    });
  }

  /** This one is one of before. */
  adopt(entry: T): void {
    this.#kept.add(entry);
  }

  /** Keeps them together, in the place of others and with an answer; resolves to why none of that is done, if so. */
  async save(entries: T[], replaced: T[], answer: AnswerRecord | undefined): Promise<Failure | undefined> {
    const notSaved = await this.#save({ put: this.#records(entries), drop: this.#refs(replaced), answer });
    if (notSaved !== undefined) return notSaved;
    for (const entry of replaced) this.#kept.delete(entry);
    for (const entry of entries) this.#kept.add(entry);
    return undefined;
  }

  /** Drops one that is kept; resolves to why it is kept still, if so. */
  async drop(entry: T): Promise<Failure | undefined> {
    if (!this.#kept.has(entry)) return undefined;
    const notSaved = await this.#save({ drop: this.#refs([entry]) });
    if (notSaved === undefined) this.#kept.delete(entry);
    return notSaved;
  }

  /**
   * Drops those that came to nothing, and the answer that gave them, together, and has again those whose place they had.
   * Resolves to why that is not on disk yet, if so.
   */
  async takeBack(entries: T[], replaced: T[], answer: AnswerRecord | undefined): Promise<Failure | undefined> {
    const gone = entries.filter((entry) => this.#kept.delete(entry));
    if (gone.length + replaced.length === 0 && answer === undefined) return undefined;
    for (const entry of replaced) this.#kept.add(entry);
    const dropAnswers = answer === undefined ? [] : [answer];
    const changes = { put: this.#records(replaced), drop: this.#refs(gone), dropAnswers };
    const notSaved = await this.#save(changes);
    if (notSaved !== undefined) this.#owed.push(changes);
    return notSaved;
  }

  /** Saves what is owed, if anything is. */
  async settle(): Promise<void> {
    if (this.#owed.length > 0) await this.#save({});
  }

  /** This process knows it no longer; what is on disk stays. */
  letGo(entry: T): void {
    this.#kept.delete(entry);
  }

  async #save(changes: Changes): Promise<Failure | undefined> {
    const owed = this.#owed;
    const { put = [], drop = [], dropAnswers = [], answer } = changes;
    const isDropped = ({ number }: EntryRecord) => drop.some((ref) => ref.number === number);
    const notSaved = await this.state.save({
      put: [...owed.flatMap((earlier) => earlier.put ?? []).filter((record) => !isDropped(record)), ...put],
      drop: [...owed.flatMap((earlier) => earlier.drop ?? []), ...drop],
      dropAnswers: [...owed.flatMap((earlier) => earlier.dropAnswers ?? []), ...dropAnswers],
      answer,
    });
    if (notSaved === undefined) this.#owed = this.#owed.filter((earlier) => !owed.includes(earlier));
    return notSaved;
  }

  #refs(entries: T[]): { kind: EntryKind; number: number }[] {
    return entries.map(({ number }) => ({ kind: this.entryKind, number }));
  }

  #records(entries: T[]): EntryRecord[] {
    return entries.map(({ kind, number, name, createdAt, request }) => {
      const specification = JSON.stringify({ kind, request });
      const record = { kind: this.entryKind, number, specification, createdAt: createdAt.getTime() };
      return name === undefined ? record : { ...record, name };
    });
  }
}
