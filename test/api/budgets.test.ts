import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  ALLOCATE_BUFFER,
  CREATE_BUDGET,
  CREATE_PAGED,
  DELETE_BUDGET,
  DESTROY_POOL,
  FREE_BUFFER,
  RELEASE,
  RESERVE,
  UPDATE_BUDGET,
} from '../testkit/graphql.js';
import { type FakeHost, plainHost } from '../testkit/host-root.js';
import { startServer, type TestServer } from '../testkit/server.js';

const MIB = 2 ** 20;
const GIB = 2 ** 30;
let host: FakeHost;
let server: TestServer;
let names = 0;
const newName = () => `budget-${++names}`;

beforeAll(async () => {
  host = plainHost(20 * GIB);
  server = await startServer({ HOSTPOOL_HOST_ROOT: host.path });
});
afterAll(async () => {
  expect((await server.data('{ budget { chargedBytes } }')).budget).toEqual({ chargedBytes: 0 });
  expect(await server.stop()).toEqual({ code: 0, signal: null });
  host.remove();
});

// biome-ignore lint/suspicious/noExplicitAny: answers are as dynamic as the queries that tests write
type Answer = any;
const only = (query: string, variables: unknown): Promise<Answer> => server.only(query, variables);
const create = (input: object) => only(CREATE_BUDGET, { input: { name: newName(), ...input } });
const update = (name: string, change: object) => only(UPDATE_BUDGET, { input: { name, ...change } });
const remove = (name: string) => only(DELETE_BUDGET, { name });
const reserve = (input: object) => only(RESERVE, { input: { holder: 'engine', ...input } });
const release = (id: string) => only(RELEASE, { id });
const pool = (input: object) => only(CREATE_PAGED, { input: { name: newName(), ...shape, ...input } });
const buffer = (input: object) => only(ALLOCATE_BUFFER, { input });
const shape = { layerNum: 1, numHostPages: 4, itemBytes: MIB, slotPageSize: 8 };

