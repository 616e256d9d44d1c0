import { rmSync } from 'node:fs';
import { expect, it, onTestFinished, vi } from 'vitest';
import {
  ALLOCATE_BUFFER,
  ALLOCATE_SLOTS,
  COMMIT,
  CREATE_BUDGET,
  CREATE_PAGED,
  DESTROY_POOL,
  FREE_BUFFER,
  RELEASE,
  RENEW,
  RESERVE,
  UPDATE_BUDGET,
} from '../../testkit/graphql.js';
import { plainHost } from '../../testkit/host-root.js';
import { idleProcess } from '../../testkit/process.js';
import { startServerForTest, stateFolder, type TestServer } from '../../testkit/server.js';

const MIB = 2 ** 20;
const SET_HOST = 'mutation($input: SetHostBudgetInput!) { setHostBudget(input: $input) { __typename } }';
const paged = (name: string, more: object = {}) => ({
  input: { name, layerNum: 2, numHostPages: 16, itemBytes: 4096, slotPageSize: 8, ...more },
});

function newState(): Record<string, string> {
  const folder = stateFolder();
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return { HOSTPOOL_STATE_DIR: folder };
}

async function killed(server: TestServer): Promise<void> {
  server.child.kill('SIGKILL');
  await server.exit;
}

const POOLS = '{ pools { id name kind state size availableSlots createdAt } budget { chargedBytes } }';

for (const [how, end] of [
  ['an orderly stop', (server: TestServer) => server.stop()],
  ['kill -9', killed],
] as const) {
  it(`pools come back after ${how} as they were asked for, with every slot free`, async () => {
    const env = newState();
    const first = await startServerForTest(env);
    const { createV4PagedPool: made } = await first.data(CREATE_PAGED, paged('kv'));
    await first.data(ALLOCATE_SLOTS, { input: { pool: made.id, needSize: 8 } });
    const before = await first.data(POOLS);
    await end(first);
    const second = await startServerForTest(env);
    const after = await vi.waitFor(async () => {
      const shown = await second.data(POOLS);
      expect(shown.pools[0].state).toBe('READY');
      return shown;
    });
    expect(after.pools).toEqual([{ ...before.pools[0], availableSlots: 128 }]);
    expect(after.budget).toEqual(before.budget);
    const { createV4PagedPool: other } = await second.data(CREATE_PAGED, paged('other'));
    expect(other.id).not.toBe(made.id);
  });
}

it('a pool that no longer fits is FAILED, tried again at the next start, and replaced by a new one of its name', async () => {
  const [env, roomy, tight] = [newState(), plainHost(64 * MIB), plainHost(MIB)];
  onTestFinished(() => {
    for (const host of [roomy, tight]) host.remove();
  });
  const first = await startServerForTest({ ...env, HOSTPOOL_HOST_ROOT: roomy.path });
  const large = paged('kv', { itemBytes: MIB, memory: { prefault: false } });
  const { createV4PagedPool: made } = await first.data(CREATE_PAGED, large);
  await first.stop();
  const second = await startServerForTest({ ...env, HOSTPOOL_HOST_ROOT: tight.path });
  expect((await second.data(POOLS)).pools).toMatchObject([{ id: made.id, name: 'kv', state: 'FAILED' }]);
  expect(second.log.filter(({ msg }) => msg.startsWith('pool could not be restored'))).toHaveLength(1);
  await second.stop();
  const third = await startServerForTest({ ...env, HOSTPOOL_HOST_ROOT: roomy.path });
  expect((await third.data(POOLS)).pools).toMatchObject([{ id: made.id, state: 'READY' }]);
  await third.stop();
  const fourth = await startServerForTest({ ...env, HOSTPOOL_HOST_ROOT: tight.path });
  const { createV4PagedPool: small } = await fourth.data(CREATE_PAGED, paged('kv'));
  await killed(fourth);
  const fifth = await startServerForTest({ ...env, HOSTPOOL_HOST_ROOT: roomy.path });
  expect((await fifth.data(POOLS)).pools.map(({ id }: { id: string }) => id)).toEqual([small.id]);
});

