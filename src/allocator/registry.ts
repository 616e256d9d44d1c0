import type { AnswerRecord } from '../../native/index.js';
import { type Failure, type FailureOf, invalidArgument, isFailure, nameTaken, type Outcome } from './failure.js';
import { IdIssuer } from './ids.js';
import type { Mapping, MemoryLife } from './lifecycle.js';
import { checkName, type Holder, NameRegistry } from './names.js';
import { logFailedPrefault, logLanding } from './outcome-log.js';
import { type Kept, type Recorded, Records } from './records.js';
import type { ServiceDeps } from './service-deps.js';
import { differences, type IfExists, type Specification } from './specification.js';

/** The most pools that live at once, and the most buffers: each costs this process memory, bytes behind it or not. */
export const MAX_LIVE = 10_000;

/** The most failed ones that stay on the list; the oldest go first. */
export const MAX_FAILED = 1_000;

/** What a registry keeps. */
export interface Registered extends Recorded {
  readonly id: string;
  /** The life of its memory; undefined when it has none. */
  readonly life: MemoryLife<Mapping> | undefined;
  /** What it has beside memory. */
  readonly native?: { close(): void } | undefined;
}

/** A create: what it is to be, under which name, and how it is made. */
export interface Creation<T> {
  readonly name: string | undefined;
  readonly ifExists: IfExists;
  readonly specification: Specification;
  readonly make: () => Promise<Outcome<T>>;
}

/** Which one: new, or one that was kept. */
export type Identity = Pick<Registered, 'id' | 'number' | 'createdAt'>;

/** How one is put on the list. */
export interface Listing {
  /** Whether it stays on the list when its prefault fails. */
  readonly keepFailed: boolean;
  /** The answer to save with it. */
  readonly answer?: AnswerRecord | undefined;
  /** It has been kept already, and stays so when it fails: the next start tries again. */
  readonly restored?: boolean;
}

/** How one was put on the list: with which others, and in the place of which. */
interface Listed<T> extends Listing {
  readonly together: T[];
  readonly replaced: T[];
}

/** The pools, or the buffers, of this host: ids, names, how many, how they are kept and how they go. */
export class Registry<T extends Registered> {
  readonly #records: Records<T>;
  readonly #ids: IdIssuer;
  readonly #byId = new Map<string, T>();
  readonly #names = new NameRegistry<T>();
  readonly #failed = new Set<T>();
  readonly #removals = new Map<T, Promise<Outcome<number>>>();
  readonly #settled = new WeakMap<T, Promise<Failure | undefined>>();
  #closing = false;
  /** Those that are being made, and those that are on the list and have not failed. */
  #live = 0;

