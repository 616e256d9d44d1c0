import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ALLOCATE_BUFFER,
  ALLOCATE_SLOTS,
  CREATE_LOGICAL,
  CREATE_PAGED,
  DESTROY_POOL,
  FREE_BUFFER,
  FREE_SLOTS,
} from '../testkit/graphql.js';
import { type FakeHost, plainHost } from '../testkit/host-root.js';
import { startServer, type TestServer } from '../testkit/server.js';

const MIB = 2 ** 20;
let host: FakeHost;
let server: TestServer;

beforeAll(async () => {
  host = plainHost(256 * MIB);
  server = await startServer({ HOSTPOOL_HOST_ROOT: host.path });
});
afterAll(async () => {
  await server.stop();
  host.remove();
});

const take = async (pool: string, needSize: number) =>
  (await server.data(ALLOCATE_SLOTS, { input: { pool, needSize } })).allocateSlots;
const give = async (pool: string, slots: object) =>
  (await server.data(FREE_SLOTS, { input: { pool, ...slots } })).freeSlots;
const available = async (id: string) =>
  (await server.data('query($id: ID) { pool(id: $id) { availableSlots } }', { id })).pool.availableSlots;

describe('what the source systems do', () => {
  it('size 8, page 2: takes 6, gives back 0 and 1, takes 2 as a whole page', async () => {
    const { id } = (await server.data(CREATE_LOGICAL, { input: { name: 'a', size: 8, pageSize: 2 } }))
      .createLogicalHostPool;
    expect(await take(id, 6)).toMatchObject({ slotCount: 6, ranges: [{ start: 0, count: 6 }] });
    expect(await available(id)).toBe(2);
    expect(await give(id, { indices: [0, 1] })).toMatchObject({ slotCount: 2, availableSlots: 4 });
    const again = await take(id, 2);
    expect(again.slotCount).toBe(2);
    expect(again.ranges).toHaveLength(1);
    expect(again.ranges[0].start % 2).toBe(0);
    expect(await available(id)).toBe(2);
    expect(await take(id, 4)).toMatchObject({ __typename: 'PoolExhausted', availableSlots: 2 });
    expect(await available(id)).toBe(2);
  });

  it('a V4 pool rounds one slot up to a page', async () => {
    const input = { name: 'v4', layerNum: 1, numHostPages: 4, itemBytes: 4096, slotPageSize: 64 };
    const { id, size } = (await server.data(CREATE_PAGED, { input })).createV4PagedPool;
    expect(size).toBe(256);
    expect(await take(id, 1)).toMatchObject({ slotCount: 64, ranges: [{ count: 64 }] });
    expect(await available(id)).toBe(192);
  });

  it('an empty free gives 0 and changes nothing', async () => {
    const { id } = (await server.data(CREATE_LOGICAL, { input: { name: 'b', size: 8, pageSize: 2 } }))
      .createLogicalHostPool;
    await take(id, 4);
    expect(await give(id, { indices: [] })).toMatchObject({ slotCount: 0, availableSlots: 4 });
    expect(await give(id, { ranges: [] })).toMatchObject({ slotCount: 0, availableSlots: 4 });
  });

  it('a free after a clear is refused and changes nothing', async () => {
    const { id } = (await server.data(CREATE_LOGICAL, { input: { name: 'c', size: 8, pageSize: 2 } }))
      .createLogicalHostPool;
    await take(id, 4);
    const clear = 'mutation($id: ID!) { clearPool(id: $id) { ... on PoolCleared { pool { availableSlots } } } }';
    expect(await server.data(clear, { id })).toEqual({ clearPool: { pool: { availableSlots: 8 } } });
    expect(await give(id, { indices: [0, 1] })).toMatchObject({ __typename: 'DoubleFree', slots: [0, 1], count: 2 });
    expect(await available(id)).toBe(8);
  });

  it('equal to the budget fits, one byte more does not', async () => {
    const { availableBytes, chargedBytes } = (await server.data('{ budget { availableBytes chargedBytes } }')).budget;
    const memory = { prefault: false };
    const input = { name: 'all', layerNum: 1, numHostPages: 1, itemBytes: availableBytes, slotPageSize: 1, memory };
    const more = await server.data(CREATE_PAGED, { input: { ...input, itemBytes: availableBytes + 1 } });
    expect(more.createV4PagedPool).toMatchObject({
      __typename: 'InsufficientHostMemory',
      availableBytes,
      requestedBytes: availableBytes + 1,
    });
    const all = (await server.data(CREATE_PAGED, { input })).createV4PagedPool;
    expect(all).toMatchObject({ __typename: 'V4PagedHostPool', requestedBytes: availableBytes });
    expect((await server.data('{ budget { availableBytes chargedBytes } }')).budget).toEqual({
      availableBytes: 0,
      chargedBytes: chargedBytes + availableBytes,
    });
    await server.data(DESTROY_POOL, { id: all.id });
    expect((await server.data('{ budget { availableBytes } }')).budget.availableBytes).toBe(availableBytes);
  });

  it('freeing a buffer twice is no error', async () => {
    const { id } = (await server.data(ALLOCATE_BUFFER, { input: { nbytes: 10_000 } })).allocateHostBuffer;
    expect((await server.data(FREE_BUFFER, { id })).freeHostBuffer).toMatchObject({
      released: true,
      releasedBytes: 12_288,
    });
    expect((await server.data(FREE_BUFFER, { id })).freeHostBuffer).toMatchObject({
      released: false,
      releasedBytes: 0,
    });
  });
});
