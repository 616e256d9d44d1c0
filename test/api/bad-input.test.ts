import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ALLOCATE_BUFFER, ALLOCATE_SLOTS, CREATE_LOGICAL, CREATE_PAGED, FREE_SLOTS } from '../testkit/graphql.js';
import { processState } from '../testkit/process-state.js';
import { startServer, type TestServer } from '../testkit/server.js';

let server: TestServer;
let before: Awaited<ReturnType<typeof processState>>;

beforeAll(async () => {
  server = await startServer();
  before = await processState(server);
});
afterAll(async () => {
  expect(await processState(server), 'mapped bytes, descriptors and charges are as before').toEqual(before);
  expect(await server.stop()).toEqual({ code: 0, signal: null });
});

const paged = { name: 'p', layerNum: 1, numHostPages: 1, itemBytes: 4096, slotPageSize: 1 };
const logical = { name: 'l', size: 64, pageSize: 8 };

async function answer(query: string, input: object): Promise<Record<string, unknown>> {
  return server.only(query, { input });
}

describe('numbers outside what a field accepts are typed answers that name the field', () => {
  const numbers = [0, -1, 2 ** 53, 1e308, 1.5, '-5', '99999999999999999999'];
  const fields: [string, string, object][] = [
    ['size', CREATE_LOGICAL, logical],
    ['pageSize', CREATE_LOGICAL, logical],
    ['numHostPages', CREATE_PAGED, paged],
    ['itemBytes', CREATE_PAGED, paged],
    ['slotPageSize', CREATE_PAGED, paged],
    ['nbytes', ALLOCATE_BUFFER, {}],
  ];
  for (const [field, query, input] of fields) {
    it.each(numbers)(`${field}: %s`, async (number) => {
      expect(await answer(query, { ...input, [field]: number })).toMatchObject({ code: 'INVALID_ARGUMENT', field });
    });
  }

  it.each([0, -1])('layerNum: %s', async (layerNum) => {
    expect(await answer(CREATE_PAGED, { ...paged, layerNum })).toMatchObject({
      code: 'INVALID_ARGUMENT',
      field: 'layerNum',
    });
  });

  it('a product that overflows', async () => {
    const huge = { ...paged, layerNum: 1000, numHostPages: 2 ** 40, itemBytes: 2 ** 40 };
    expect(await answer(CREATE_PAGED, huge)).toMatchObject({ code: 'INVALID_ARGUMENT' });
    const slots = { ...paged, numHostPages: 2 ** 40, itemBytes: 1, slotPageSize: 2 ** 40 };
    expect(await answer(CREATE_PAGED, slots)).toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it.each([0, -1, 2 ** 53, 1e308, 1.5])('needSize: %s', async (needSize) => {
    const { id } = (await server.data(CREATE_LOGICAL, { input: { ...logical, name: `n${needSize}` } }))
      .createLogicalHostPool;
    expect(await answer(ALLOCATE_SLOTS, { pool: id, needSize })).toMatchObject({
      code: 'INVALID_ARGUMENT',
      field: 'needSize',
    });
    const free = await answer(FREE_SLOTS, { pool: id, indices: [needSize] });
    expect(free).toMatchObject({ code: expect.stringMatching(/INVALID_ARGUMENT|SLOT_OUT_OF_RANGE|NOT_PAGE_ALIGNED/) });
    await server.data('mutation($id: ID!) { destroyPool(id: $id) { __typename } }', { id });
  });
});

describe('what is no number is refused before anything runs', () => {
  const refused = ['NaN', 'Infinity', '10 gigs', '0.3 KiB', '10 GiB extra', '', 'x', true, null, {}, []];
  it.each(refused)('nbytes: %j', async (nbytes) => {
    const { status, body } = await server.send(ALLOCATE_BUFFER, { input: { nbytes } });
    expect(status).toBe(400);
    expect(body.errors[0].extensions.code).toBe('BAD_USER_INPUT');
  });

  it.each(['"10 gigs"', 'NaN', 'true', '"0x10"'])('nbytes as a literal: %s', async (literal) => {
    const { status, body } = await server.send(
      `mutation { allocateHostBuffer(input: { nbytes: ${literal} }) { __typename } }`,
    );
    expect(status).toBe(400);
    expect(body.errors[0].extensions.code).toBe('BAD_USER_INPUT');
    expect(body.errors[0].message).toContain('e.g. "10 GiB"');
  });

  it('a number that JSON cannot hold', async () => {
    const raw = `{"query": ${JSON.stringify(ALLOCATE_BUFFER)}, "variables": {"input": {"nbytes": 1e400}}}`;
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: raw,
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'BAD_USER_INPUT' } }] });
  });
});

