/** Keeps count of operations that callers are waiting for, so that a shutdown can wait for them too. */
export class Activity {
  readonly #running = new Set<Promise<unknown>>();

  /** Counts an operation until it settles. */
  async track<T>(operation: Promise<T>): Promise<T> {
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
