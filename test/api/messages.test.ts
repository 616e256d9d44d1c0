import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ALLOCATE_BUFFER, ALLOCATE_SLOTS, CREATE_LOGICAL, CREATE_PAGED, FREE_SLOTS } from '../testkit/graphql.js';
import { type FakeHost, plainHost } from '../testkit/host-root.js';
import { startServer, type TestServer } from '../testkit/server.js';

let host: FakeHost;
let server: TestServer;

beforeAll(async () => {
  host = plainHost(3_000_000 * 1024);
  server = await startServer({ HOSTPOOL_HOST_ROOT: host.path });
});
afterAll(async () => {
  await server.stop();
  host.remove();
});

async function refusal(query: string, input: object): Promise<Record<string, unknown>> {
  return Object.values(await server.data(query, { input }))[0] as Record<string, unknown>;
}

async function pool(name: string, size: number, pageSize: number): Promise<string> {
  return String((await refusal(CREATE_LOGICAL, { name, size, pageSize })).id);
}

describe('the documented sentences, to the letter', () => {
  it('a size that is no multiple of the page', async () => {
    expect(await refusal(CREATE_LOGICAL, { name: 'a', size: 1000, pageSize: 16 })).toMatchObject({
      code: 'LOGICAL_POOL_SIZE_NOT_PAGE_ALIGNED',
      message: 'LogicalHostPool size must be page-aligned, got size=1000, page_size=16',
      remedies: [
        { field: 'size', value: '992' },
        { field: 'size', value: '1008' },
      ],
    });
  });

  it('a request that is no multiple of the page', async () => {
    const id = await pool('b', 64, 16);
    expect(await refusal(ALLOCATE_SLOTS, { pool: id, needSize: 15 })).toMatchObject({
      code: 'LOGICAL_POOL_ALLOCATION_NOT_PAGE_ALIGNED',
      message: 'LogicalHostPool allocation must be page-aligned, got need_size=15, page_size=16',
      remedies: [{ field: 'needSize', value: '16' }],
    });
  });

  it('slots given back that make no whole pages', async () => {
    const id = await pool('c', 64, 16);
    await refusal(ALLOCATE_SLOTS, { pool: id, needSize: 32 });
    expect(await refusal(FREE_SLOTS, { pool: id, indices: [0, 1, 2] })).toMatchObject({
      code: 'LOGICAL_POOL_FREE_NOT_PAGE_ALIGNED',
      message: 'LogicalHostPool free must be page-aligned, got len(indices)=3, page_size=16',
    });
  });

  it('a V4 pool that does not fit, with the size that does', async () => {
    const input = { name: 'kv', layerNum: 1, numHostPages: 17671, itemBytes: 10_000_000, slotPageSize: 64 };
    const refused = await refusal(CREATE_PAGED, input);
    expect(refused).toMatchObject({
      code: 'INSUFFICIENT_HOST_MEMORY',
      message: 'Not enough host memory for V4 paged pool kv. Requesting 176.71 GB but only have 3.07 GB free.',
      limitedBy: 'HOST_MEMORY',
      remedies: [{ field: 'numHostPages', value: String(refused.maxNumHostPages) }, {}, {}, {}],
    });
    const plan =
      'query($input: CreateV4PagedPoolInput!) { planV4PagedPool(input: $input) { ... on V4PagedPoolPlan { fits } } }';
    const fitting = { ...input, numHostPages: refused.maxNumHostPages };
    expect(await server.data(plan, { input: fitting })).toEqual({ planV4PagedPool: { fits: true } });
  });

  it.each([
    ['ANONYMOUS', 'Anonymous'],
    ['ANONYMOUS_HUGETLB', 'AnonymousHugetlb'],
    ['ANONYMOUS_SHM', 'AnonymousShm'],
    ['ANONYMOUS_SHM_HUGETLB', 'AnonymousShmHugetlb'],
  ])('memory of backing %s that cannot be had', async (backing, spelled) => {
    expect(await refusal(ALLOCATE_BUFFER, { nbytes: 1048576, memory: { backing, numaNode: 3 } })).toMatchObject({
      code: 'HOST_BUFFER_ALLOCATION_FAILED',
      message: `UMBPHostMemAllocator.alloc(1048576 bytes) failed (requested_backing=UMBPHostBufferBacking.${spelled}, numa_node=3).`,
      remedies: [
        { field: 'memory.numaNode', value: '0' },
        { field: 'memory.numaNode', value: '-1' },
      ],
    });
  });

  it('slots given back twice, the first 64 of them named', async () => {
    const id = await pool('d', 256, 1);
    const indices = Array.from({ length: 70 }, (_, slot) => slot);
    expect(await refusal(FREE_SLOTS, { pool: id, indices })).toMatchObject({
      code: 'DOUBLE_FREE',
      message: `Double-free detected: slots not currently allocated: [${indices.slice(0, 64).join(', ')}].`,
      slots: indices.slice(0, 64),
      count: 70,
    });
  });

  it('every other sentence carries its numbers', async () => {
    const id = await pool('e', 64, 16);
    const exhausted = await refusal(ALLOCATE_SLOTS, { pool: id, needSize: 80 });
    expect(exhausted).toMatchObject({ code: 'POOL_EXHAUSTED', needSize: 80, availableSlots: 64 });
    expect(exhausted.message).toMatch(/80.*64|64.*80/);
    const outside = await refusal(FREE_SLOTS, { pool: id, ranges: [{ start: 64, count: 16 }] });
    expect(outside).toMatchObject({ code: 'SLOT_OUT_OF_RANGE', slot: 64, size: 64 });
    expect(outside.message).toMatch(/64/);
    const taken = await refusal(CREATE_LOGICAL, { name: 'e', size: 64, pageSize: 8 });
    expect(taken).toMatchObject({ code: 'NAME_TAKEN', differs: ['pageSize'] });
    expect(taken.message).toContain('"e"');
  });
});
