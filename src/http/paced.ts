import type { ServerResponse } from 'node:http';

/**
 * A stream whose next value is asked for only once the client's connection has taken the ones before, but for the last:
 * graphql-sse asks as fast as it can and would keep everything for a client that reads slowly.
 */
export function paced<T>(source: AsyncIterable<T>, response: ServerResponse): AsyncGenerator<T> {
  return new Paced(source[Symbol.asyncIterator](), response);
}

class Paced<T> implements AsyncGenerator<T> {
  constructor(
    private readonly source: AsyncIterator<T>,
    private readonly response: ServerResponse,
  ) {}

  async next(): Promise<IteratorResult<T>> {
    if (this.response.writableLength > 0 && !this.response.writableEnded) await flushed(this.response);
    return this.source.next();
  }

  async return(): Promise<IteratorResult<T>> {
    await this.source.return?.();
    return { value: undefined, done: true };
  }

  async throw(error: unknown): Promise<IteratorResult<T>> {
    await this.source.return?.();
    throw error;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.source.return?.();
  }
}

/** Resolves once the connection has taken what was written, or is gone: a write of nothing sends nothing, but stands in line. */
function flushed(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    response.write('', () => resolve());
  });
}
