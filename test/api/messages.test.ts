import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ErrorCode } from '../../src/schema/generated/resolver-types.js';
import {
  ALLOCATE_BUFFER,
  ALLOCATE_SLOTS,
  CREATE_BUDGET,
  CREATE_LOGICAL,
  CREATE_PAGED,
  DESTROY_POOL,
  FREE_BUFFER,
  FREE_SLOTS,
} from '../testkit/graphql.js';
import { type FakeHost, plainHost } from '../testkit/host-root.js';
import { startServer, type TestServer } from '../testkit/server.js';
import { smallDisk, useUpLog } from '../testkit/small-disk.js';

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
  return server.only(query, { input });
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

  it('more slots than are free, rounded up by a V4 pool', async () => {
    const id = await pool('e', 64, 16);
    expect(await refusal(ALLOCATE_SLOTS, { pool: id, needSize: 80 })).toMatchObject({
      code: 'POOL_EXHAUSTED',
      message: 'Not enough free slots: need 80, but only 64 are free.',
      needSize: 80,
      availableSlots: 64,
    });
    const v4 = { name: 'v4', layerNum: 1, numHostPages: 2, itemBytes: 4096, slotPageSize: 16 };
    const paged = await refusal(CREATE_PAGED, v4);
    expect(await refusal(ALLOCATE_SLOTS, { pool: paged.id, needSize: 33 })).toMatchObject({
      message: 'Not enough free slots: need 48, but only 32 are free.',
      needSize: 48,
    });
  });

  it('a slot that the pool does not have', async () => {
    const id = await pool('f', 64, 16);
    expect(await refusal(FREE_SLOTS, { pool: id, ranges: [{ start: 64, count: 16 }] })).toMatchObject({
      code: 'SLOT_OUT_OF_RANGE',
      message: 'Slot 64 is out of range: the pool has slots 0 to 63.',
      slot: 64,
      size: 64,
    });
  });

  it('a name that is taken', async () => {
    await pool('g', 64, 16);
    expect(await refusal(CREATE_LOGICAL, { name: 'g', size: 64, pageSize: 8 })).toMatchObject({
      code: 'NAME_TAKEN',
      message: 'A pool named "g" exists already with another pageSize.',
      differs: ['pageSize'],
    });
  });

  it('ids and budgets that do not exist', async () => {
    const unknown = { code: 'NOT_FOUND', message: 'There is no pool "nobody".' };
    expect(await refusal(ALLOCATE_SLOTS, { pool: 'nobody', needSize: 1 })).toMatchObject(unknown);
    expect(await refusal(ALLOCATE_BUFFER, { nbytes: 1, budget: 'nobody' })).toMatchObject({
      code: 'NOT_FOUND',
      message: 'There is no budget "nobody".',
    });
  });

  it('a budget that has too little, or is closed', async () => {
    await withBudget({ requestedBytes: '16MiB' }, async () => {
      const { chargedBytes } = (await server.data('{ budget { chargedBytes } }')).budget;
      const left = 16 * 2 ** 20 - chargedBytes;
      expect(await refusal(ALLOCATE_BUFFER, { nbytes: '32MiB' })).toMatchObject({
        code: 'BUDGET_EXCEEDED',
        message: `Budget host exceeded: requesting ${32 * 2 ** 20} bytes but only ${left} bytes available.`,
      });
    });
    await withBudget({ admissionClosed: true }, async () =>
      expect(await refusal(ALLOCATE_BUFFER, { nbytes: 1 })).toMatchObject({
        code: 'BUDGET_ADMISSION_CLOSED',
        message: 'Budget host is closed to new charges.',
      }),
    );
  });

  it('a size so large that no larger one is in whole pages', async () => {
    const size = Number.MAX_SAFE_INTEGER;
    expect(await refusal(CREATE_LOGICAL, { name: 'h', size, pageSize: 2 ** 30 })).toMatchObject({
      code: 'LOGICAL_POOL_SIZE_NOT_PAGE_ALIGNED',
      remedies: [{ field: 'size', value: String(2 ** 53 - 2 ** 30) }],
    });
  });
});

const setBudget = (input: object) =>
  refusal('mutation($input: SetHostBudgetInput!) { setHostBudget(input: $input) { __typename } }', input);

async function withBudget<T>(input: object, use: () => Promise<T>): Promise<T> {
  await setBudget(input);
  try {
    return await use();
  } finally {
    await setBudget(Object.fromEntries(Object.keys(input).map((field) => [field, null])));
  }
}

