import { rmSync } from 'node:fs';
import { describe, expect, it, onTestFinished, type TestContext } from 'vitest';
import {
  ALLOCATE_BUFFER,
  COMMIT,
  CREATE_BUDGET,
  CREATE_GROUP,
  CREATE_LOGICAL,
  CREATE_PAGED,
  DELETE_BUDGET,
  DESTROY_POOL,
  FREE_BUFFER,
  RELEASE,
  RENEW,
  RESERVE,
  UPDATE_BUDGET,
} from '../../testkit/graphql.js';
import { processState } from '../../testkit/process-state.js';
import { startServerForTest, stateFolder, type TestServer } from '../../testkit/server.js';
import { type SmallDisk, smallDisk, useUpLog } from '../../testkit/small-disk.js';
import { show } from './model.js';

function disk(context: TestContext): SmallDisk {
  const mounted = smallDisk();
  if ('skipped' in mounted) {
    console.log(`SKIPPED: ${mounted.skipped}`);
    return context.skip(mounted.skipped);
  }
  onTestFinished(() => mounted.unmount());
  return mounted;
}

const shape = { layerNum: 2, itemBytes: 4096, slotPageSize: 8 };
const paged = (name: string) => ({ input: { name, ...shape, numHostPages: 4 } });

/** One of each, to be changed, and every mutation that changes what is kept. */
async function everyMutation(server: TestServer): Promise<[string, object][]> {
  await server.only(CREATE_BUDGET, { input: { name: 'kept', requestedBytes: '1MiB' } });
  const { id: reservation } = await server.only(RESERVE, { input: { bytes: 4096, holder: 'kept' } });
  const { id: pool } = await server.only(CREATE_PAGED, paged('kept'));
  const { id: buffer } = await server.only(ALLOCATE_BUFFER, { input: { nbytes: 4096 } });
  return [
    [CREATE_BUDGET, { input: { name: 'new' } }],
    [UPDATE_BUDGET, { input: { name: 'kept', requestedBytes: '2MiB' } }],
    [UPDATE_BUDGET, { input: { name: 'host', admissionClosed: true } }],
    [DELETE_BUDGET, { name: 'kept' }],
    [RESERVE, { input: { bytes: 4096, holder: 'new', ttlSeconds: 60 } }],
    [COMMIT, { id: reservation }],
    [RENEW, { id: reservation, ttlSeconds: 60 }],
    [RELEASE, { id: reservation }],
    [CREATE_LOGICAL, { input: { name: 'new', size: 64, pageSize: 8 } }],
    [CREATE_PAGED, paged('new')],
    [CREATE_GROUP, { input: { pools: [{ name: 'new', ...shape }], anchorPages: 4 } }],
    [ALLOCATE_BUFFER, { input: { nbytes: 4096 } }],
    [DESTROY_POOL, { id: pool }],
    [FREE_BUFFER, { id: buffer }],
  ];
}

async function refusesAll(server: TestServer, mutations: [string, object][], reason: string): Promise<void> {
  // The log of the state has blocks of its own that may take a change or two more.
  const before = { shown: await show(server), state: await processState(server) };
  for (const [mutation, variables] of mutations) {
    const answer = await server.only(mutation, variables);
    expect(answer, mutation).toMatchObject({ __typename: 'StateNotSaved', code: 'STATE_NOT_SAVED' });
    expect(answer.message).toContain('Nothing was changed.');
    expect({ shown: await show(server), state: await processState(server) }, mutation).toEqual(before);
  }
  const detail = '{ __typename ... on StateNotSaved { reason path detail remedies { summary } } }';
  const { deleteBudget } = await server.data(`mutation { deleteBudget(name: "kept") ${detail} }`);
  expect(deleteBudget).toMatchObject({ reason, path: expect.stringContaining('hostpool.sqlite3') });
}

describe('a disk that becomes full', () => {
  it('refuses every change, loses nothing, and goes on when there is room', async (context) => {
    const small = disk(context);
    const env = { HOSTPOOL_STATE_DIR: small.path };
    const server = await startServerForTest(env);
    const mutations = await everyMutation(server);
    small.fill();
    await useUpLog(server);
    await refusesAll(server, mutations, 'DISK_FULL');
    const before = await show(server);
    server.child.kill('SIGKILL');
    await server.exit;
    small.free();
    const again = await startServerForTest(env);
    expect(await show(again)).toEqual(before);
    const { deleteBudget } = await again.data(DELETE_BUDGET, { name: 'kept' });
    expect(deleteBudget.__typename).toBe('Budget');
  });
});

describe('a state that is deleted under a running server', () => {
  it('is not written to any more: nothing is promised that nobody will know of', async () => {
    const folder = stateFolder();
    const server = await startServerForTest({ HOSTPOOL_STATE_DIR: folder });
    expect((await server.only(CREATE_BUDGET, { input: { name: 'kept' } })).name).toBe('kept');
    rmSync(folder, { recursive: true });
    const lost = await server.only(CREATE_BUDGET, { input: { name: 'lost' } });
    expect(lost).toMatchObject({ code: 'STATE_NOT_SAVED', message: expect.stringContaining('was moved or deleted') });
    expect((await server.data('{ budgets { name } }')).budgets.map(({ name }: { name: string }) => name)).toEqual([
      'host',
      'kept',
    ]);
  });
});

describe('a disk that becomes read-only', () => {
  it('at the start is refused with what to do', async (context) => {
    const small = disk(context);
    const env = { HOSTPOOL_STATE_DIR: small.path };
    const first = await startServerForTest(env);
    await first.data(CREATE_BUDGET, { input: { name: 'kept' } });
    expect(await first.stop()).toMatchObject({ code: 0 });
    small.remount('ro');
    await expect(startServerForTest(env)).rejects.toThrow(/hostpool\.sqlite3" cannot be used: .*HOSTPOOL_STATE_DIR/s);
    small.remount('rw');
    const again = await startServerForTest(env);
    expect((await show(again)).has('budget kept')).toBe(true);
  });
});
