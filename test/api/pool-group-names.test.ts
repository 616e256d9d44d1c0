import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CREATE_LOGICAL, CREATE_PAGED } from '../testkit/graphql.js';
import { budgetOf, createGroup, destroyGroup, mappedOf, slowPools, twoPools } from '../testkit/pool-groups.js';
import { processState } from '../testkit/process-state.js';
import { startServer, type TestServer } from '../testkit/server.js';

const MIB = 2 ** 20;
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
const destroyAll = (group: Answer, on = server) => destroyGroup(on, group);

describe('the names of a group', () => {
  it('are taken all or none, and the first that is taken is named', async () => {
    const pools = twoPools('taken');
    await server.data(CREATE_LOGICAL, { input: { name: 'taken-b', size: 8, pageSize: 8 } });
    const before = await processState(server);
    const refused = await create({ pools, anchorPages: 1, ifExists: 'RETURN' });
    expect(refused).toMatchObject({ code: 'NAME_TAKEN', name: 'taken-b' });
    expect(refused.differs).toEqual(expect.arrayContaining(['kind', 'pools']));
    expect(await processState(server)).toEqual(before);
    const alone = { ...twoPools('taken')[0], pagesPerAnchorPage: undefined, numHostPages: 1 };
    const { createV4PagedPool } = await server.data(CREATE_PAGED, { input: { ...alone, name: 'taken-a' } });
    expect(createV4PagedPool.state).toBe('READY');
    expect(await create({ pools, anchorPages: 1 })).toMatchObject({
      code: 'NAME_TAKEN',
      name: 'taken-a',
      differs: ['pools'],
    });
  });

  it('answer with the same group when RETURN is asked for', async () => {
    const input = { pools: twoPools('shared'), anchorPages: 3 };
    const first = await create(input);
    expect(await create(input)).toMatchObject({
      code: 'NAME_TAKEN',
      name: 'shared-a',
      differs: [],
      remedies: [{ field: 'ifExists', value: 'RETURN' }, {}],
    });
    const again = await create({ ...input, ifExists: 'RETURN' });
    expect(again.anchor.id).toBe(first.anchor.id);
    expect(again.pools.map(({ id }: Answer) => id)).toEqual(first.pools.map(({ id }: Answer) => id));
    const most = await create({ pools: input.pools, ifExists: 'RETURN' });
    expect(most).toMatchObject({ anchorPages: 3, anchor: { id: first.anchor.id } });
    const more = await create({ ...input, anchorPages: 4, ifExists: 'RETURN' });
    expect(more).toMatchObject({ code: 'NAME_TAKEN', name: 'shared-a', differs: ['numHostPages'] });
    const other = { ...input, anchor: { name: 'shared-a.anchor', pageSize: 64 }, ifExists: 'RETURN' };
    expect(await create(other)).toMatchObject({
      code: 'NAME_TAKEN',
      name: 'shared-a.anchor',
      differs: ['size', 'pageSize'],
    });
    await destroyAll(first);
  });

  it('of a group that is the most that fits are shared too, and by single pools', async () => {
    const budget = await budgetOf(server, 30 * MIB);
    const input = { budget, pools: twoPools('most') };
    const [first, second] = await Promise.all([create(input), create({ ...input, ifExists: 'RETURN' })]);
    expect(second.anchor.id).toBe(first.anchor.id);
    expect(await create({ ...input, ifExists: 'RETURN' })).toMatchObject({ anchorPages: first.anchorPages });
    const { numHostPages } = first.pools[0];
    const single = { ...input.pools[0], budget, numHostPages, pagesPerAnchorPage: undefined, ifExists: 'RETURN' };
    const { createV4PagedPool } = await server.data(CREATE_PAGED, { input: single });
    expect(createV4PagedPool.id).toBe(first.pools[0].id);
    await destroyAll(first);
  });

  it('are waited for while the group is being faulted in', async () => {
    const input = { pools: slowPools('waited'), anchorPages: 128 };
    const [first, second] = await Promise.all([create(input), create({ ...input, ifExists: 'RETURN' })]);
    expect(second.pools.map(({ id, state }: Answer) => [id, state])).toEqual(
      first.pools.map(({ id }: Answer) => [id, 'READY']),
    );
    await destroyAll(first);
  });
});

describe('groups that are asked for at once', () => {
  it('are granted or refused as wholes, and together never take more than there is', async () => {
    const before = await processState(server);
    const budget = await budgetOf(server, 20 * MIB);
    const asked = Array.from({ length: 12 }, () => ({ budget, pools: twoPools(), anchorPages: 3 }));
    const answers = await Promise.all(asked.map((input) => create(input)));
    const made = answers.filter(({ __typename }) => __typename === 'PoolGroup');
    const refused = answers.filter(({ __typename }) => __typename === 'InsufficientHostMemory');
    expect(made).toHaveLength(Math.floor((20 * MIB) / mappedOf(3)));
    expect(made.length + refused.length).toBe(12);
    expect(await processState(server)).toMatchObject({
      chargedBytes: before.chargedBytes + made.length * mappedOf(3),
      pools: before.pools + 3 * made.length,
    });
    for (const group of made) await destroyAll(group);
    expect(await processState(server)).toEqual(before);
  });

  it('each as the most that fits: one has it, and the others are told what is left', async () => {
    const budget = await budgetOf(server, 20 * MIB);
    const answers = await Promise.all(Array.from({ length: 8 }, () => create({ budget, pools: twoPools() })));
    const made = answers.filter(({ __typename }) => __typename === 'PoolGroup');
    expect(made).toHaveLength(1);
    const left = 20 * MIB - mappedOf(made[0].anchorPages);
    for (const refused of answers.filter((answer) => answer !== made[0]))
      expect(refused).toMatchObject({ availableBytes: left, maxNumHostPages: 0 });
    await destroyAll(made[0]);
  });

  it('under the same names are made once', async () => {
    const before = await processState(server);
    const input = { pools: twoPools(), anchorPages: 2 };
    const answers = await Promise.all(Array.from({ length: 30 }, () => create(input)));
    const made = answers.filter(({ __typename }) => __typename === 'PoolGroup');
    expect(made).toHaveLength(1);
    expect(answers.filter(({ code }) => code === 'NAME_TAKEN')).toHaveLength(29);
    await destroyAll(made[0]);
    expect(await processState(server)).toEqual(before);
  });
});