describe('sizes with units', () => {
  it.each([
    ['10 GiB', 10 * 2 ** 30],
    ['10 GB', 10e9],
    ['10GB', 10e9],
    ['1.5 MiB', 1.5 * 2 ** 20],
    ['4096', 4096],
    ['2TiB', 2 * 2 ** 40],
    ['3 kB', 3000],
    [12345, 12345],
  ])('%s is %s bytes', async (itemBytes, requestedBytes) => {
    const query =
      'query($input: CreateV4PagedPoolInput!) { planV4PagedPool(input: $input) { ... on V4PagedPoolPlan { requestedBytes } } }';
    expect(await server.data(query, { input: { ...paged, itemBytes } })).toEqual({
      planV4PagedPool: { requestedBytes },
    });
  });
});

describe('names', () => {
  it.each([
    ['empty', ''],
    ['10,000 characters', 'x'.repeat(10_000)],
    ['a control character', 'a\u0000b'],
    ['a line break', 'a\nb'],
    ['a blank at the start', ' a'],
    ['a blank at the end', 'a '],
  ])('%s is refused', async (_what, name) => {
    for (const [query, input] of [
      [CREATE_LOGICAL, logical],
      [CREATE_PAGED, paged],
      [ALLOCATE_BUFFER, { nbytes: 4096 }],
    ] as const) {
      const refused = await answer(query, { ...input, name });
      expect(refused).toMatchObject({ code: 'INVALID_ARGUMENT', field: 'name' });
      expect(String(refused.message).length).toBeLessThan(200);
    }
  });

  it('128 characters of any script are accepted', async () => {
    const { id } = (await server.data(CREATE_LOGICAL, { input: { ...logical, name: 'é'.repeat(128) } }))
      .createLogicalHostPool;
    expect(
      await server.data('mutation($id: ID!) { destroyPool(id: $id) { ... on PoolDestroyed { name } } }', { id }),
    ).toEqual({
      destroyPool: { name: 'é'.repeat(128) },
    });
  });
});

describe('floods', () => {
  it('10,000 aliases are refused', async () => {
    const query = `{ ${Array.from({ length: 10_000 }, (_, n) => `a${n}: version`).join(' ')} }`;
    const { status, body } = await server.send(query);
    expect(status).toBe(400);
    expect(body.errors[0].message).toMatch(/token/);
  });

  it.each([
    ['of 50 MB', 50_000_000],
    ['one byte too long', 4 * 2 ** 20 + 1],
  ])('a body %s is refused in the shape of a GraphQL error', async (_what, bytes) => {
    const frame = JSON.stringify({ query: '{ version }', padding: '' }).length;
    const body = JSON.stringify({ query: '{ version }', padding: 'x'.repeat(bytes - frame) });
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${server.url}/graphql`, { method: 'POST', headers, body });
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'PAYLOAD_TOO_LARGE' } }] });
  });

  it('a free of 5 million indices is refused as too large a body', async () => {
    const { id } = (await server.data(CREATE_LOGICAL, { input: { ...logical, name: 'five' } })).createLogicalHostPool;
    const indices = Array.from({ length: 5_000_000 }, () => 0);
    expect((await server.send(FREE_SLOTS, { input: { pool: id, indices } })).status).toBe(413);
    await server.data('mutation($id: ID!) { destroyPool(id: $id) { __typename } }', { id });
  });

  it('the same pool made 100 times at once is made once', async () => {
    const input = { ...paged, name: 'once', numHostPages: 64, itemBytes: '1MiB' };
    const answers = await Promise.all(Array.from({ length: 100 }, () => answer(CREATE_PAGED, input)));
    const made = answers.filter(({ __typename }) => __typename === 'V4PagedHostPool');
    expect(made).toHaveLength(1);
    expect(answers.filter(({ code }) => code === 'NAME_TAKEN')).toHaveLength(99);
    const shared = await Promise.all(
      Array.from({ length: 100 }, () => answer(CREATE_PAGED, { ...input, ifExists: 'RETURN' })),
    );
    expect(new Set(shared.map(({ id }) => id))).toEqual(new Set([made[0]?.id]));
    expect((await server.data('{ budget { chargedBytes } }')).budget.chargedBytes).toBe(64 * 2 ** 20);
    await server.data('mutation($id: ID!) { destroyPool(id: $id) { __typename } }', { id: made[0]?.id });
  });
});
