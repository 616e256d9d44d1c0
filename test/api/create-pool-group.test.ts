import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { ALLOCATE_SLOTS, PLAN_GROUP, UPDATE_BUDGET } from '../testkit/graphql.js';
import { plainHost } from '../testkit/host-root.js';
import {
  budgetOf,
  createGroup,
  destroyGroup,
  destroyPool,
  mappedOf,
  slowPools,
  twoPools,
} from '../testkit/pool-groups.js';
import { processState } from '../testkit/process-state.js';
import { startServer, startServerForTest, type TestServer } from '../testkit/server.js';

const MIB = 2 ** 20;
const GIB = 2 ** 30;
let server: TestServer;

beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  expect(await server.stop()).toEqual({ code: 0, signal: null });
});

// biome-ignore lint/suspicious/noExplicitAny: answers are as dynamic as the queries that tests write
type Answer = any;
const create = (input: object, on = server): Promise<Answer> => createGroup(on, input);
const destroy = (id: string, on = server): Promise<Answer> => destroyPool(on, id);
const destroyAll = (group: Answer, on = server) => destroyGroup(on, group);
const setBudget = (input: object, on = server) => on.data(UPDATE_BUDGET, { input: { name: 'host', ...input } });
/** The names on the list, in the order of the alphabet. */
const listed = async (on = server): Promise<string[]> =>
  (await on.data('{ pools { name } }')).pools.map(({ name }: Answer) => name).sort();

describe('createPoolGroup', () => {
  it('makes the pools and the anchor, ready, in the order of the request', async () => {
    const before = await processState(server);
    const pools = twoPools('kv');
    const group = await create({ pools, anchorPages: 7 });
    expect(group).toMatchObject({
      __typename: 'PoolGroup',
      anchorPages: 7,
      anchor: { name: 'kv-a.anchor', state: 'READY', pageSize: 256, pageCount: 7, size: 7 * 256 },
      pools: [
        { name: 'kv-a', state: 'READY', numHostPages: 7, size: 448, pageSize: 64, memory: { mappings: 2 } },
        { name: 'kv-b', state: 'READY', numHostPages: 4, size: 1024, pageSize: 256, memory: { mappings: 1 } },
      ],
    });
    expect(group.pools.every(({ progress }: Answer) => progress.done)).toBe(true);
    expect(await processState(server)).toMatchObject({
      chargedBytes: before.chargedBytes + mappedOf(7),
      memfds: before.memfds + 2,
      pools: before.pools + 3,
    });
    expect(
      (await server.data(ALLOCATE_SLOTS, { input: { pool: group.anchor.id, needSize: 512 } })).allocateSlots,
    ).toMatchObject({
      slotCount: 512,
    });
    expect(await destroy(group.pools[0].id)).toMatchObject({ releasedBytes: 14 * MIB });
    expect(await destroy(group.pools[1].id)).toMatchObject({ name: 'kv-b' });
    expect(await destroy(group.anchor.id)).toMatchObject({ releasedBytes: 0 });
    expect(await processState(server)).toEqual(before);
  });

  it('takes the input of a plan, and makes what the plan said', async () => {
    const input = { budget: await budgetOf(server, 20 * MIB), pools: twoPools() };
    const { planPoolGroup } = await server.data(PLAN_GROUP, { input });
    const group = await create(input);
    expect(planPoolGroup).toMatchObject({ fits: true, limitedBy: 'BUDGET_CAP' });
    expect(group.anchorPages).toBe(planPoolGroup.anchorPages);
    const made = group.pools.map(({ name, numHostPages, size, memory: { mappedBytes, mappings } }: Answer) => ({
      name,
      numHostPages,
      size,
      mappedBytes,
      mappings,
    }));
    expect(planPoolGroup.pools).toMatchObject(made);
    const { chargedBytes } = (
      await server.data('query($name: String!) { budget(name: $name) { chargedBytes } }', { name: input.budget })
    ).budget;
    expect(chargedBytes).toBe(planPoolGroup.mappedBytes);
    expect(await create({ ...input, pools: twoPools() })).toMatchObject({
      code: 'INSUFFICIENT_HOST_MEMORY',
      maxNumHostPages: 0,
    });
    await destroyAll(group);
  });

  it('names and sizes its anchor as it is told', async () => {
    const anchor = { name: 'told', pageSize: 100 };
    const group = await create({ pools: twoPools(), anchorPages: 3, anchor });
    expect(group.anchor).toMatchObject({ name: 'told', pageSize: 100, size: 300 });
    await destroyAll(group);
    const long = 'x'.repeat(128);
    const pools = [{ ...twoPools()[0], name: long }];
    const cut = await create({ pools, anchorPages: 1 });
    expect(cut.anchor.name).toBe(`${'x'.repeat(121)}.anchor`);
    await destroyAll(cut);
  });

  it('answers while it is being faulted in when it is not waited for', async () => {
    const group = await create({ pools: slowPools('unwaited'), anchorPages: 128, wait: false });
    expect(group.anchor.state).toBe('READY');
    for (const { state } of group.pools) expect(['PREFAULTING', 'READY']).toContain(state);
    await vi.waitFor(
      async () => {
        const { pools } = await server.data('{ pools(state: READY) { name } }');
        expect(pools.filter(({ name }: Answer) => name.startsWith('unwaited'))).toHaveLength(4);
      },
      { timeout: 30_000, interval: 20 },
    );
    await destroyAll(group);
  });

  it('faults in nothing when that is not wanted', async () => {
    const group = await create({ pools: twoPools(), anchorPages: 2, memory: { prefault: false } });
    expect(group.pools).toMatchObject([
      { state: 'READY', progress: { done: false, threads: 0 } },
      { state: 'READY', progress: { done: false } },
    ]);
    await destroyAll(group);
  });
});

