import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { createClient } from 'graphql-ws';
import { describe, expect, it, vi } from 'vitest';
import WebSocket from 'ws';
import { CREATE_PAGED, DESTROY_POOL } from '../testkit/graphql.js';
import { startServerForTest, type TestServer } from '../testkit/server.js';

const prefaulting = async (server: TestServer) =>
  vi.waitFor(
    async () =>
      expect((await server.data('{ pools(state: PREFAULTING) { name } }')).pools).toContainEqual({ name: 'kv' }),
    {
      timeout: 10_000,
      interval: 10,
    },
  );

const create = (server: TestServer, numHostPages: number) =>
  server.data(CREATE_PAGED, { input: { name: 'kv', layerNum: 1, numHostPages, itemBytes: '2MiB', slotPageSize: 1 } });

/** The server closes the connection; the operation on it is told. */
const onNonLazyError = () => undefined;

describe('shutting down', () => {
  it('finishes a running create, refuses new operations meanwhile, frees everything and exits 0', async () => {
    const server = await startServerForTest();
    const creating = create(server, 1024);
    await prefaulting(server);
    server.child.kill('SIGTERM');
    await vi.waitFor(async () => expect((await fetch(`${server.url}/readyz`)).status).toBe(503), { interval: 10 });
    const refused = await server.send('{ version }');
    expect([refused.status, refused.body]).toMatchObject([
      503,
      { errors: [{ extensions: { code: 'SHUTTING_DOWN' } }] },
    ]);
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    expect((await creating).createV4PagedPool).toMatchObject({ state: 'READY' });
    expect(await server.exit).toEqual({ code: 0, signal: null });
    expect(server.log).toContainEqual(expect.objectContaining({ msg: 'shut down', releasedBytes: 2 ** 31 }));
    expect(existsSync(`/proc/${server.pid}`)).toBe(false);
  });

  it('refuses what comes over a WebSocket that is open, so that no client can keep it alive', async () => {
    const server = await startServerForTest();
    const url = `${server.url.replace('http', 'ws')}/graphql`;
    const client = createClient({ url, webSocketImpl: WebSocket, retryAttempts: 0, lazy: false, onNonLazyError });
    const run = async (query: string, variables: Record<string, unknown>) =>
      (await client.iterate({ query, variables }).next()).value;
    let refusal: unknown;
    const churn = async (name: string) => {
      const input = { name, layerNum: 1, numHostPages: 16, itemBytes: '2MiB', slotPageSize: 1 };
      while (refusal === undefined) {
        const made = await run(CREATE_PAGED, { input });
        await run(DESTROY_POOL, { id: made.data.createV4PagedPool.id });
      }
    };
    const churning = ['a', 'b', 'c'].map((name) =>
      churn(name).catch((error: unknown) => {
        refusal ??= error;
      }),
    );
    await run('{ version }', {});
    const creating = create(server, 1024);
    await prefaulting(server);
    expect(await server.stop()).toEqual({ code: 0, signal: null });
    expect(refusal).toMatchObject([{ extensions: { code: 'SHUTTING_DOWN' } }]);
    await Promise.all([creating, ...churning]);
  });

  it('begins no create of a document that was running before', async () => {
    const server = await startServerForTest();
    const slow = '{ name: "kv", layerNum: 1, numHostPages: 1024, itemBytes: "2MiB", slotPageSize: 1 }';
    const sending = server.send(`mutation {
      a: createV4PagedPool(input: ${slow}) { __typename }
      b: createLogicalHostPool(input: { name: "l", size: 8, pageSize: 8 }) { __typename }
      c: createV4PagedPool(input: { name: "p", layerNum: 1, numHostPages: 1, itemBytes: 1, slotPageSize: 1 }) { __typename }
      d: allocateHostBuffer(input: { nbytes: 1 }) { __typename }
      e: reserveHostMemory(input: { bytes: 1, holder: "h", ttlSeconds: 60 }) { __typename }
    }`);
    await prefaulting(server);
    server.child.kill('SIGTERM');
    const { body } = await sending;
    expect(body.data).toEqual({ a: { __typename: 'V4PagedHostPool' }, b: null, c: null, d: null, e: null });
    const refused = { extensions: { code: 'SHUTTING_DOWN' }, message: expect.stringContaining('shutting down') };
    expect(body.errors).toMatchObject([refused, refused, refused, refused]);
    expect(await server.exit).toEqual({ code: 0, signal: null });
  });

  it('refuses a request whose body comes only then, on a connection that was open', async () => {
    const server = await startServerForTest();
    const body = JSON.stringify({ query: '{ version }' });
    const headers = { 'content-type': 'application/json', 'content-length': body.length, expect: '100-continue' };
    const late = request(`${server.url}/graphql`, { method: 'POST', headers });
    late.flushHeaders();
    await once(late, 'continue');
    const creating = create(server, 1024);
    await prefaulting(server);
    server.child.kill('SIGTERM');
    await vi.waitFor(() => expect(server.log.map(({ msg }) => msg)).toContain('shutting down'), { interval: 10 });
    late.end(body);
    const [response]: [IncomingMessage] = (await once(late, 'response')) as never;
    expect(response.statusCode).toBe(503);
    response.resume();
    expect((await creating).createV4PagedPool).toMatchObject({ state: 'READY' });
    expect(await server.exit).toEqual({ code: 0, signal: null });
  });

  // The time-out is well below the half minute that a client has who is closed in order, and far above what is needed.
  it('cuts off a WebSocket client that says nothing', { timeout: 25_000 }, async () => {
    const server = await startServerForTest();
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    const key = 'dGhlIHNhbXBsZSBub25jZQ==';
    const lines = [
      'GET /graphql HTTP/1.1',
      'Host: localhost',
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      `Sec-WebSocket-Key: ${key}`,
      'Sec-WebSocket-Protocol: graphql-transport-ws',
    ];
    socket.write(`${lines.join('\r\n')}\r\n\r\n`);
    const [upgraded] = await once(socket, 'data');
    expect(String(upgraded)).toContain('101 Switching Protocols');
    expect(await server.stop()).toEqual({ code: 0, signal: null });
    socket.destroy();
  });

  it('unmaps a pool that nobody waits for', async () => {
    const server = await startServerForTest();
    const input = { name: 'kv', layerNum: 1, numHostPages: 1024, itemBytes: '2MiB', slotPageSize: 1, wait: false };
    await server.data(CREATE_PAGED, { input });
    expect(await server.stop()).toEqual({ code: 0, signal: null });
    expect(server.log).toContainEqual(expect.objectContaining({ msg: 'shut down', releasedBytes: 2 ** 31 }));
  });

  it('exits at once at a second signal', async () => {
    const server = await startServerForTest();
    const creating = create(server, 1024).catch((error: Error) => error);
    await prefaulting(server);
    server.child.kill('SIGTERM');
    await vi.waitFor(() => expect(server.log.map(({ msg }) => msg)).toContain('shutting down'), { interval: 10 });
    server.child.kill('SIGTERM');
    expect(await server.exit).toEqual({ code: 1, signal: null });
    expect(await creating).toBeInstanceOf(Error);
  });

  it('takes the two SIGINTs of one Ctrl-C under npm for one', async () => {
    const server = await startServerForTest();
    const creating = create(server, 1024);
    await prefaulting(server);
    server.child.kill('SIGINT');
    server.child.kill('SIGINT');
    expect((await creating).createV4PagedPool).toMatchObject({ state: 'READY' });
    expect(await server.exit).toEqual({ code: 0, signal: null });
  });

  it('is the same for SIGINT', async () => {
    const server = await startServerForTest();
    server.child.kill('SIGINT');
    expect(await server.exit).toEqual({ code: 0, signal: null });
  });
});
