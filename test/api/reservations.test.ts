import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ALLOCATE_BUFFER, COMMIT, CREATE_BUDGET, RELEASE, RENEW, RESERVE } from '../testkit/graphql.js';
import { type FakeHost, fakeHost, plainHost } from '../testkit/host-root.js';
import { idleProcess } from '../testkit/process.js';
import { descriptors } from '../testkit/process-state.js';
import { startServer, startServerForTest, type TestServer } from '../testkit/server.js';

const MIB = 2 ** 20;
const GIB = 2 ** 30;
let host: FakeHost;
let server: TestServer;

beforeAll(async () => {
  host = plainHost(20 * GIB);
  server = await startServer({ HOSTPOOL_HOST_ROOT: host.path });
});
afterAll(async () => {
  expect(await charged()).toBe(0);
  expect(await server.stop()).toEqual({ code: 0, signal: null });
  host.remove();
});

// biome-ignore lint/suspicious/noExplicitAny: answers are as dynamic as the queries that tests write
type Answer = any;
const only = (query: string, variables: unknown): Promise<Answer> => server.only(query, variables);
const reserve = (input: object) => only(RESERVE, { input: { bytes: MIB, holder: 'engine', ...input } });
const release = (id: string) => only(RELEASE, { id });
const renew = (id: string, ttlSeconds: number) => only(RENEW, { id, ttlSeconds });
const charged = async (): Promise<number> => (await server.data('{ budget { chargedBytes } }')).budget.chargedBytes;
const liveIds = async () => (await server.data('{ reservations { id } }')).reservations.map(({ id }: Answer) => id);
const until = (look: () => Promise<void> | void) => vi.waitFor(look, { timeout: 30_000, interval: 20 });
const logged = (msg: string, id: string) => server.log.find((line) => line.msg === msg && line.id === id);

