import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { CREATE_BUDGET, CREATE_PAGED, DESTROY_POOL, PLAN_GROUP, RELEASE, RESERVE } from '../testkit/graphql.js';
import { type FakeHost, hugepageFiles, plainHost } from '../testkit/host-root.js';
import { startServer, startServerForTest, type TestServer } from '../testkit/server.js';

const PAGE = 4096;
const MIB = 2 ** 20;
const GIB = 2 ** 30;
let host: FakeHost;
let server: TestServer;

beforeAll(async () => {
  host = plainHost(60 * GIB);
  server = await startServer({ HOSTPOOL_HOST_ROOT: host.path, HOSTPOOL_RESERVE: '10GiB' });
});
afterAll(async () => {
  expect(await server.stop()).toEqual({ code: 0, signal: null });
  host.remove();
});

// biome-ignore lint/suspicious/noExplicitAny: answers are as dynamic as the queries that tests write
type Answer = any;
const plan = async (input: object, on = server): Promise<Answer> =>
  (await on.data(PLAN_GROUP, { input })).planPoolGroup;
const roundUp = (bytes: number, unit: number) => Math.ceil(bytes / unit) * unit;

/** Shapes printed by a real DeepSeek-V4 start-up; states are kept for a tenth of the pages. */
const deepseek = [
  { name: 'c128', layerNum: 31, itemBytes: 1728, slotPageSize: 2 },
  { name: 'c4', layerNum: 30, itemBytes: 37440, slotPageSize: 64, layout: 'PAGE_FIRST' },
  { name: 'c4_state', layerNum: 30, itemBytes: 65536, slotPageSize: 256, pagesPerAnchorPage: 0.1 },
];

/** What a group takes at so many anchor pages, worked out the long way. */
function mappedBytes(pools: Answer[], anchorPages: number, unit: number): number {
  const each = pools.map(({ layerNum, itemBytes, layout = 'LAYER_FIRST', pagesPerAnchorPage = 1 }) => {
    const pages = Math.ceil(Number((anchorPages * pagesPerAnchorPage).toFixed(6)));
    if (layout === 'LAYER_FIRST') return layerNum * roundUp(pages * itemBytes, unit);
    return roundUp(layerNum * pages * itemBytes, unit);
  });
  return each.reduce((sum, bytes) => sum + bytes, 0);
}

