import type { ServerResponse } from 'node:http';

/**
 * A stream whose next value is asked for only once the response has sent the ones before: graphql-sse takes values as fast as
 * they come and would keep them all for a client that reads slowly.
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
    if (this.response.writableNeedDrain) await sent(this.response);
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

/** Resolves once what was written is on its way, or nobody is there any more. */
function sent(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}