describe('a reservation', () => {
  it('is held, committed and released, and is counted from the first to the last', async () => {
    const held = await reserve({ bytes: '3GiB', holder: 'engine 7' });
    expect(held).toMatchObject({
      __typename: 'Reservation',
      budget: 'host',
      rank: null,
      bytes: 3 * GIB,
      backing: 'ANONYMOUS',
      hugepageSize: null,
      numaNode: -1,
      holder: 'engine 7',
      pid: null,
      state: 'HELD',
      residentBytes: 0,
      expiresAt: null,
    });
    expect(Date.parse(held.createdAt)).toBeGreaterThan(Date.now() - 60_000);
    expect(await charged()).toBe(3 * GIB);
    expect((await server.data('{ budget { availableBytes } }')).budget.availableBytes).toBe(17 * GIB);
    const committed = await only(COMMIT, { id: held.id });
    expect(committed).toMatchObject({ id: held.id, state: 'COMMITTED', residentBytes: 3 * GIB });
    expect(await only(COMMIT, { id: held.id })).toMatchObject({ state: 'COMMITTED' });
    expect(await liveIds()).toEqual([held.id]);
    for (const _twice of [1, 2]) expect(await release(held.id)).toMatchObject({ id: held.id, state: 'RELEASED' });
    expect(await liveIds()).toEqual([]);
    expect(await charged()).toBe(0);
  });

  it('keeps its backing to its end', async () => {
    const { id } = await reserve({ backing: 'ANONYMOUS_SHM', numaNode: 0 });
    expect(await release(id)).toMatchObject({ backing: 'ANONYMOUS_SHM', numaNode: 0, hugepageSize: null });
  });

  it('that was released can be neither committed nor renewed', async () => {
    const { id } = await reserve({});
    await release(id);
    for (const refused of [await only(COMMIT, { id }), await renew(id, 60)]) {
      expect(refused).toMatchObject({ code: 'LEASE_EXPIRED', ended: id });
      expect(refused.message).toBe(`Reservation "${id}" has ended: it was released.`);
      expect(Date.parse(refused.expiredAt)).toBeGreaterThan(Date.now() - 60_000);
    }
  });

  it('is known by its own id only', async () => {
    const { id } = await reserve({});
    const foreign = ['nobody', '', '0', id.replace(/_[^_]+$/, '_0123456789abcdef'), id.toUpperCase(), `${id} `];
    for (const other of foreign) {
      expect(await release(other)).toMatchObject({ code: 'NOT_FOUND', unknown: other });
      expect(await renew(other, 1)).toMatchObject({ code: 'NOT_FOUND' });
      expect(await only(COMMIT, { id: other })).toMatchObject({ code: 'NOT_FOUND' });
    }
    expect((await release(id)).state).toBe('RELEASED');
  });

  it('makes buffers see what it holds', async () => {
    const { id } = await reserve({ bytes: '20GiB' });
    const refused = await only(ALLOCATE_BUFFER, { input: { nbytes: MIB } });
    expect(refused).toMatchObject({ code: 'HOST_BUFFER_ALLOCATION_FAILED', reason: 'HOST_MEMORY_EXHAUSTED' });
    await release(id);
  });

  it.each([
    ['bytes', { bytes: 0 }],
    ['bytes', { bytes: -1 }],
    ['bytes', { bytes: 1.5 }],
    ['bytes', { bytes: 2 ** 53 }],
    ['bytes', { bytes: 2 ** 53 - 1 }],
    ['holder', { holder: '' }],
    ['holder', { holder: 'x'.repeat(257) }],
    ['holder', { holder: 'a\u0000b' }],
    ['holder', { holder: 'a\nb' }],
    ['pid', { pid: 0 }],
    ['pid', { pid: -1 }],
    ['pid', { pid: 2 ** 31 - 1 }],
    ['ttlSeconds', { ttlSeconds: 0 }],
    ['ttlSeconds', { ttlSeconds: -5 }],
    ['ttlSeconds', { ttlSeconds: 2 ** 31 - 1 }],
    ['rank', { rank: 1 }],
    ['numaNode', { numaNode: 5 }],
    ['numaNode', { numaNode: -2 }],
    ['hugepageSize', { backing: 'ANONYMOUS_HUGETLB', hugepageSize: '3MiB' }],
  ])('is refused by the name of the field: %s in %j', async (field, input) => {
    const refused = await reserve(input);
    expect(refused).toMatchObject({ code: 'INVALID_ARGUMENT', field });
    expect(refused.message).toContain(field === 'holder' ? 'holder' : field);
    expect(refused.message.length).toBeLessThan(200);
  });

  it('of 256 characters in its holder is accepted', async () => {
    const { id, holder } = await reserve({ holder: 'é'.repeat(256) });
    expect(holder).toBe('é'.repeat(256));
    await release(id);
  });
});

describe('a reservation ends by itself', () => {
  it('when its process is killed, and not while it lives', async () => {
    const [dying, living] = [await idleProcess(), await idleProcess()];
    const doomed = await reserve({ bytes: '2GiB', pid: dying.pid, holder: 'rank 0' });
    const safe = await reserve({ bytes: '1GiB', pid: living.pid });
    expect(doomed).toMatchObject({ pid: dying.pid, state: 'HELD' });
    await dying.kill();
    await until(async () => expect(await charged()).toBe(GIB));
    expect(await liveIds()).toEqual([safe.id]);
    const gone = await release(doomed.id);
    expect(gone).toMatchObject({ code: 'LEASE_EXPIRED', ended: doomed.id });
    expect(gone.message).toContain('lost its process');
    await until(() => expect(logged('reservation ended', doomed.id)).toBeDefined());
    const line = { holder: 'rank 0', pid: dying.pid, bytes: 2 * GIB, reason: 'OwnerDied', level: 'warn' };
    expect(logged('reservation ended', doomed.id)).toMatchObject(line);
    expect(await reserve({ pid: dying.pid })).toMatchObject({ code: 'INVALID_ARGUMENT', field: 'pid' });
    await release(safe.id);
  });

  it('when its time runs out, unless it was renewed', async () => {
    const [renewed, left] = [await reserve({ ttlSeconds: 2 }), await reserve({ ttlSeconds: 2 })];
    expect(Date.parse(left.expiresAt) - Date.parse(left.createdAt)).toBe(2000);
    const later = await renew(renewed.id, 600);
    expect(Date.parse(later.expiresAt)).toBeGreaterThan(Date.parse(renewed.expiresAt));
    await until(async () => expect(await liveIds()).toEqual([renewed.id]));
    expect(await charged()).toBe(MIB);
    const expired = await renew(left.id, 600);
    expect(expired).toMatchObject({ code: 'LEASE_EXPIRED' });
    expect(Date.parse(expired.expiredAt)).toBeGreaterThanOrEqual(Date.parse(left.expiresAt));
    await until(() => expect(logged('reservation ended', left.id)).toMatchObject({ reason: 'Expired', bytes: MIB }));
    expect((await release(renewed.id)).state).toBe('RELEASED');
  });
});

