import { createClient } from 'graphql-ws';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import WebSocket from 'ws';
import { startServer, type TestServer } from '../testkit/server.js';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

describe('a body that is no operation, at the door for server-sent events', () => {
  const bodies = [
    'null',
    '[]',
    '7',
    '{}',
    '{"query":5}',
    '{"query":"{version}","operationName":5}',
    '{"query":"{version}","variables":[1]}',
  ];

  it.each(bodies)('%s is answered, and nothing stays open', async (body) => {
    const response = await fetch(`${server.url}/graphql/stream`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
      body,
    });
    expect([response.status, await response.json()]).toEqual([
      400,
      { errors: [{ message: expect.any(String), extensions: { code: 'BAD_REQUEST' } }] },
    ]);
  });
});

describe('a document nested thousands deep', () => {
  const deep = '{a'.repeat(3_000) + '}'.repeat(3_000);

  it('is refused over a WebSocket that stays open for the others', async () => {
    const client = createClient({ url: `${server.url.replace('http', 'ws')}/graphql`, webSocketImpl: WebSocket });
    const run = (query: string) =>
      new Promise<unknown>((resolve) => {
        let value: unknown;
        const next = (result: unknown) => {
          value = result;
        };
        client.subscribe({ query }, { next, error: resolve, complete: () => resolve(value) });
      });
    expect(await run(deep)).toEqual([{ message: expect.any(String), extensions: { code: 'GRAPHQL_PARSE_FAILED' } }]);
    expect(await run('{ version }')).toMatchObject({ data: { version: expect.any(String) } });
    await client.dispose();
  });
});