/** How each code is met. */
const ways: Record<ErrorCode, () => Promise<Record<string, unknown>>> = {
  LOGICAL_POOL_SIZE_NOT_PAGE_ALIGNED: () => refusal(CREATE_LOGICAL, { name: 'x', size: 10, pageSize: 4 }),
  LOGICAL_POOL_ALLOCATION_NOT_PAGE_ALIGNED: async () =>
    refusal(ALLOCATE_SLOTS, { pool: await pool('t1', 64, 16), needSize: 1 }),
  LOGICAL_POOL_FREE_NOT_PAGE_ALIGNED: async () =>
    refusal(FREE_SLOTS, { pool: await pool('t2', 64, 16), indices: [0, 1] }),
  INSUFFICIENT_HOST_MEMORY: () =>
    refusal(CREATE_PAGED, { name: 'x', layerNum: 1, numHostPages: 1e6, itemBytes: '1MiB', slotPageSize: 1 }),
  HOST_BUFFER_ALLOCATION_FAILED: () => refusal(ALLOCATE_BUFFER, { nbytes: 1, memory: { numaNode: 63 } }),
  POOL_EXHAUSTED: async () => refusal(ALLOCATE_SLOTS, { pool: await pool('t3', 64, 16), needSize: 80 }),
  DOUBLE_FREE: async () => refusal(FREE_SLOTS, { pool: await pool('t4', 64, 1), indices: [3, 5] }),
  SLOT_OUT_OF_RANGE: async () => refusal(FREE_SLOTS, { pool: await pool('t5', 64, 1), indices: [64] }),
  POOL_NOT_READY: async () => {
    const input = { name: 'slow', layerNum: 1, numHostPages: 512, itemBytes: '2MiB', slotPageSize: 1, wait: false };
    const { id } = await refusal(CREATE_PAGED, input);
    const refused = await refusal(ALLOCATE_SLOTS, { pool: id, needSize: 1 });
    await server.data(DESTROY_POOL, { id });
    return refused;
  },
  NOT_FOUND: () => refusal(ALLOCATE_BUFFER, { nbytes: 1, budget: 'nobody' }),
  NAME_TAKEN: async () => {
    await pool('t6', 64, 16);
    return refusal(CREATE_LOGICAL, { name: 't6', size: 64, pageSize: 16 });
  },
  IN_USE: async () => {
    const budget = 'held';
    await server.data('mutation { createBudget(input: { name: "held" }) { __typename } }');
    const { id } = await refusal(ALLOCATE_BUFFER, { nbytes: 1, budget });
    const refused = await server.data('mutation { deleteBudget(name: "held") { ... on InUse { code message } } }');
    await server.data(FREE_BUFFER, { id });
    return refused.deleteBudget;
  },
  LEASE_EXPIRED: async () => {
    const reserve = `mutation { reserveHostMemory(input: { bytes: 4096, holder: "test", ttlSeconds: 60 }) {
      ... on Reservation { id } } }`;
    const { id } = (await server.data(reserve)).reserveHostMemory;
    const end = `mutation($id: ID!) { releaseReservation(id: $id) { __typename }
      commitReservation(id: $id) { ... on LeaseExpired { code message } } }`;
    return (await server.data(end, { id })).commitReservation;
  },
  BUDGET_EXCEEDED: () => withBudget({ requestedBytes: '16MiB' }, () => refusal(ALLOCATE_BUFFER, { nbytes: '32MiB' })),
  BUDGET_ADMISSION_CLOSED: () => withBudget({ admissionClosed: true }, () => refusal(ALLOCATE_BUFFER, { nbytes: 1 })),
  STATE_NOT_SAVED: async () => {
    const disk = smallDisk();
    if ('skipped' in disk) return { skipped: disk.skipped };
    const own = await startServer({ HOSTPOOL_STATE_DIR: disk.path });
    disk.fill();
    await useUpLog(own);
    const refused = await own.data(CREATE_BUDGET, { input: { name: 'x' } });
    await own.stop();
    disk.unmount();
    return refused.createBudget;
  },
  INVALID_ARGUMENT: () => refusal(CREATE_LOGICAL, { name: '', size: 64, pageSize: 16 }),
};

/** What a message of that template looks like: each placeholder stands for some text. */
function asPattern(template: string): RegExp {
  const literal = template.split(/\{[^}]*\}/).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${literal.join('.*')}$`);
}

describe('the message templates of errorCatalog are those of the messages', () => {
  for (const [code, way] of Object.entries(ways)) {
    it(code, async (context) => {
      const query = 'query($code: ErrorCode) { errorCatalog(code: $code) { messageTemplate } }';
      const [{ messageTemplate }] = (await server.data(query, { code })).errorCatalog;
      const refused = await way();
      if (typeof refused.skipped === 'string') {
        console.log(`SKIPPED: ${refused.skipped}`);
        context.skip(refused.skipped);
      }
      expect(refused.code).toBe(code);
      expect(refused.message).toMatch(asPattern(messageTemplate));
    });
  }
});