describe('a budget', () => {
  it('is listed after host, the others by name, and found by its name', async () => {
    await create({ name: 'listed-b', requestedBytes: '1GiB' });
    await create({ name: 'listed-a' });
    const { budgets } = await server.data('{ budgets { name } }');
    const listed = budgets.map(({ name }: { name: string }) => name);
    expect(listed[0]).toBe('host');
    expect(listed.indexOf('listed-a')).toBeLessThan(listed.indexOf('listed-b'));
    const { budget } = await server.data('{ budget(name: "listed-b") { requestedBytes effectiveBytes reserveBytes } }');
    expect(budget).toEqual({ requestedBytes: GIB, effectiveBytes: GIB, reserveBytes: 0 });
    expect(await remove('listed-a')).toMatchObject({ __typename: 'Budget', name: 'listed-a' });
    expect(await remove('listed-a')).toMatchObject({ code: 'NOT_FOUND', unknown: 'listed-a' });
    expect(await server.data('{ budget(name: "listed-a") { name } }')).toEqual({ budget: null });
  });

  it('without a cap takes its size from the host once, when it is made', async () => {
    const before = await reserve({ bytes: '4GiB' });
    const { name, rankShares } = await create({ ranks: 4 });
    expect(rankShares.map(({ effectiveBytes }: Answer) => effectiveBytes)).toEqual([4, 4, 4, 4].map((n) => n * GIB));
    await release(before.id);
    const held = [];
    for (const rank of [3, 0, 2, 1]) held.push(await reserve({ budget: name, rank, bytes: '4GiB' }));
    expect(held.map(({ state }) => state)).toEqual(['HELD', 'HELD', 'HELD', 'HELD']);
    expect(await reserve({ budget: name, rank: 0, bytes: 1 })).toMatchObject({ limitedBy: 'RANK_SHARE', rank: 0 });
    for (const { id } of held) await release(id);
  });

  it('as a fraction is a part of what the host can promise then', async () => {
    expect(await create({ fraction: 0.25, ranks: 3 })).toMatchObject({ effectiveBytes: 5 * GIB, fraction: 0.25 });
    expect(await create({ fraction: 0.5, requestedBytes: '2GiB' })).toMatchObject({ effectiveBytes: 2 * GIB });
  });

  it('gives the remainder of its split to the lowest ranks', async () => {
    const { rankShares } = await create({ requestedBytes: 11, ranks: 3 });
    expect(rankShares.map(({ effectiveBytes }: Answer) => effectiveBytes)).toEqual([4, 4, 3]);
  });

  it('is shared with ifExists RETURN when the terms are the same', async () => {
    const terms = { name: 'shared', requestedBytes: '1GiB', ranks: 2 };
    await create(terms);
    expect(await create({ ...terms, ifExists: 'RETURN' })).toMatchObject({ __typename: 'Budget', ranks: 2 });
    expect(await create(terms)).toMatchObject({
      code: 'NAME_TAKEN',
      differs: [],
      remedies: [{ field: 'ifExists', value: 'RETURN' }, {}],
    });
    expect(await create({ ...terms, ranks: 3, requestedBytes: null, ifExists: 'RETURN' })).toMatchObject({
      code: 'NAME_TAKEN',
      differs: ['requestedBytes', 'ranks'],
    });
  });

  it('named host is there already and cannot be removed', async () => {
    expect(await create({ name: 'host', ranks: 2, ifExists: 'RETURN' })).toMatchObject({ code: 'NAME_TAKEN' });
    expect(await create({ name: 'host' })).toMatchObject({ code: 'NAME_TAKEN' });
    expect(await remove('host')).toMatchObject({ code: 'INVALID_ARGUMENT', field: 'name' });
  });

  it.each([
    ['name', { name: '' }],
    ['name', { name: 'a\nb' }],
    ['name', { name: 'x'.repeat(129) }],
    ['requestedBytes', { requestedBytes: -1 }],
    ['requestedBytes', { requestedBytes: 1.5 }],
    ['requestedBytes', { requestedBytes: 2 ** 53 }],
    ['fraction', { fraction: 0 }],
    ['fraction', { fraction: 1.01 }],
    ['ranks', { ranks: 0 }],
    ['ranks', { ranks: -1 }],
    ['ranks', { ranks: 4097 }],
  ])('names %s when it is %j', async (field, input) => {
    expect(await create(input)).toMatchObject({ code: 'INVALID_ARGUMENT', field });
  });
});

describe('updateBudget', () => {
  it('leaves alone what is absent, and null goes back to the default', async () => {
    const { name } = await create({ requestedBytes: '2GiB', fraction: 0.5 });
    expect(await update(name, { admissionClosed: true })).toMatchObject({
      requestedBytes: 2 * GIB,
      fraction: 0.5,
      admissionClosed: true,
    });
    expect(await update(name, { requestedBytes: null })).toMatchObject({
      requestedBytes: null,
      effectiveBytes: 10 * GIB,
      admissionClosed: true,
    });
    expect(await update(name, { fraction: null, admissionClosed: null })).toMatchObject({
      fraction: null,
      effectiveBytes: 20 * GIB,
      admissionClosed: false,
    });
    expect(await update(name, {})).toMatchObject({ effectiveBytes: 20 * GIB });
  });

  it('below what is charged frees nothing, says overBudget and refuses what is new', async () => {
    const { name } = await create({ requestedBytes: '4GiB' });
    const { id } = await reserve({ budget: name, bytes: '3GiB' });
    expect(await update(name, { requestedBytes: '1GiB' })).toMatchObject({
      overBudget: true,
      chargedBytes: 3 * GIB,
      effectiveBytes: GIB,
      availableBytes: 0,
    });
    const refused = await reserve({ budget: name, bytes: 1 });
    expect(refused).toMatchObject({
      code: 'BUDGET_EXCEEDED',
      limitedBy: 'BUDGET_CAP',
      availableBytes: 0,
      budget: name,
    });
    expect(refused.remedies[0].summary).toContain(`updateBudget(input: { name: "${name}"`);
    await release(id);
    expect(await update(name, {})).toMatchObject({ overBudget: false, availableBytes: GIB });
  });

  it('changes host as setHostBudget does', async () => {
    expect(await update('host', { requestedBytes: '1GiB' })).toMatchObject({ name: 'host', effectiveBytes: GIB });
    const { name } = await create({ requestedBytes: '2GiB' });
    expect(await reserve({ budget: name, bytes: '1.5GiB' })).toMatchObject({
      limitedBy: 'BUDGET_CAP',
      availableBytes: GIB,
    });
    expect(await update('host', { requestedBytes: null })).toMatchObject({ requestedBytes: null });
  });

  it('refuses what is out of range, and a name that is not there', async () => {
    const { name } = await create({});
    for (const [field, value] of [
      ['requestedBytes', -1],
      ['fraction', 2],
    ] as const) {
      expect(await update(name, { [field]: value })).toMatchObject({ code: 'INVALID_ARGUMENT', field });
    }
    expect(await update('nobody', {})).toMatchObject({ code: 'NOT_FOUND', unknown: 'nobody' });
  });
});

