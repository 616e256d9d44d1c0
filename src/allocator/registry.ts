import { type FailureOf, invalidArgument, isFailure, nameTaken, type Outcome } from './failure.js';
import { IdIssuer } from './ids.js';
import type { Mapping, MemoryLife } from './lifecycle.js';
import { checkName, type Holder, NameRegistry } from './names.js';
import { logFailedPrefault } from './outcome-log.js';
import type { ServiceDeps } from './service-deps.js';
import { differences, type IfExists, type Specification } from './specification.js';

/** The most pools that live at once, and the most buffers: each costs this process memory, bytes behind it or not. */
export const MAX_LIVE = 10_000;

/** The most failed ones that stay on the list; the oldest go first. */
export const MAX_FAILED = 1_000;

/** What a registry keeps. */
export interface Registered {
  readonly id: string;
  readonly name: string | undefined;
  /** The life of its memory; undefined when it has none. */
  readonly life: MemoryLife<Mapping> | undefined;
}

/** A create: what it is to be, under which name, and how it is made. */
export interface Creation<T> {
  readonly name: string | undefined;
  readonly ifExists: IfExists;
  readonly specification: Specification;
  readonly make: () => Promise<Outcome<T>>;
}

/** The pools, or the buffers, of this process: ids, names, how many, and how they go. */
export class Registry<T extends Registered> {
  readonly #ids: IdIssuer;
  readonly #byId = new Map<string, T>();
  readonly #names = new NameRegistry<T>();
  readonly #failed = new Set<T>();
  /** Those that are being made, and those that are on the list and have not failed. */
  #live = 0;

  constructor(
    private readonly what: 'pool' | 'host buffer',
    idPrefix: string,
    private readonly deps: Pick<ServiceDeps, 'log' | 'now'>,
  ) {
    this.#ids = new IdIssuer(idPrefix);
  }

  /** The one with that id. */
  get(id: string): T | undefined {
    return this.#byId.get(id);
  }

  /** Whether that id was given out here, however long ago. */
  hasIssued(id: string): boolean {
    return this.#ids.hasIssued(id);
  }

  /** All, oldest first, failed ones included. */
  list(): T[] {
    return [...this.#byId.values()];
  }

  /** Who has a name now. */
  holderOf(name: string): Holder<T> | undefined {
    return this.#names.holderOf(name);
  }

  /** Why so many more cannot be made at once; undefined when they can. */
  checkRoomFor(count: number): FailureOf<'InvalidArgument'> | undefined {
    return this.#live + count > MAX_LIVE ? tooMany(this.what) : undefined;
  }

  /** Makes one, or answers with the one that has the name when `ifExists` allows. Refuses names and numbers it cannot keep. */
  async create({ name, ifExists, specification, make }: Creation<T>): Promise<Outcome<T>> {
    const invalid = name === undefined ? undefined : checkName(name);
    if (invalid !== undefined) return invalid;
    const holder = name === undefined ? undefined : this.#names.holderOf(name);
    if (name === undefined || holder === undefined) return this.#createNew(name, specification, make);
    const differs = differences(holder.specification, specification);
    if (ifExists === 'Return' && differs.length === 0) return holder.outcome;
    return nameTaken(this.what, name, differs);
  }

  /** What every new one starts with. */
  newEntry<Name extends string | undefined>(name: Name): { id: string; name: Name; createdAt: Date } {
    return { id: this.#ids.issue(), name, createdAt: this.deps.now() };
  }

  /** Puts one that `create` makes on the list. When its prefault fails it gives up its name, and stays only if `keepFailed`. */
  add<Added extends T>(entry: Added, keepFailed: boolean): Added {
    this.#byId.set(entry.id, entry);
    if (entry.life !== undefined) void this.#followUp(entry, entry.life, keepFailed);
    return entry;
  }

  /** Frees the name at once, then unmaps; a running prefault is cancelled. Resolves to the bytes released. */
  async remove(entry: T): Promise<number> {
    const releasing = entry.life?.destroy() ?? 0;
    this.#releaseName(entry);
    const releasedBytes = await releasing;
    this.#forget(entry);
    return releasedBytes;
  }

  /** Removes all, those that are being removed already included. Resolves to the bytes released. */
  async removeAll(): Promise<number> {
    const released = await Promise.all(this.list().map((entry) => this.remove(entry)));
    return released.reduce((sum, bytes) => sum + bytes, 0);
  }

  /** Stops every running prefault. */
  cancelRunning(): void {
    for (const { life } of this.#byId.values()) life?.cancel();
  }

  #createNew(name: string | undefined, specification: Specification, make: Creation<T>['make']): Promise<Outcome<T>> {
    if (this.#live >= MAX_LIVE) return Promise.resolve(tooMany(this.what));
    const counted = () => this.#counted(make);
    return name === undefined ? counted() : this.#names.take(name, specification, counted);
  }

  async #counted(make: Creation<T>['make']): Promise<Outcome<T>> {
    this.#live += 1;
    try {
      const outcome = await make();
      if (isFailure(outcome)) this.#live -= 1;
      return outcome;
    } catch (bug) {
      this.#live -= 1;
      throw bug;
    }
  }

  async #followUp(entry: T, life: MemoryLife<Mapping>, keepFailed: boolean): Promise<void> {
    try {
      const failure = await life.settled;
      if (failure === undefined) return;
      logFailedPrefault(this.deps.log, entry, failure);
    } catch (err) {
      this.deps.log.error({ what: this.what, name: entry.name, id: entry.id, err }, 'prefault broke');
    }
    this.#releaseName(entry);
    if (keepFailed && life.state === 'Failed') this.#keepFailed(entry);
    else if (life.state === 'Failed') this.#forget(entry);
  }

  #keepFailed(entry: T): void {
    this.#failed.add(entry);
    this.#live -= 1;
    const [oldest] = this.#failed;
    if (oldest !== undefined && this.#failed.size > MAX_FAILED) this.#forget(oldest);
  }

  #releaseName(entry: T): void {
    if (entry.name !== undefined) this.#names.release(entry.name, entry);
  }

  #forget(entry: T): void {
    if (this.#byId.delete(entry.id) && !this.#failed.delete(entry)) this.#live -= 1;
  }
}

function tooMany(what: string): FailureOf<'InvalidArgument'> {
  const message = `At most ${MAX_LIVE} ${what}s live at once, since each costs this process memory: destroy some first.`;
  return invalidArgument('name', message);
}

/** The outcome of a create whose maker waits for the memory: ready, or why it is not. */
export async function settledOf<T extends { life: MemoryLife<Mapping> }>(made: Outcome<T>): Promise<Outcome<T>> {
  if (isFailure(made)) return made;
  return (await made.life.settled) ?? made;
}
