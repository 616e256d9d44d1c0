import type { AnswerRecord, EntryKind, EntryRecord } from '../../native/index.js';
import type { Failure } from './failure.js';
import type { State } from './state.js';

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
    const put = entries.map((entry) => this.#record(entry));
    const notSaved = await this.state.save({ put, drop: replaced.map((entry) => this.#ref(entry)), answer });
    if (notSaved !== undefined) return notSaved;
    for (const entry of replaced) this.#kept.delete(entry);
    for (const entry of entries) this.#kept.add(entry);
    return undefined;
  }

  /** Drops one that is kept, and the answer that gave it; resolves to why it is still kept, if so. */
  async drop(entry: T, dropAnswer?: AnswerRecord): Promise<Failure | undefined> {
    const drop = this.#kept.has(entry) ? [this.#ref(entry)] : [];
    if (drop.length === 0 && dropAnswer === undefined) return undefined;
    const notSaved = await this.state.save({ drop, dropAnswer });
    if (notSaved === undefined) this.#kept.delete(entry);
    return notSaved;
  }

  /** This process knows it no longer; what is on disk stays. */
  letGo(entry: T): void {
    this.#kept.delete(entry);
  }

  #ref({ number }: T): { kind: EntryKind; number: number } {
    return { kind: this.entryKind, number };
  }

  #record({ kind, number, name, createdAt, request }: T): EntryRecord {
    const specification = JSON.stringify({ kind, request });
    const record = { kind: this.entryKind, number, specification, createdAt: createdAt.getTime() };
    return name === undefined ? record : { ...record, name };
  }
}