describe('the log', () => {
  it('has a line for a grant and one for its release, once', async () => {
    const { id } = await reserve({ holder: 'logged' });
    for (const _twice of [1, 2]) await release(id);
    await until(() => expect(logged('reservation ended', id)).toBeDefined());
    const fields = { id, holder: 'logged', bytes: MIB, budget: 'host', level: 'info' };
    expect(server.log.filter((line) => line.id === id)).toMatchObject([
      { ...fields, msg: 'reservation granted' },
      { ...fields, msg: 'reservation ended', reason: 'Released' },
    ]);
  });
});

describe('hugepage reservations', () => {
  it('are held against the hugepages of their size, never against ordinary memory', async () => {
    const pages = 'sys/kernel/mm/hugepages/hugepages-2048kB';
    const machine = fakeHost({
      'proc/meminfo': 'MemTotal: 1048576 kB\nMemFree: 4096 kB\nMemAvailable: 4096 kB\n',
      [`${pages}/nr_hugepages`]: '16\n',
      [`${pages}/free_hugepages`]: '12\n',
      [`${pages}/resv_hugepages`]: '2\n',
      [`${pages}/surplus_hugepages`]: '0\n',
    });
    const other = await startServerForTest({ HOSTPOOL_HOST_ROOT: machine.path });
    const ask = async (bytes: string) =>
      (await other.data(RESERVE, { input: { bytes, holder: 'engine', backing: 'ANONYMOUS_HUGETLB' } }))
        .reserveHostMemory;
    expect(await ask('19MiB')).toMatchObject({ state: 'HELD', hugepageSize: 2 * MIB, bytes: 19 * MIB });
    expect(await ask('1MiB')).toMatchObject({
      code: 'BUDGET_EXCEEDED',
      limitedBy: 'HUGEPAGES',
      requestedBytes: 2 * MIB,
      availableBytes: 0,
    });
    machine.remove();
  });
});

describe('many at once', () => {
  it('200 askers are never promised more than the budget, and all of it', async () => {
    await only(CREATE_BUDGET, { input: { name: 'crowd', requestedBytes: '1GiB' } });
    const asked = await Promise.all(
      Array.from({ length: 200 }, (_, n) => reserve({ budget: 'crowd', bytes: '16MiB', holder: `engine ${n}` })),
    );
    const granted = asked.filter(({ state }) => state === 'HELD');
    expect(granted).toHaveLength(64);
    expect(asked.filter(({ limitedBy }) => limitedBy === 'BUDGET_CAP')).toHaveLength(136);
    const { budget } = await server.data('{ budget(name: "crowd") { chargedBytes overBudget } }');
    expect(budget).toEqual({ chargedBytes: GIB, overBudget: false });
    await Promise.all(granted.map(({ id }) => release(id)));
  });

  it('200 tied to one process leave no descriptor behind when it dies', async () => {
    const before = descriptors(server.pid).length;
    const holder = await idleProcess();
    await Promise.all(Array.from({ length: 200 }, () => reserve({ pid: holder.pid })));
    expect(await charged()).toBe(200 * MIB);
    await holder.kill();
    await until(async () => expect(await charged()).toBe(0));
    await until(() => expect(descriptors(server.pid).filter((to) => to.includes('pidfd'))).toEqual([]));
    expect(descriptors(server.pid).length).toBeLessThan(before + 200);
  });
});
