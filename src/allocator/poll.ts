/** What one look gives: a value to hand on, or undefined to look again; `last` ends it afterwards. */
export interface Look<T> {
  readonly value: T | undefined;
  readonly last: boolean;
}

/**
 * Looks at once and then every `intervalMs`, handing on each value. Ends after a last look, after one that throws, when the consumer returns it
 * and when the signal aborts; its timer ends with it, at once and not at the next tick.
 */
export function poll<T>(
  intervalMs: number,
  look: () => Promise<Look<T>>,
  signal: AbortSignal,
): AsyncIterableIterator<T> {
  return new Poll(intervalMs, look, signal);
}

class Poll<T> implements AsyncIterableIterator<T> {
  #started = false;
  #ended = false;
  #wake: (() => void) | undefined;
  readonly #end = () => {
    this.#ended = true;
    this.signal.removeEventListener('abort', this.#end);
    this.#wake?.();
  };

  constructor(
    private readonly intervalMs: number,
    private readonly look: () => Promise<Look<T>>,
    private readonly signal: AbortSignal,
  ) {
    if (signal.aborted) this.#ended = true;
    else signal.addEventListener('abort', this.#end);
  }

  async next(): Promise<IteratorResult<T>> {
    while (!this.#ended) {
      if (this.#started) await this.#pause();
      if (this.#ended) break;
      this.#started = true;
      const { value, last } = await this.#look();
      if (last) this.#end();
      if (value !== undefined) return { value, done: false };
    }
    return { value: undefined, done: true };
  }

  /** A look that throws is the last. */
  async #look(): Promise<Look<T>> {
    try {
      return await this.look();
    } catch (error) {
      this.#end();
      throw error;
    }
  }

  async return(): Promise<IteratorResult<T>> {
    this.#end();
    return { value: undefined, done: true };
  }

  async throw(error: unknown): Promise<IteratorResult<T>> {
    this.#end();
    throw error;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.intervalMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