it('pools come back whatever has become of their budget: closed, or smaller than they are', async () => {
  const env = newState();
  const first = await startServerForTest(env);
  await first.data(CREATE_BUDGET, { input: { name: 'job', requestedBytes: '1GiB' } });
  const made = await first.data(CREATE_PAGED, paged('kv', { budget: 'job' }));
  expect(made.createV4PagedPool.__typename).toBe('V4PagedHostPool');
  await first.data(UPDATE_BUDGET, { input: { name: 'job', requestedBytes: 4096, admissionClosed: true } });
  await first.data(SET_HOST, { input: { admissionClosed: true } });
  await killed(first);
  const second = await startServerForTest(env);
  await vi.waitFor(async () =>
    expect((await second.data(POOLS)).pools).toMatchObject([{ name: 'kv', state: 'READY' }]),
  );
  const { budget } = await second.data('{ budget(name: "job") { overBudget admissionClosed } }');
  expect(budget).toEqual({ overBudget: true, admissionClosed: true });
  const { createV4PagedPool: refused } = await second.data(CREATE_PAGED, paged('more'));
  expect(refused.code).toBe('BUDGET_ADMISSION_CLOSED');
});

it('what a caller was given while it was faulted in is not lost to a shutdown', async () => {
  const env = newState();
  const first = await startServerForTest(env);
  const large = { name: 'kv', layerNum: 1, numHostPages: 1024, itemBytes: '2MiB', slotPageSize: 1, wait: false };
  const pool = await first.only(CREATE_PAGED, { input: { ...large, idempotencyKey: 'kv' } });
  const buffer = await first.only(ALLOCATE_BUFFER, { input: { nbytes: '2GiB', wait: false } });
  expect([pool.state, buffer.state]).toEqual(['PREFAULTING', 'PREFAULTING']);
  expect(await first.stop()).toEqual({ code: 0, signal: null });
  const second = await startServerForTest(env);
  const { pools, hostBuffers } = await second.data('{ pools { id } hostBuffers { id } }');
  expect([pools, hostBuffers]).toEqual([[{ id: pool.id }], [{ id: buffer.id }]]);
  expect(await second.only(CREATE_PAGED, { input: { ...large, idempotencyKey: 'kv' } })).toMatchObject({ id: pool.id });
});

it('a failed pool is not lost to a new one of its name that comes to nothing', async () => {
  const [env, tight] = [newState(), plainHost(MIB)];
  onTestFinished(() => tight.remove());
  const first = await startServerForTest(env);
  const { id } = await first.only(CREATE_PAGED, paged('kv', { itemBytes: MIB }));
  await first.stop();
  const second = await startServerForTest({ ...env, HOSTPOOL_HOST_ROOT: tight.path });
  expect((await second.data(POOLS)).pools).toMatchObject([{ id, state: 'FAILED' }]);
  tight.set('proc/meminfo', `MemTotal: ${2 ** 23} kB\nMemFree: ${2 ** 23} kB\nMemAvailable: ${2 ** 23} kB\n`);
  const large = { name: 'kv', layerNum: 1, numHostPages: 1024, itemBytes: '2MiB', slotPageSize: 1 };
  const making = second.only(CREATE_PAGED, { input: large });
  await vi.waitFor(async () => {
    const { pools } = await second.data(POOLS);
    const made = pools.find(({ state }: { state: string }) => state === 'PREFAULTING');
    expect(made).toBeDefined();
    await second.only(DESTROY_POOL, { id: made.id });
  });
  expect((await making).__typename).toBe('HostBufferAllocationFailed');
  await killed(second);
  const third = await startServerForTest(env);
  expect((await third.data(POOLS)).pools).toMatchObject([{ id, name: 'kv' }]);
});

it('a failed pool that is destroyed does not come back', async () => {
  const [env, tight] = [newState(), plainHost(MIB)];
  onTestFinished(() => tight.remove());
  const first = await startServerForTest(env);
  const { createV4PagedPool: made } = await first.data(CREATE_PAGED, paged('kv', { itemBytes: MIB }));
  await first.stop();
  const second = await startServerForTest({ ...env, HOSTPOOL_HOST_ROOT: tight.path });
  expect((await second.data(DESTROY_POOL, { id: made.id })).destroyPool.__typename).toBe('PoolDestroyed');
  await killed(second);
  const third = await startServerForTest(env);
  expect((await third.data(POOLS)).pools).toEqual([]);
});