describe('planPoolGroup', () => {
  it('sums up what each pool takes, pages rounded up from the ratio', async () => {
    const planned = await plan({ pools: deepseek, anchorPages: 614 });
    const pools = [
      { name: 'c128', numHostPages: 614, size: 1228, requestedBytes: 32890752, mappedBytes: 33013760, mappings: 31 },
      { name: 'c4', numHostPages: 614, size: 39296, requestedBytes: 689644800, mappedBytes: 689647616, mappings: 1 },
      {
        name: 'c4_state',
        numHostPages: 62,
        size: 15872,
        requestedBytes: 121896960,
        mappedBytes: 121896960,
        mappings: 30,
      },
    ];
    expect(planned).toMatchObject({ fits: true, anchorPages: 614, mappings: 62, limitedBy: 'HOST_MEMORY', pools });
    expect(planned.requestedBytes).toBe(32890752 + 689644800 + 121896960);
    expect(planned.mappedBytes).toBe(33013760 + 689647616 + 121896960);
    expect(planned.availableBytes).toBe(50 * GIB);
    expect([planned.hugepagesNeeded, planned.hugepagesFree]).toEqual([null, null]);
  });

  it('finds the most that fits, and one page more does not', async () => {
    const most = await plan({ pools: deepseek });
    expect(most).toMatchObject({ fits: true, anchorPages: most.maxAnchorPages });
    expect(most.mappedBytes).toBe(mappedBytes(deepseek, most.anchorPages, PAGE));
    expect(most.mappedBytes).toBeLessThanOrEqual(50 * GIB);
    expect(mappedBytes(deepseek, most.anchorPages + 1, PAGE)).toBeGreaterThan(50 * GIB);
    const one = { maxAnchorPages: most.anchorPages };
    expect(await plan({ pools: deepseek, anchorPages: most.anchorPages })).toMatchObject({ ...one, fits: true });
    expect(await plan({ pools: deepseek, anchorPages: most.anchorPages + 1 })).toMatchObject({ ...one, fits: false });
    expect(await plan({ pools: deepseek, anchorPages: 1 })).toMatchObject({ ...one, fits: true });
  });

  it('is of one pool what planV4PagedPool says of it', async () => {
    const pool = { name: 'alone', layerNum: 61, itemBytes: 100_000, slotPageSize: 64 };
    const query = `query($input: CreateV4PagedPoolInput!) { planV4PagedPool(input: $input) { ... on V4PagedPoolPlan {
      requestedBytes mappedBytes mappings availableBytes limitedBy maxNumHostPages } } }`;
    const { planV4PagedPool } = await server.data(query, { input: { ...pool, numHostPages: 1000 } });
    const { maxNumHostPages, ...same } = planV4PagedPool;
    expect(await plan({ pools: [pool], anchorPages: 1000 })).toMatchObject({
      ...same,
      maxAnchorPages: maxNumHostPages,
    });
  });

  it('fits exactly what is there, and holds the page that a limit ends in', async () => {
    const pool = { name: 'edge', layerNum: 1, itemBytes: MIB, slotPageSize: 1 };
    const create = async (name: string, requestedBytes: number) =>
      server.data(CREATE_BUDGET, { input: { name, requestedBytes } });
    await create('edge-exact', 6 * MIB);
    const two = [pool, { ...pool, name: 'other', pagesPerAnchorPage: 2 }];
    expect(await plan({ budget: 'edge-exact', pools: two })).toMatchObject({ anchorPages: 2, limitedBy: 'BUDGET_CAP' });
    await create('edge-byte-less', 6 * MIB - 1);
    expect(await plan({ budget: 'edge-byte-less', pools: two })).toMatchObject({ anchorPages: 1 });
    await create('edge-part', 1_000_000);
    const bytes = { ...pool, itemBytes: 500_000 };
    expect(await plan({ budget: 'edge-part', pools: [bytes] })).toMatchObject({
      anchorPages: 2,
      mappedBytes: 1_003_520,
    });
  });

  it('is held to the share of its rank', async () => {
    await server.data(CREATE_BUDGET, { input: { name: 'split', requestedBytes: '8GiB', ranks: 4 } });
    const pools = [{ name: 'shared', layerNum: 2, itemBytes: MIB, slotPageSize: 1 }];
    const share = { fits: true, anchorPages: 1024, availableBytes: 2 * GIB, limitedBy: 'RANK_SHARE' };
    expect(await plan({ budget: 'split', rank: 3, pools })).toMatchObject(share);
    expect(await plan({ budget: 'split', pools })).toMatchObject({ code: 'INVALID_ARGUMENT', field: 'rank' });
    const reserve = { budget: 'split', rank: 3, bytes: 2 * GIB - MIB, holder: 'engine' };
    const { id } = (await server.data(RESERVE, { input: reserve })).reserveHostMemory;
    const none = { fits: false, anchorPages: 1, maxAnchorPages: 0, mappedBytes: 2 * MIB, availableBytes: MIB };
    expect(await plan({ budget: 'split', rank: 3, pools })).toMatchObject(none);
    await server.data(RELEASE, { id });
  });

  it('counts what pools hold already', async () => {
    const pools = [{ name: 'beside', layerNum: 1, itemBytes: GIB, slotPageSize: 1 }];
    expect(await plan({ pools })).toMatchObject({ anchorPages: 50 });
    const held = {
      name: 'held',
      layerNum: 1,
      numHostPages: 2,
      itemBytes: GIB,
      slotPageSize: 1,
      memory: { prefault: false },
    };
    const { id } = (await server.data(CREATE_PAGED, { input: held })).createV4PagedPool;
    expect(await plan({ pools })).toMatchObject({ anchorPages: 48 });
    await server.data(DESTROY_POOL, { id });
    expect(await plan({ pools })).toMatchObject({ anchorPages: 50 });
  });

  it('counts pages, slots and bytes no further than they can be numbered', async () => {
    const tiny = { name: 'tiny', layerNum: 1, itemBytes: 1, slotPageSize: 1 };
    expect(await plan({ pools: [tiny] })).toMatchObject({ anchorPages: 2 ** 28 });
    expect(await plan({ pools: [{ ...tiny, pagesPerAnchorPage: 2 ** 28 }] })).toMatchObject({ anchorPages: 1 });
    const over = await plan({ pools: [tiny], anchorPages: 2 ** 28 + 1 });
    expect(over).toMatchObject({ code: 'INVALID_ARGUMENT', field: 'anchorPages' });
    expect(over.message).toContain(String(2 ** 28));
    const wide = { ...tiny, slotPageSize: 2 ** 52 };
    expect(await plan({ pools: [wide] })).toMatchObject({ anchorPages: 1, pools: [{ size: 2 ** 52 }] });
  });
});

