import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import WebSocket from 'ws';
import { CREATE_PAGED, DESTROY_POOL } from '../testkit/graphql.js';
import { descriptors } from '../testkit/process-state.js';
import { startServer, startServerForTest, type TestServer } from '../testkit/server.js';
import { all, transports } from '../testkit/streams.js';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const PROGRESS = `subscription($id: ID!) {
  poolProgress(id: $id) { id state ... on V4PagedHostPool { progress { residentBytes totalBytes done } } }
}`;

async function slowPool(name: string): Promise<string> {
  const input = { name, layerNum: 1, numHostPages: 512, itemBytes: '2MiB', slotPageSize: 1, wait: false };
  const pool = (await server.data(CREATE_PAGED, { input })).createV4PagedPool;
  expect(pool.state).toBe('PREFAULTING');
  return pool.id;
}

describe.each(transports)('over %s', (transport, open) => {
  it('poolProgress shows the pool at once, its progress, and ends at READY', async () => {
    const id = await slowPool(`ready ${transport}`);
    const seen = await all(open(server.url, PROGRESS, { id }));
    const pools = seen.map(({ data }) => data.poolProgress);
    expect(pools.at(-1)).toMatchObject({ id, state: 'READY', progress: { done: true, residentBytes: 2 ** 30 } });
    const resident = pools.map(({ progress }) => progress.residentBytes);
    expect(resident).toEqual([...resident].sort((a, b) => a - b));
    // How many there are in between is a matter of how fast this machine is.
    expect(pools.slice(0, -1).map(({ state }) => state)).toEqual(pools.slice(0, -1).map(() => 'PREFAULTING'));
    await server.data(DESTROY_POOL, { id });
  });

  it('poolProgress ends when the pool is destroyed', async () => {
    const id = await slowPool(`destroyed ${transport}`);
    const stream = open(server.url, PROGRESS, { id });
    const { state } = (await stream.results.next()).value.data.poolProgress;
    await server.data(DESTROY_POOL, { id });
    const rest = await all(stream);
    if (state === 'PREFAULTING') for (const { data } of rest) expect(data.poolProgress.state).not.toBe('READY');
  });

  it('poolProgress of an unknown pool is an error', async () => {
    const [result] = await all(open(server.url, PROGRESS, { id: 'nobody' }));
    expect(result.errors).toMatchObject([{ extensions: { code: 'NOT_FOUND', id: 'nobody' } }]);
  });

  it('hostMemory reads the host again and again', async () => {
    const query = 'subscription { hostMemory(intervalMs: 100) { memTotal observedAt } }';
    const stream = open(server.url, query);
    const first = (await stream.results.next()).value.data.hostMemory;
    const second = (await stream.results.next()).value.data.hostMemory;
    expect(first.memTotal).toBeGreaterThan(0);
    expect(Date.parse(second.observedAt)).toBeGreaterThan(Date.parse(first.observedAt));
    await stream.results.return?.();
    stream.dispose();
  });

  it.each([99, 60_001, 0, -1])('hostMemory refuses an interval of %s ms', async (intervalMs) => {
    const query = 'subscription($intervalMs: Int!) { hostMemory(intervalMs: $intervalMs) { memTotal } }';
    const [result] = await all(open(server.url, query, { intervalMs }));
    expect(result.errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }]);
  });

  it('bad documents are refused under the same limits', async () => {
    const flood = `{ ${Array.from({ length: 10_000 }, (_, n) => `a${n}: version`).join(' ')} }`;
    for (const query of [flood, '{ nothing }', '{ version @throwOnError }', '{']) {
      const outcome = await all(open(server.url, query)).then(
        ([result]) => result.errors,
        (errors) => errors,
      );
      expect(outcome[0].extensions.code).toMatch(/^GRAPHQL_(PARSE|VALIDATION)_FAILED$/);
    }
  });

  it('a client that vanishes leaves no connection and no timer behind', async () => {
    const own = await startServerForTest();
    await own.data('{ version }');
    const sockets = () => descriptors(own.pid).filter((target) => target.startsWith('socket:')).length;
    const before = sockets();
    const streams = Array.from({ length: 20 }, () =>
      open(own.url, 'subscription { hostMemory(intervalMs: 60000) { memTotal } }'),
    );
    for (const stream of streams) await stream.results.next();
    expect(sockets()).toBeGreaterThanOrEqual(before + 1);
    for (const stream of streams) stream.dispose();
    await vi.waitFor(() => expect(sockets()).toBeLessThanOrEqual(before), { timeout: 10_000, interval: 50 });
    // A timer of 60 s that was kept would keep the process from ending in order.
    expect(await own.stop()).toEqual({ code: 0, signal: null });
  });

  it('a shutdown ends the streams', async () => {
    const own = await startServerForTest();
    const stream = open(own.url, 'subscription { hostMemory(intervalMs: 60000) { memTotal } }');
    await stream.results.next();
    const rest = all(stream).catch(() => 'closed');
    expect(await own.stop()).toEqual({ code: 0, signal: null });
    await rest;
  });
});

describe('the doors', () => {
  it('refuses a WebSocket from a page of another site', async () => {
    const url = `${server.url.replace('http', 'ws')}/graphql`;
    const refused = (origin: string) =>
      new Promise((resolve) => {
        const socket = new WebSocket(url, 'graphql-transport-ws', { origin });
        socket.on('open', () => resolve('open')).on('error', (error) => resolve(error.message));
        socket.on('open', () => socket.close());
      });
    expect(await refused('https://elsewhere.example')).toContain('403');
    expect(await refused(server.url)).toBe('open');
  });

  it('refuses a subscription sent as a plain request', async () => {
    const { status, body } = await server.send('subscription { hostMemory { memTotal } }');
    expect(status).toBe(400);
    expect(body.errors[0].message).toContain('/graphql/stream');
  });

  it('serves streams only to those who accept them', async () => {
    const response = await fetch(`${server.url}/graphql/stream?query={version}`);
    expect(response.status).toBe(406);
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'NOT_ACCEPTABLE' } }] });
  });
});
