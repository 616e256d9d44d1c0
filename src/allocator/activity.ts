/**
 * Keeps count of creates that callers are waiting for, so that a shutdown can wait for them too, and takes no more of
 * them once it has begun.
 */
export class Activity {
  readonly #running = new Set<Promise<unknown>>();
  #closed = false;

  /** Whether no more is started. */
  get closed(): boolean {
    return this.#closed;
  }

  /** From now on nothing is started. */
  close(): void {
    this.#closed = true;
  }

  /** Starts an operation and counts it until it settles. Throws once closed: whoever takes requests asks `closed` first. */
  async track<T>(start: () => Promise<T>): Promise<T> {
    if (this.#closed) throw new Error('a create was started while shutting down');
    const operation = start();
    this.#running.add(operation);
    try {
      return await operation;
    } finally {
      this.#running.delete(operation);
    }
  }

  /** Resolves to true when nothing runs any more, or to false when something still does after `timeoutMs`. */
  async idle(timeoutMs: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<boolean>((resolve) => {
      timer = setTimeout(resolve, timeoutMs, false);
    });
    const done = this.#settleAll().then(() => true);
    return Promise.race([done, timeout]).finally(() => clearTimeout(timer));
  }

  async #settleAll(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }
}