describe('admissionClosed', () => {
  it('closes a named budget alone, to pools, buffers and reservations', async () => {
    const { name } = await create({ requestedBytes: '1GiB' });
    const { id } = await reserve({ budget: name, bytes: MIB });
    await update(name, { admissionClosed: true });
    for (const refused of [
      await reserve({ budget: name, bytes: MIB }),
      await pool({ budget: name }),
      await buffer({ budget: name, nbytes: MIB }),
    ]) {
      expect(refused).toMatchObject({ code: 'BUDGET_ADMISSION_CLOSED' });
      expect(refused.message).toContain(name);
    }
    const elsewhere = await reserve({ bytes: MIB });
    expect(elsewhere.state).toBe('HELD');
    expect((await release(elsewhere.id)).state).toBe('RELEASED');
    expect((await release(id)).state).toBe('RELEASED');
  });

  it('of host closes every budget, and says that it was host', async () => {
    const { name } = await create({});
    await update('host', { admissionClosed: true });
    const refused = await reserve({ budget: name, bytes: MIB });
    await update('host', { admissionClosed: null });
    expect(refused).toMatchObject({ code: 'BUDGET_ADMISSION_CLOSED', budget: 'host' });
    expect(refused.remedies[0].summary).toContain('name: "host"');
  });
});

describe('deleteBudget', () => {
  it('is refused while a pool, a buffer or a reservation is charged to it', async () => {
    const { name } = await create({ requestedBytes: '1GiB' });
    const ends = [
      [await pool({ budget: name }), (id: string) => only(DESTROY_POOL, { id })],
      [await buffer({ budget: name, nbytes: MIB }), (id: string) => only(FREE_BUFFER, { id })],
      [await reserve({ budget: name, bytes: MIB }), release],
    ] as const;
    for (const [held, end] of ends) {
      const attachments = ends.length - ends.findIndex(([other]) => other === held);
      expect(await remove(name)).toMatchObject({ code: 'IN_USE', attachments });
      await end(held.id);
    }
    expect(await remove(name)).toMatchObject({ __typename: 'Budget', chargedBytes: 0 });
  });
});