describe('a group that does not fit', () => {
  it('is refused as a whole, with the anchor pages that fit', async () => {
    const before = await processState(server);
    const budget = await budgetOf(server, 10 * MIB);
    const input = { budget, pools: twoPools('tight'), anchorPages: 100 };
    const refused = await create(input);
    expect(refused).toMatchObject({
      code: 'INSUFFICIENT_HOST_MEMORY',
      message:
        'Not enough host memory for V4 paged pool group tight-a.anchor. Requesting 0.22 GB but only have 0.01 GB free.',
      poolName: 'group tight-a.anchor',
      requestedBytes: mappedOf(100),
      mappedBytes: mappedOf(100),
      availableBytes: 10 * MIB,
      shortfallBytes: mappedOf(100) - 10 * MIB,
      maxNumHostPages: 4,
      limitedBy: 'BUDGET_CAP',
      budget,
    });
    expect(refused.remedies[0]).toEqual({
      summary: 'Make the group smaller: 4 anchor pages fit now.',
      field: 'anchorPages',
      value: '4',
    });
    expect(await processState(server)).toEqual(before);
    const fitting = await create({ ...input, anchorPages: Number(refused.remedies[0].value) });
    expect(fitting).toMatchObject({ __typename: 'PoolGroup', anchorPages: 4 });
    await destroyAll(fitting);
  });

  it('tells of one anchor page when not even one fits, and leaves its names free', async () => {
    const before = await processState(server);
    const budget = await budgetOf(server, MIB);
    const pools = twoPools();
    const refused = await create({ budget, pools });
    expect(refused).toMatchObject({ code: 'INSUFFICIENT_HOST_MEMORY', mappedBytes: mappedOf(1), maxNumHostPages: 0 });
    expect(refused.remedies.map(({ field }: Answer) => field)).not.toContain('anchorPages');
    expect(await processState(server)).toEqual(before);
    await destroyAll(await create({ pools, anchorPages: 1 }));
  });

  it('is refused where memory of its kind cannot be had, with the figures of all its pools', async () => {
    const before = await processState(server);
    expect(await create({ pools: twoPools(), anchorPages: 4, memory: { numaNode: 63 } })).toMatchObject({
      code: 'HOST_BUFFER_ALLOCATION_FAILED',
      reason: 'NUMA_NODE_OFFLINE',
      nbytes: mappedOf(4),
      failedMappedBytes: mappedOf(4),
    });
    const node = { backing: 'ANONYMOUS_HUGETLB', hugepageSize: '3MiB' };
    expect(await create({ pools: twoPools(), memory: node })).toMatchObject({ reason: 'HUGEPAGE_SIZE_UNSUPPORTED' });
    expect(await processState(server)).toEqual(before);
  });

  it('is refused by a closed budget, by an unknown one, and by a rank that is not there', async () => {
    const budget = await budgetOf(server, GIB);
    await server.data(UPDATE_BUDGET, { input: { name: budget, admissionClosed: true } });
    expect(await create({ pools: twoPools(), budget })).toMatchObject({
      code: 'BUDGET_ADMISSION_CLOSED',
      closed: budget,
    });
    await setBudget({ admissionClosed: true });
    const closed = await create({ pools: twoPools() });
    await setBudget({ admissionClosed: false });
    expect(closed).toMatchObject({ code: 'BUDGET_ADMISSION_CLOSED', closed: 'host' });
    expect(await create({ pools: twoPools(), budget: 'nobody' })).toMatchObject({
      code: 'NOT_FOUND',
      unknown: 'nobody',
    });
    expect(await create({ pools: twoPools(), rank: 1 })).toMatchObject({ code: 'INVALID_ARGUMENT', field: 'rank' });
  });

  it.each([
    ['anchor.pageSize', { anchor: { name: 'a', pageSize: 0 } }],
    ['anchor.pageSize', { anchor: { name: 'a', pageSize: 2 ** 53 } }],
    ['anchor.name', { anchor: { name: ' a', pageSize: 1 } }],
    ['anchor.name', { anchor: { name: 'same-b', pageSize: 1 } }],
    ['anchorPages', { anchor: { name: 'a', pageSize: 2 ** 52 }, anchorPages: 2 }],
    ['anchorPages', { anchorPages: 0 }],
    ['pools', { pools: [] }],
    ['pools[1].layerNum', { pools: [twoPools('x')[0], { ...twoPools('x')[1], layerNum: 0 }] }],
  ])('names %s in %j', async (field, input) => {
    const before = await processState(server);
    expect(await create({ pools: twoPools('same'), ...input })).toMatchObject({ code: 'INVALID_ARGUMENT', field });
    expect(await processState(server)).toEqual(before);
  });
});

