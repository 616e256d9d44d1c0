import { existsSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import { CREATE_PAGED } from '../testkit/graphql.js';
import { startServerForTest, type TestServer } from '../testkit/server.js';

const prefaulting = async (server: TestServer) =>
  vi.waitFor(async () => expect((await server.data('{ pools(state: PREFAULTING) { id } }')).pools).toHaveLength(1), {
    timeout: 10_000,
    interval: 10,
  });

const create = (server: TestServer, numHostPages: number) =>
  server.data(CREATE_PAGED, { input: { name: 'kv', layerNum: 1, numHostPages, itemBytes: '2MiB', slotPageSize: 1 } });

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

  it('unmaps a pool that nobody waits for', async () => {
    const server = await startServerForTest();
    const input = { name: 'kv', layerNum: 1, numHostPages: 1024, itemBytes: '2MiB', slotPageSize: 1, wait: false };
    await server.data(CREATE_PAGED, { input });
    expect(await server.stop()).toEqual({ code: 0, signal: null });
    expect(server.log).toContainEqual(expect.objectContaining({ msg: 'shut down', releasedBytes: 2 ** 31 }));
  });

  it('exits at once at a second signal', async () => {
    const server = await startServerForTest();
    const creating = create(server, 2048).catch((error: Error) => error);
    await prefaulting(server);
    server.child.kill('SIGTERM');
    await vi.waitFor(() => expect(server.log.map(({ msg }) => msg)).toContain('shutting down'), { interval: 10 });
    server.child.kill('SIGTERM');
    expect(await server.exit).toEqual({ code: 1, signal: null });
    expect(await creating).toBeInstanceOf(Error);
  });

  it('takes the two SIGINTs of one Ctrl-C under npm for one', async () => {
    const server = await startServerForTest();
    const creating = create(server, 512);
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
