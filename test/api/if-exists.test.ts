import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createAllocator } from '../../src/allocator/allocator.js';
import type { PoolEntry } from '../../src/allocator/pool.js';
import { CREATE_LOGICAL, CREATE_PAGED, DESTROY_POOL } from '../testkit/graphql.js';
import { plainHost } from '../testkit/host-root.js';
import { processState } from '../testkit/process-state.js';
import { startServer, type TestServer } from '../testkit/server.js';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const spec = { layerNum: 2, numHostPages: 8, itemBytes: 4096, slotPageSize: 4 };
const paged = async (input: object) =>
  (await server.data(CREATE_PAGED, { input: { ...spec, ...input } })).createV4PagedPool;
const logical = async (input: object) => (await server.data(CREATE_LOGICAL, { input })).createLogicalHostPool;
const slow = { numHostPages: 512, itemBytes: '1MiB' };

describe('a name that is taken', () => {
  it('answers with the same pool when the specification is the same and RETURN is asked for', async () => {
    const { id } = await paged({ name: 'same' });
    expect(await paged({ name: 'same' })).toMatchObject({
      code: 'NAME_TAKEN',
      differs: [],
      remedies: [{ field: 'ifExists', value: 'RETURN' }, {}],
    });
    expect(await paged({ name: 'same', ifExists: 'RETURN', wait: false })).toMatchObject({ id });
  });

  it('lists the fields that differ', async () => {
    await paged({ name: 'other' });
    const asked = { name: 'other', ifExists: 'RETURN', layerNum: 3, memory: { backing: 'ANONYMOUS' } };
    expect((await paged(asked)).differs.sort()).toEqual(['layerNum', 'memory.backing']);
    const { differs } = await logical({ name: 'other', size: 8, pageSize: 8, ifExists: 'RETURN' });
    expect(differs).toContain('kind');
  });

  it('waits for a pool that is still being faulted in', async () => {
    const first = paged({ name: 'waited', ...slow });
    const second = paged({ name: 'waited', ...slow, ifExists: 'RETURN' });
    const [a, b] = await Promise.all([first, second]);
    expect(b).toMatchObject({ id: a.id, state: 'READY' });
  });

  it('is free again as soon as its pool is being destroyed', async () => {
    const host = plainHost(2 ** 30);
    onTestFinished(host.remove);
    const log = pino({ level: 'silent' });
    const { pools, closeAll } = createAllocator({ hostRoot: host.path, reserveBytes: 0, log });
    const memory = { backing: 'Anonymous', onHugepageShortage: 'Fail', numaNode: -1, prefault: true } as const;
    const shape = { ...spec, name: 'again', layout: 'LayerFirst', budget: 'host', wait: true } as const;
    const make = () => pools.createPaged({ ...shape, memory, ifExists: 'Error' });
    const first = (await make()) as PoolEntry;
    const destroying = pools.destroy(first.id);
    // Its record goes first; without a state that takes no more than microtasks.
    for (let n = 0; n < 10; n += 1) await Promise.resolve();
    const making = make();
    expect(pools.get(first.id), 'it is still there when the next one is asked for').toBe(first);
    expect(await making).toMatchObject({ kind: 'V4PagedHostPool', name: 'again' });
    await destroying;
    await closeAll();
  });

  it('does not differ in a hugepage size that its backing has no use for', async () => {
    await paged({ name: 'small pages', memory: { backing: 'ANONYMOUS', hugepageSize: '2MiB' } });
    const asked = (memory: object) => paged({ name: 'small pages', ifExists: 'RETURN', memory });
    expect(await asked({ backing: 'ANONYMOUS', hugepageSize: '1GiB' })).toMatchObject({ state: 'READY' });
    expect(await asked({ backing: 'ANONYMOUS', hugepageSize: null })).toMatchObject({ state: 'READY' });
    const { differs } = await asked({ backing: 'ANONYMOUS_HUGETLB', hugepageSize: '1GiB' });
    expect(differs).toEqual(['memory.backing']);
  });
});

describe('a pool that is destroyed while it is faulted in', () => {
  it('answers its maker CANCELLED and leaves nothing', async () => {
    const before = await processState(server);
    const making = paged({ name: 'cancelled', layerNum: 1, numHostPages: 1024, itemBytes: '2MiB' });
    const find = '{ pools(state: PREFAULTING) { id name } }';
    const pool = await vi.waitFor(
      async () => {
        const { pools } = await server.data(find);
        expect(pools).toMatchObject([{ name: 'cancelled' }]);
        return pools[0];
      },
      { timeout: 10_000, interval: 10 },
    );
    expect((await server.data(DESTROY_POOL, { id: pool.id })).destroyPool).toMatchObject({ name: 'cancelled' });
    expect(await making).toMatchObject({ code: 'HOST_BUFFER_ALLOCATION_FAILED', reason: 'CANCELLED' });
    expect(await processState(server)).toEqual(before);
  });
});