describe('the log', () => {
  const logged = (name: string) => server.log.filter(({ budget }) => budget === name);

  it('has a line for each change of a budget, with its figures, and none for what was there or was refused', async () => {
    const name = newName();
    const terms = { name, requestedBytes: GIB, ranks: 2 };
    await create(terms);
    await create({ ...terms, ifExists: 'RETURN' });
    await create({ ...terms, ifExists: 'RETURN', ranks: 3 });
    await create(terms);
    await update(name, { requestedBytes: 2 * GIB, admissionClosed: true });
    await update(name, { fraction: 7 });
    await reserve({ budget: name, rank: 0, bytes: MIB });
    await remove(name);
    await remove(name);
    await vi.waitFor(() => expect(logged(name).map(({ msg }) => msg)).toContain('budget deleted'), { interval: 10 });
    const figures = { level: 'info', budget: name, ranks: 2, chargedBytes: 0, overBudget: false, reserveBytes: 0 };
    const changed = { ...figures, requestedBytes: 2 * GIB, effectiveBytes: 2 * GIB, admissionClosed: true };
    expect(logged(name)).toMatchObject([
      { ...figures, msg: 'budget created', requestedBytes: GIB, effectiveBytes: GIB, admissionClosed: false },
      { ...changed, msg: 'budget changed' },
      { ...changed, msg: 'budget deleted' },
    ]);
  });

  it('has a line for a change of host', async () => {
    const before = logged('host').length;
    await server.data('mutation { setHostBudget(input: { reserveBytes: "1GiB" }) { __typename } }');
    await update('host', { requestedBytes: null });
    await server.data('mutation { setHostBudget(input: { reserveBytes: null }) { __typename } }');
    await vi.waitFor(() => expect(logged('host')).toHaveLength(before + 3), { interval: 10 });
    const changed = { msg: 'budget changed', level: 'info', admissionClosed: false };
    expect(logged('host').slice(before)).toMatchObject([
      { ...changed, reserveBytes: GIB },
      { ...changed, reserveBytes: GIB },
      { ...changed, reserveBytes: 0 },
    ]);
  });
});

describe('pools and buffers in a named budget', () => {
  it('are held to the share of their rank', async () => {
    const { name } = await create({ requestedBytes: 64 * MIB, ranks: 2 });
    const refused = await pool({ budget: name, rank: 1, numHostPages: 33 });
    expect(refused).toMatchObject({ code: 'INSUFFICIENT_HOST_MEMORY', limitedBy: 'RANK_SHARE', budget: name, rank: 1 });
    expect(refused).toMatchObject({ availableBytes: 32 * MIB, shortfallBytes: MIB, maxNumHostPages: 32 });
    const made = await pool({ budget: name, rank: 1, numHostPages: 32 });
    expect(made).toMatchObject({ __typename: 'V4PagedHostPool', state: 'READY' });
    expect(await buffer({ budget: name, rank: 1, nbytes: MIB })).toMatchObject({
      code: 'BUDGET_EXCEEDED',
      limitedBy: 'RANK_SHARE',
      rank: 1,
      availableBytes: 0,
    });
    const other = await buffer({ budget: name, rank: 0, nbytes: 32 * MIB });
    expect(other).toMatchObject({ __typename: 'HostBuffer' });
    const { budget } = await server.data(`{ budget(name: "${name}") { chargedBytes rankShares { chargedBytes } } }`);
    expect(budget).toEqual({
      chargedBytes: 64 * MIB,
      rankShares: [{ chargedBytes: 32 * MIB }, { chargedBytes: 32 * MIB }],
    });
    await only(DESTROY_POOL, { id: made.id });
    await only(FREE_BUFFER, { id: other.id });
  });

  it('are held to its cap', async () => {
    const { name } = await create({ requestedBytes: 16 * MIB });
    expect(await pool({ budget: name, numHostPages: 17 })).toMatchObject({
      code: 'INSUFFICIENT_HOST_MEMORY',
      limitedBy: 'BUDGET_CAP',
      budget: name,
      rank: null,
      maxNumHostPages: 16,
    });
    expect(await buffer({ budget: name, nbytes: 17 * MIB })).toMatchObject({
      code: 'BUDGET_EXCEEDED',
      limitedBy: 'BUDGET_CAP',
      availableBytes: 16 * MIB,
      remedies: [{ field: 'nbytes', value: String(16 * MIB) }, {}, {}],
    });
  });

  it('must say which rank when it is split, and one that it has', async () => {
    const { name } = await create({ ranks: 2 });
    for (const rank of [null, 2, -1]) {
      const named = { code: 'INVALID_ARGUMENT', field: 'rank' };
      expect(await reserve({ budget: name, rank, bytes: MIB })).toMatchObject(named);
      expect(await pool({ budget: name, rank })).toMatchObject(named);
      expect(await buffer({ budget: name, rank, nbytes: MIB })).toMatchObject(named);
    }
  });
});