  constructor(
    private readonly what: 'pool' | 'host buffer',
    idPrefix: string,
    private readonly deps: Pick<ServiceDeps, 'log' | 'now' | 'state'>,
  ) {
    const kind = what === 'pool' ? 'Pool' : 'HostBuffer';
    this.#records = new Records(kind, deps.state);
    this.#ids = new IdIssuer(idPrefix, deps.state.idKey, deps.state.lastNumber(kind));
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
  newIdentity(): Identity {
    const number = this.#ids.nextNumber();
    return { id: this.#ids.idOf(number), number, createdAt: this.deps.now() };
  }

  /** Those that were kept, by number: which they are, and what they were asked as. */
  takeKept(): (Kept & Identity)[] {
    return this.#records.take().map((kept) => ({ ...kept, id: this.#ids.idOf(kept.number) }));
  }

  /**
   * Makes one that was kept anew, by a `make` that lists it as `restored`. One that cannot be had now is listed as failed; its
   * record stays.
   */
  async restore(
    { name, specification, make }: Omit<Creation<T>, 'ifExists'>,
    asFailed: (why: Failure) => T,
  ): Promise<void> {
    const failure = await this.create({ name, ifExists: 'Error', specification, make });
    if (!isFailure(failure)) return;
    const entry = asFailed(failure);
    await entry.life?.settled;
    this.deps.log.error(
      { name, id: entry.id, failure },
      `${this.what} could not be restored: it is tried again at the next start`,
    );
    this.#records.adopt(entry);
    this.#byId.set(entry.id, entry);
    this.#failed.add(entry);
    this.#settled.set(entry, Promise.resolve(failure));
  }

  /**
   * Puts those that `create` makes on the list, once all of them are on disk; when they cannot be saved, gives them all
   * back. One whose prefault fails gives up its name, its record, and its place unless that is to be kept.
   */
  async add<Added extends T>(entries: Added[], listing: Listing): Promise<Outcome<Added[]>> {
    for (const { life } of entries) life?.settled.catch(() => undefined);
    const replaced = this.#failedOfNames(entries);
    const notSaved = listing.restored ? undefined : await this.#records.save(entries, replaced, listing.answer);
    if (notSaved !== undefined) {
      await Promise.all(entries.map(giveBack));
      return notSaved;
    }
    for (const entry of entries) {
      if (listing.restored) this.#records.adopt(entry);
      this.#byId.set(entry.id, entry);
      if (entry.life !== undefined) this.#follow(entry, entry.life, { ...listing, together: entries, replaced });
    }
    return entries;
  }

  /** As `add`, for one. */
  async addOne<Added extends T>(entry: Added, listing: Listing): Promise<Outcome<Added>> {
    const added = await this.add([entry], listing);
    return isFailure(added) ? added : entry;
  }

  /** The outcome of a create that waits for the memory: ready, or why it is not; what is left of it is gone by then. */
  async settled<Made extends T>(made: Outcome<Made>): Promise<Outcome<Made>> {
    if (isFailure(made)) return made;
    return (await this.#settled.get(made)) ?? made;
  }

  /** Whether it is being removed. */
  isLeaving(entry: T): boolean {
    return this.#removals.has(entry);
  }

  /**
   * Forgets it on disk, then frees the name and unmaps; a running prefault is cancelled. Resolves to the bytes released, the
   * same for every caller, or to why it could not be forgotten: then it stays as it is.
   */
  remove(entry: T): Promise<Outcome<number>> {
    const removal = this.#removals.get(entry) ?? this.#remove(entry).finally(() => this.#removals.delete(entry));
    this.#removals.set(entry, removal);
    return removal;
  }

  /** Unmaps all, and keeps their records: the next start has them again. Resolves to the bytes released. */
  async unmapAll(): Promise<number> {
    this.#closing = true;
    await this.#records.settle();
    const released = await Promise.all(this.list().map((entry) => this.#letGo(entry)));
    return released.reduce((sum, bytes) => sum + bytes, 0);
  }

  /** Stops every running prefault, for a shutdown: what callers have been given is had again at the next start. */
  cancelRunning(): void {
    this.#closing = true;
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

  async #remove(entry: T): Promise<Outcome<number>> {
    return (await this.#records.drop(entry)) ?? this.#unmap(entry);
  }

  /** Unmaps it, unless that is under way because it is being removed. */
  async #letGo(entry: T): Promise<number> {
    const removed = await this.#removals.get(entry);
    return typeof removed === 'number' ? removed : this.#unmap(entry);
  }

  async #unmap(entry: T): Promise<number> {
    const releasing = giveBack(entry);
    this.#releaseName(entry);
    const releasedBytes = await releasing;
    this.#forget(entry);
    return releasedBytes;
  }

  /** Failed ones whose name comes up again are replaced: their records go when the new ones come. */
  #failedOfNames(entries: T[]): T[] {
    const names = new Set(entries.flatMap(({ name }) => name ?? []));
    return [...this.#failed].filter(({ name }) => name !== undefined && names.has(name));
  }

  #follow(entry: T, life: MemoryLife<Mapping>, listing: Listed<T>): void {
    const settled = this.#followUp(entry, life, listing);
    settled.catch(() => undefined);
    this.#settled.set(entry, settled);
  }

  async #followUp(entry: T, life: MemoryLife<Mapping>, listing: Listed<T>): Promise<Failure | undefined> {
    try {
      const failure = await life.settled;
      if (failure === undefined) {
        logLanding(this.deps.log, entry, life.placement());
        return undefined;
      }
      logFailedPrefault(this.deps.log, entry, failure);
      await this.#takeBack(entry, listing);
      if (life.state === 'Failed') this.#fail(entry, listing);
      return failure;
    } catch (err) {
      this.deps.log.error({ what: this.what, name: entry.name, id: entry.id, err }, 'prefault broke');
      await this.#takeBack(entry, listing);
      this.#fail(entry, listing);
      throw err;
    }
  }

  /**
   * A create that comes to nothing is forgotten on disk, with all that was made by it, and so is its answer. Only this one,
   * and not the answer, when its caller has been given it; not even that when it is a shutdown that stops it.
   */
  async #takeBack(entry: T, { keepFailed, answer, restored, together, replaced }: Listed<T>): Promise<void> {
    if (restored || (keepFailed && this.#closing)) return;
    const gone = keepFailed ? [entry] : together;
    const again = replaced.filter((earlier) => this.#failed.has(earlier));
    const notSaved = await this.#records.takeBack(gone, again, keepFailed ? undefined : answer);
    if (notSaved !== undefined)
      this.deps.log.error({ id: entry.id, failure: notSaved }, 'a failed create is on disk until the next save');
  }

  #fail(entry: T, { keepFailed }: Listing): void {
    this.#releaseName(entry);
    if (keepFailed) this.#keepFailed(entry);
    else this.#forget(entry);
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
    this.#records.letGo(entry);
    if (this.#byId.delete(entry.id) && !this.#failed.delete(entry)) this.#live -= 1;
  }
}

/** Unmaps its memory, or lets go of its bookkeeping. Resolves to the bytes released. */
function giveBack({ life, native }: Registered): number | Promise<number> {
  native?.close();
  return life?.destroy() ?? 0;
}

function tooMany(what: string): FailureOf<'InvalidArgument'> {
  const message = `At most ${MAX_LIVE} ${what}s live at once, since each costs this process memory: destroy some first.`;
  return invalidArgument('name', message);
}
