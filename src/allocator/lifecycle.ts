import type { MemoryPlacement, PrefaultProgress } from '../../native/index.js';
import type { Failure } from './failure.js';

/** The life of a pool or buffer. */
export type PoolState = 'Allocating' | 'Prefaulting' | 'Ready' | 'Failed' | 'Destroying';

/** What pools and buffers of the addon have in common. */
export interface Mapping {
  placement(): MemoryPlacement;
  progress(): PrefaultProgress;
  prefault(): Promise<Failure | undefined | null>;
  cancel(): void;
  close(): Promise<number>;
}

/**
 * Mapped memory from its mapping to its unmapping: Prefaulting -> Ready | Failed, and Destroying from each.
 * Faulting in and unmapping run off the event loop, in the addon.
 */
export class MemoryLife<M extends Mapping> {
  #mapping: M | undefined;
  #state: PoolState = 'Prefaulting';
  #closing: Promise<number> | undefined;
  #prefaultDone: Promise<unknown> = Promise.resolve();
  readonly #placementAtStart: MemoryPlacement;

  /** Resolves when it is faulted in (undefined) or has failed; a failure has given back mapping and charge. */
  readonly settled: Promise<Failure | undefined>;

  constructor(mapping: M, prefault: boolean) {
    this.#mapping = mapping;
    this.#placementAtStart = mapping.placement();
    this.settled = prefault ? this.#faultIn(mapping) : this.#readyAtOnce();
  }

  /** The life of memory that could not be had: Failed once `settled` has resolved. */
  static failed<M extends Mapping>(placement: MemoryPlacement, failure: Failure): MemoryLife<M> {
    const neverMapped: Mapping = {
      placement: () => placement,
      progress: () => ({ residentBytes: 0, totalBytes: placement.mappedBytes, done: false, threads: 0 }),
      prefault: () => Promise.resolve(failure),
      cancel: () => undefined,
      close: () => Promise.resolve(0),
    };
    return new MemoryLife(neverMapped as M, true);
  }

  /** Where it is in its life. */
  get state(): PoolState {
    return this.#state;
  }

  /** What the addon holds for it; undefined once it has failed or is being unmapped. */
  get mapped(): M | undefined {
    return this.#state === 'Prefaulting' || this.#state === 'Ready' ? this.#mapping : undefined;
  }

  /** Wish and outcome; once it has failed or is being unmapped, without the bytes. */
  placement(): MemoryPlacement {
    if (this.mapped !== undefined) return this.mapped.placement();
    return {
      ...this.#placementAtStart,
      mappedBytes: 0,
      mappings: 0,
      bytesByNode: undefined,
      transparentHugepageBytes: undefined,
    };
  }

  /** How far it is faulted in. */
  progress(): PrefaultProgress {
    if (this.mapped !== undefined) return this.mapped.progress();
    return { residentBytes: 0, totalBytes: this.#placementAtStart.mappedBytes, done: false, threads: 0 };
  }

  /** Stops a running prefault, which then settles as cancelled. */
  cancel(): void {
    if (this.#state === 'Prefaulting') this.#mapping?.cancel();
  }

  /** Unmaps it, cancelling a running prefault. Resolves to the bytes released, the same for every caller. */
  destroy(): Promise<number> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /**
   * A cancelled prefault gives its memory back by itself, so which of the two does is a race: what was held is known
   * before, and both are waited for.
   */
  async #close(): Promise<number> {
    const releasedBytes = this.mapped === undefined ? 0 : this.#placementAtStart.mappedBytes;
    const wasPrefaulting = this.#state === 'Prefaulting';
    this.#state = 'Destroying';
    await this.#mapping?.close();
    this.#mapping = undefined;
    if (wasPrefaulting) await this.#prefaultDone;
    return releasedBytes;
  }

  #readyAtOnce(): Promise<undefined> {
    this.#state = 'Ready';
    return Promise.resolve(undefined);
  }

  /** A failed prefault has given everything back: what the addon kept of it is let go. */
  #endPrefault(failure: Failure | undefined): void {
    this.#state = failure === undefined ? 'Ready' : 'Failed';
    if (failure !== undefined) this.#mapping = undefined;
  }

  async #faultIn(mapping: M): Promise<Failure | undefined> {
    try {
      const prefault = mapping.prefault();
      this.#prefaultDone = prefault.catch(() => undefined);
      const failure = (await prefault) ?? undefined;
      if (this.#state === 'Prefaulting') this.#endPrefault(failure);
      return failure;
    } catch (bug) {
      await this.destroy();
      this.#state = 'Failed';
      throw bug;
    }
  }
}