describe('a group on hugepages that are not there', () => {
  it('is on ordinary pages altogether when FALL_BACK is asked for', async () => {
    const fake = plainHost(GIB);
    onTestFinished(fake.remove);
    const without = await startServerForTest({ HOSTPOOL_HOST_ROOT: fake.path });
    const backing = 'ANONYMOUS_SHM_HUGETLB';
    const input = { pools: twoPools(), memory: { backing }, anchorPages: 2 };
    expect(await create(input, without)).toMatchObject({ reason: 'HUGEPAGE_SIZE_UNSUPPORTED' });
    const fell = await create({ ...input, memory: { backing, onHugepageShortage: 'FALL_BACK' } }, without);
    for (const { memory } of fell.pools)
      expect(memory).toMatchObject({ requestedBacking: backing, actualBacking: 'ANONYMOUS_SHM', fellBack: true });
    const told = () => without.log.filter(({ msg }) => msg.includes('fell back')).map(({ name }) => name);
    await vi.waitFor(() => expect(told()).toEqual(input.pools.map(({ name }) => name)));
  });
});

describe('a group of which one pool fails', () => {
  it('leaves nothing when it was waited for', async () => {
    const before = await processState(server);
    const input = { pools: slowPools('doomed'), anchorPages: 512 };
    const making = create(input);
    const found = await vi.waitFor(
      async () => {
        const { pools } = await server.data('{ pools(state: PREFAULTING) { id name } }');
        const last = pools.find(({ name }: Answer) => name === 'doomed-2');
        expect(last).toBeDefined();
        return last;
      },
      { timeout: 10_000, interval: 5 },
    );
    await destroy(found.id);
    expect(await making).toMatchObject({ code: 'HOST_BUFFER_ALLOCATION_FAILED', reason: 'CANCELLED' });
    expect(await processState(server)).toEqual(before);
    await destroyAll(await create({ ...input, anchorPages: 1 }));
  });

  it('keeps the others when it was not', async () => {
    const group = await create({ pools: slowPools('kept'), anchorPages: 128, wait: false });
    await destroy(group.pools[0].id);
    expect(await listed()).toEqual(expect.arrayContaining(['kept-0.anchor', 'kept-1', 'kept-2']));
    await destroyAll(group);
  });
});
