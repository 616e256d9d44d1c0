import { randomBytes } from 'node:crypto';
import { type EntryKind, type EntryRecord, HostState } from '../../native/index.js';
import type { Failure } from './failure.js';
import type { AnswerRecord } from './repeats.js';

/** Changes that are kept together, or not at all. What is dropped goes first. */
export interface Changes {
  readonly put?: EntryRecord[];
  readonly drop?: { kind: EntryKind; number: number }[];
  readonly answer?: AnswerRecord | undefined;
  /** Answers that came to nothing: repeats are decided anew. */
  readonly dropAnswers?: AnswerRecord[];
}

/** What outlives the process. Without a folder nothing does. */
export class State {
  readonly native: HostState;
  /** The key that ids are signed with. */
  readonly idKey: Uint8Array;
  /** Answers of before, oldest first. */
  readonly answers: AnswerRecord[];
  #entries: EntryRecord[];

  /** Opens the state in a folder, making it where there is none. Blocks. Throws, saying what to do, when it cannot be had. */
  constructor(folder: string | undefined) {
    this.native = new HostState(folder);
    this.idKey = this.native.path == null ? randomBytes(32) : this.native.idKey;
    this.answers = this.native.takeAnswers();
    this.#entries = this.native.takeEntries();
  }

  /** Where it is; undefined when nothing is kept. */
  get path(): string | undefined {
    return this.native.path ?? undefined;
  }

  /** The entries of a kind that were kept, by number; each is given once. */
  takeEntries(kind: EntryKind): EntryRecord[] {
    const taken = this.#entries.filter((entry) => entry.kind === kind);
    this.#entries = this.#entries.filter((entry) => entry.kind !== kind);
    return taken;
  }

  /** The last number that an entry of a kind had. */
  lastNumber(kind: EntryKind): number {
    return this.native.lastNumber(kind);
  }

  /** Keeps changes together; resolves once they are on disk, or to why none of them is. */
  async save({ put = [], drop = [], dropAnswers = [], answer }: Changes): Promise<Failure | undefined> {
    if (this.path === undefined) return undefined;
    const changes = { put, drop, dropAnswers };
    return (await this.native.save(answer === undefined ? changes : { ...changes, answer })) ?? undefined;
  }

  /** Puts everything into the one file and closes it. */
  close(): Promise<void> {
    return this.native.close();
  }
}