it('a reservation goes on with its process, and ends with it', async () => {
  const env = newState();
  const first = await startServerForTest(env);
  const [living, dying] = [await idleProcess(), await idleProcess()];
  const reserve = async (pid: number, holder: string) =>
    (await first.data(RESERVE, { input: { bytes: MIB, holder, pid } })).reserveHostMemory.id as string;
  const [held, committed, lost] = [
    await reserve(living.pid, 'held'),
    await reserve(living.pid, 'committed'),
    await reserve(dying.pid, 'lost'),
  ];
  await first.data(COMMIT, { id: committed });
  await killed(first);
  await dying.kill();
  const second = await startServerForTest(env);
  const shown = async () =>
    (await second.data('{ reservations { id state } budget { chargedBytes } }')) as {
      reservations: { id: string; state: string }[];
      budget: { chargedBytes: number };
    };
  expect(await shown()).toEqual({
    reservations: [
      { id: held, state: 'HELD' },
      { id: committed, state: 'COMMITTED' },
    ],
    budget: { chargedBytes: 2 * MIB },
  });
  await vi.waitFor(() =>
    expect(second.log.filter(({ id }) => id === lost)).toMatchObject([
      { msg: 'reservation ended', reason: 'OwnerDied' },
    ]),
  );
  const { releaseReservation } = await second.data(RELEASE, { id: lost });
  expect(releaseReservation).toMatchObject({ __typename: 'LeaseExpired' });
  await living.kill();
  await vi.waitFor(async () => expect(await shown()).toEqual({ reservations: [], budget: { chargedBytes: 0 } }));
});

it('time runs on while no server does', async () => {
  const env = newState();
  const first = await startServerForTest(env);
  const reserve = async (holder: string, ttlSeconds: number) =>
    (await first.data(RESERVE, { input: { bytes: MIB, holder, ttlSeconds } })).reserveHostMemory;
  const [short, renewed, released] = [await reserve('a', 1), await reserve('b', 1), await reserve('c', 60)];
  const { renewReservation } = await first.data(RENEW, { id: renewed.id, ttlSeconds: 3600 });
  await first.data(RELEASE, { id: released.id });
  await killed(first);
  await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(Date.parse(short.expiresAt)), { timeout: 5000 });
  const second = await startServerForTest(env);
  const { reservations } = await second.data('{ reservations { id expiresAt } }');
  expect(reservations).toEqual([{ id: renewed.id, expiresAt: renewReservation.expiresAt }]);
  expect((await second.data(COMMIT, { id: short.id })).commitReservation).toMatchObject({ __typename: 'LeaseExpired' });
  expect((await second.data(RELEASE, { id: released.id })).releaseReservation).toMatchObject({ state: 'RELEASED' });
});

it('budgets, the settings of host, and ids that were freed are known again', async () => {
  const env = newState();
  const first = await startServerForTest(env);
  await first.data(SET_HOST, { input: { reserveBytes: 5 * MIB, requestedBytes: '1GiB', admissionClosed: false } });
  await first.data(CREATE_BUDGET, { input: { name: 'job', fraction: 0.5, ranks: 3 } });
  const { allocateHostBuffer: buffer } = await first.data(ALLOCATE_BUFFER, { input: { nbytes: 4096 } });
  await first.data(FREE_BUFFER, { id: buffer.id });
  const budgets = '{ budgets { name reserveBytes requestedBytes fraction ranks rankShares { rank effectiveBytes } } }';
  const before = await first.data(budgets);
  await killed(first);
  const second = await startServerForTest(env);
  const named = ({ budgets }: { budgets: object[] }) => budgets.slice(1);
  const after = await second.data(budgets);
  expect(named(after)).toEqual(named(before));
  expect(after.budgets[0]).toMatchObject({ reserveBytes: 5 * MIB, requestedBytes: 2 ** 30 });
  const { freeHostBuffer } = await second.data(FREE_BUFFER, { id: buffer.id });
  expect(freeHostBuffer).toMatchObject({ released: false });
});