describe('planPoolGroup on a host with hugepages', () => {
  const HUGE = 2 * MIB;
  const pools = [
    { name: 'a', layerNum: 3, itemBytes: MIB, slotPageSize: 1 },
    { name: 'b', layerNum: 4, itemBytes: 300_000, slotPageSize: 1, layout: 'PAGE_FIRST_DIRECT' },
  ];
  const memory = { backing: 'ANONYMOUS_SHM_HUGETLB' };

  async function withHugepages(free: number): Promise<TestServer> {
    const files = hugepageFiles('sys/kernel/mm', free, free);
    const fake = plainHost(GIB, { ...files, ...hugepageFiles('sys/devices/system/node/node0', free, free) });
    onTestFinished(fake.remove);
    return startServerForTest({ HOSTPOOL_HOST_ROOT: fake.path });
  }

  it('rounds each mapping up to whole hugepages', async () => {
    const huge = await withHugepages(40);
    const most = await plan({ pools, memory }, huge);
    expect(most).toMatchObject({ fits: true, limitedBy: 'HUGEPAGES', hugepagesFree: 40, availableBytes: 40 * HUGE });
    expect(most.mappedBytes).toBe(mappedBytes(pools, most.anchorPages, HUGE));
    expect(most.hugepagesNeeded).toBe(most.mappedBytes / HUGE);
    expect(mappedBytes(pools, most.anchorPages + 1, HUGE)).toBeGreaterThan(40 * HUGE);
  });

  it('judges the whole group on ordinary pages when hugepages are short and FALL_BACK is asked for', async () => {
    const huge = await withHugepages(3);
    const strict = await plan({ pools, memory, anchorPages: 2 }, huge);
    expect(strict).toMatchObject({ fits: false, limitedBy: 'HUGEPAGES', maxAnchorPages: 0, hugepagesNeeded: 5 });
    const yielding = { ...memory, onHugepageShortage: 'FALL_BACK' };
    const ordinary = { fits: true, limitedBy: 'HOST_MEMORY', availableBytes: GIB, hugepagesNeeded: null };
    const two = await plan({ pools, memory: yielding, anchorPages: 2 }, huge);
    expect(two).toMatchObject({ ...ordinary, mappedBytes: mappedBytes(pools, 2, PAGE) });
    const most = await plan({ pools, memory: yielding }, huge);
    expect(most).toMatchObject({ ...ordinary, anchorPages: two.maxAnchorPages });
  });

  it('stays on hugepages as long as one anchor page fits there', async () => {
    const huge = await withHugepages(5);
    const yielding = { ...memory, onHugepageShortage: 'FALL_BACK' };
    expect(await plan({ pools, memory: yielding }, huge)).toMatchObject({ anchorPages: 2, limitedBy: 'HUGEPAGES' });
  });
});

describe('what planPoolGroup does not accept', () => {
  const good = { name: 'good', layerNum: 1, itemBytes: 4096, slotPageSize: 1 };
  const many = (count: number) => Array.from({ length: count }, (_, n) => ({ ...good, name: `p${n}` }));

  it.each([
    ['pools', []],
    ['pools', many(65)],
    ['pools', [good, good]],
    ['pools[1].name', [good, { ...good, name: 'a\nb' }]],
    ['pools[0].name', [{ ...good, name: '' }]],
    ['pools[2].itemBytes', [...many(2), { ...good, itemBytes: 0 }]],
    ['pools[0].itemBytes', [{ ...good, itemBytes: -1 }]],
    ['pools[0].itemBytes', [{ ...good, layerNum: 4096, itemBytes: 2 ** 52 }]],
    ['pools[0].layerNum', [{ ...good, layerNum: 0 }]],
    ['pools[0].layerNum', [{ ...good, layerNum: 4097 }]],
    ['pools[1].slotPageSize', [good, { ...good, name: 'b', slotPageSize: 0 }]],
    ['pools[1].slotPageSize', [good, { ...good, name: 'b', slotPageSize: 2 ** 53 }]],
    ['pools[0].pagesPerAnchorPage', [{ ...good, pagesPerAnchorPage: 0 }]],
    ['pools[0].pagesPerAnchorPage', [{ ...good, pagesPerAnchorPage: -1.5 }]],
    ['pools[0].pagesPerAnchorPage', [{ ...good, pagesPerAnchorPage: 1e9 }]],
    ['pools', [good, { ...good, name: 'b', itemBytes: 2 ** 53 - 1 }]],
  ])('names %s', async (field, pools) => {
    const refused = await plan({ pools });
    expect(refused).toMatchObject({ code: 'INVALID_ARGUMENT', field });
    expect(refused.message.length).toBeLessThan(200);
  });

  it.each([0, -1, 1.5, 2 ** 53, 1e308])('names anchorPages when it is %s', async (anchorPages) => {
    expect(await plan({ pools: [good], anchorPages })).toMatchObject({
      code: 'INVALID_ARGUMENT',
      field: 'anchorPages',
    });
  });

  it('names the memory that this host does not know', async () => {
    const node = { numaNode: 63 };
    expect(await plan({ pools: [good], memory: node })).toMatchObject({ field: 'memory.numaNode' });
    const odd = { backing: 'ANONYMOUS_HUGETLB', hugepageSize: '3MiB' };
    expect(await plan({ pools: [good], memory: odd })).toMatchObject({ field: 'memory.hugepageSize' });
    expect(await plan({ pools: [good], budget: 'nobody' })).toMatchObject({ code: 'NOT_FOUND', unknown: 'nobody' });
  });

  it('takes 64 pools', async () => {
    expect(await plan({ pools: many(64) })).toMatchObject({ fits: true, mappings: 64 });
  });
});
