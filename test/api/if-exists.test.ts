import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { CREATE_LOGICAL, CREATE_PAGED, DESTROY_POOL } from '../testkit/graphql.js';
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
    const { id } = await paged({ name: 'again' });
    const destroying = server.data(DESTROY_POOL, { id });
    await destroying;
    expect(await paged({ name: 'again' })).toMatchObject({ state: 'READY' });
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
