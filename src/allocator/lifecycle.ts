import type { Failure, MemoryPlacement, PrefaultProgress } from '../../native/index.js';

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
export class MemoryLife {
  #state: PoolState = 'Prefaulting';
  #closing: Promise<number> | undefined;
  #prefaultDone: Promise<unknown> = Promise.resolve();
  readonly #placementAtStart: MemoryPlacement;

  /** Resolves when it is faulted in (undefined) or has failed; a failure has given back mapping and charge. */
  readonly settled: Promise<Failure | undefined>;

  constructor(
    private readonly mapping: Mapping,
    prefault: boolean,
  ) {
    this.#placementAtStart = mapping.placement();
    this.settled = prefault ? this.#faultIn() : this.#readyAtOnce();
  }

  /** Where it is in its life. */
  get state(): PoolState {
    return this.#state;
  }

  /** Wish and outcome; once it has failed or is being unmapped, without the bytes. */
  placement(): MemoryPlacement {
    if (this.#isMapped()) return this.mapping.placement();
    return { ...this.#placementAtStart, mappedBytes: 0, mappings: 0, bytesByNode: undefined };
  }

  /** How far it is faulted in. */
  progress(): PrefaultProgress {
    if (this.#isMapped()) return this.mapping.progress();
    return { residentBytes: 0, totalBytes: this.#placementAtStart.mappedBytes, done: false, threads: 0 };
  }

  /** Stops a running prefault, which then settles as cancelled. */
  cancel(): void {
    if (this.#state === 'Prefaulting') this.mapping.cancel();
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
    const releasedBytes = this.#isMapped() ? this.#placementAtStart.mappedBytes : 0;
    const wasPrefaulting = this.#state === 'Prefaulting';
    this.#state = 'Destroying';
    await this.mapping.close();
    if (wasPrefaulting) await this.#prefaultDone;
    return releasedBytes;
  }

  #isMapped(): boolean {
    return this.#state === 'Prefaulting' || this.#state === 'Ready';
  }

  #readyAtOnce(): Promise<undefined> {
    this.#state = 'Ready';
    return Promise.resolve(undefined);
  }

  async #faultIn(): Promise<Failure | undefined> {
    try {
      const prefault = this.mapping.prefault();
      this.#prefaultDone = prefault.catch(() => undefined);
      const failure = (await prefault) ?? undefined;
      if (this.#state === 'Prefaulting') this.#state = failure === undefined ? 'Ready' : 'Failed';
      return failure;
    } catch (bug) {
      await this.destroy();
      this.#state = 'Failed';
      throw bug;
    }
  }
}
