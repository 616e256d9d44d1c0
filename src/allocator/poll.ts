/** What one look gives: values to hand on, or none to look again. */
export interface Look<T> {
  readonly values: readonly T[];
  /** It ends once these are handed on. */
  readonly last: boolean;
  /** There is more to see already: the next look comes as soon as these are handed on. */
  readonly more?: boolean;
}

/**
 * Looks at once and then every `intervalMs`, handing on each value; it looks again only once they are taken. Ends after a last
 * look, after one that throws, when the consumer returns it and when the signal aborts; its timer ends with it, at once and not
 * at the next tick.
 */
export function poll<T>(
  intervalMs: number,
  look: () => Promise<Look<T>>,
  signal: AbortSignal,
): AsyncIterableIterator<T> {
  return new Poll(intervalMs, look, signal);
}

class Poll<T> implements AsyncIterableIterator<T> {
  #waiting: T[] = [];
  /** Whether the next look comes without a pause. */
  #atOnce = true;
  #last = false;
  #ended = false;
  #wake: (() => void) | undefined;
  readonly #end = () => {
    this.#ended = true;
    this.#waiting = [];
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
      if (this.#waiting.length === 0) await this.#look();
      const value = this.#waiting.shift();
      if (this.#last && this.#waiting.length === 0) this.#end();
      if (value !== undefined) return { value, done: false };
    }
    return { value: undefined, done: true };
  }

  /** A look that throws is the last. */
  async #look(): Promise<void> {
    if (!this.#atOnce) await this.#pause();
    if (this.#ended) return;
    try {
      const { values, last, more } = await this.look();
      this.#atOnce = more ?? false;
      this.#last = last;
      if (!this.#ended) this.#waiting = [...values];
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
