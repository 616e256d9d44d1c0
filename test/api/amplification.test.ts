import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CREATE_LOGICAL, CREATE_PAGED, FREE_SLOTS } from '../testkit/graphql.js';
import { startServer, type TestServer } from '../testkit/server.js';

let server: TestServer;
let pool: string;

beforeAll(async () => {
  server = await startServer();
  const input = { name: 'wide', size: 2_000_000, pageSize: 1 };
  pool = (await server.data(CREATE_LOGICAL, { input })).createLogicalHostPool.id;
});
afterAll(() => server.stop());

const many = (count: number, field: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => field(n)).join(' ');
const allocated = async () =>
  (await server.data('query($id: ID) { pool(id: $id) { allocatedSlots } }', { id: pool })).pool.allocatedSlots;
const clear = () => server.data('mutation($id: ID!) { clearPool(id: $id) { __typename } }', { id: pool });
const take = (name: string, needSize: number, selection: string) =>
  `${name}: allocateSlots(input: { pool: "${pool}", needSize: ${needSize} }) { ${selection} ... on InvalidArgument { code field message } }`;

const refusal = { code: 'INVALID_ARGUMENT', field: 'needSize', message: expect.stringMatching(/100000 .*ranges/) };

describe('slots listed one by one', () => {
  it('are 100,000 in a request, and not one more', async () => {
    const listed = await server.data(`mutation { ${take('a', 100_000, '... on SlotAllocation { indices }')} }`);
    expect(listed.a.indices).toHaveLength(100_000);
    await clear();
    expect(await server.data(`mutation { ${take('a', 100_001, '... on SlotAllocation { indices }')} }`)).toEqual({
      a: refusal,
    });
    expect(await allocated()).toBe(0);
  });

  it.each([
    ['two names', '... on SlotAllocation { a: indices b: indices }'],
    ['two fragments', '...A ...B'],
    ['nested fragments', '... on AllocateSlotsResult { ... on SlotAllocation { indices ...B } }'],
  ])('are counted once for each of %s', async (_what, selection) => {
    const fragments =
      'fragment A on SlotAllocation { x: indices pool } fragment B on SlotAllocation { ... on SlotAllocation { y: indices } }';
    const query = (needSize: number) => {
      const operation = `mutation { ${take('a', needSize, selection)} }`;
      return selection.includes('...A')
        ? `${operation} ${fragments}`
        : selection.includes('...B')
          ? `${operation} ${fragments.slice(fragments.indexOf('fragment B'))}`
          : operation;
    };
    expect(await server.data(query(50_001))).toEqual({ a: refusal });
    expect(await allocated()).toBe(0);
    expect((await server.data(query(50_000))).a).not.toHaveProperty('code');
    await clear();
  });

  it('are not counted when they are left out, or named the same', async () => {
    const selection =
      '... on SlotAllocation { indices indices x: indices @include(if: false) y: indices @skip(if: true) }';
    expect((await server.data(`mutation { ${take('a', 100_000, selection)} }`)).a.indices).toHaveLength(100_000);
    await clear();
  });

  it('are counted over all mutations of a request', async () => {
    const fields = many(3, (n) => take(`a${n}`, 40_000, '... on SlotAllocation { indices }'));
    const { a0, a1, a2 } = await server.data(`mutation { ${fields} }`);
    expect([a0.indices.length, a1.indices.length, a2]).toEqual([40_000, 40_000, refusal]);
    expect(await allocated()).toBe(80_000);
    await clear();
  });

  it('are counted in the whole pages that a V4 pool hands out', async () => {
    const memory = { prefault: false };
    const input = { name: 'v4', layerNum: 1, numHostPages: 2, itemBytes: 4096, slotPageSize: 1_000_000, memory };
    const { id } = (await server.data(CREATE_PAGED, { input })).createV4PagedPool;
    const query =
      'mutation($input: AllocateSlotsInput!) { allocateSlots(input: $input) { ... on SlotAllocation { indices } ... on InvalidArgument { code field message } } }';
    expect(await server.data(query, { input: { pool: id, needSize: 1 } })).toEqual({ allocateSlots: refusal });
  });

  it('have no limit as ranges', async () => {
    const { a } = await server.data(
      `mutation { ${take('a', 2_000_000, '... on SlotAllocation { ranges { count } }')} }`,
    );
    expect(a).toEqual({ ranges: [{ count: 2_000_000 }] });
    await clear();
  });
});

describe('slots given back', () => {
  it.each([
    ['indices', 0, /ranges/],
    ['ranges', { start: 0, count: 1 }, /several requests/],
  ])('are at most 100,000 %s in a request', async (field, entry, advice) => {
    const give = async (count: number) =>
      (await server.data(FREE_SLOTS, { input: { pool, [field]: Array.from({ length: count }, () => entry) } }))
        .freeSlots;
    for (const count of [100_001, 150_000])
      expect(await give(count)).toMatchObject({
        code: 'INVALID_ARGUMENT',
        field,
        message: expect.stringMatching(advice),
      });
    expect(await give(100_000)).toMatchObject({ code: 'DOUBLE_FREE' });
  });

  it('are counted over all mutations of a request', async () => {
    const query = `mutation($input: FreeSlotsInput!) { ${many(2, (n) => `a${n}: freeSlots(input: $input) { __typename }`)} }`;
    const input = { pool, indices: Array.from({ length: 60_000 }, () => 0) };
    expect(await server.data(query, { input })).toEqual({
      a0: { __typename: 'DoubleFree' },
      a1: { __typename: 'InvalidArgument' },
    });
  });
});

describe('one field under many names', () => {
  it.each([
    ['100 root fields', `{ ${many(100, (n) => `a${n}: host { hostname }`)} }`, 200],
    ['101 root fields', `{ ${many(101, (n) => `a${n}: host { hostname }`)} }`, 400],
    [
      '101 root fields in fragments',
      `{ ...A ...B } fragment A on Query { ${many(60, (n) => `a${n}: version`)} } fragment B on Query { ${many(41, (n) => `b${n}: version`)} }`,
      400,
    ],
    ['101 mutations', `mutation { ${many(101, (n) => `a${n}: clearPool(id: "x") { __typename }`)} }`, 400],
    ['5 names of a list', `{ ${many(5, (n) => `a${n}: pools { id }`)} }`, 200],
    ['6 names of a list', `{ ${many(6, (n) => `a${n}: pools { id }`)} }`, 400],
    ['6 schemas', `{ ${many(6, (n) => `a${n}: __schema { description }`)} }`, 400],
    ['5 names below a list', `{ pools { ${many(5, (n) => `a${n}: state`)} } }`, 200],
    ['6 names below a list', `{ pools { ${many(6, (n) => `a${n}: state`)} } }`, 400],
    [
      '6 names in merged places',
      `{ pools { ${many(3, (n) => `a${n}: state`)} } ...F } fragment F on Query { pools { ${many(3, (n) => `b${n}: state`)} } }`,
      400,
    ],
    ['the same name again and again', `{ ${many(200, () => 'version')} }`, 200],
  ])('%s', async (_what, query, status) => {
    const answer = await server.send(query);
    expect(answer.status).toBe(status);
    if (status === 400) expect(answer.body.errors[0].extensions.code).toBe('GRAPHQL_VALIDATION_FAILED');
  });

  it.each([
    ['that use themselves', '{ host { ...F } } fragment F on Host { numaNodes { id ...F } a: numaNodes { ...F } }'],
    [
      'that double at each step',
      `{ __schema { types { ...F0 } } } ${many(300, (n) => `fragment F${n} on __Type { a: ofType { ...F${n + 1} } b: ofType { ...F${n + 1} } }`)} fragment F300 on __Type { name }`,
    ],
  ])('fragments %s end in a refusal', async (_what, query) => {
    expect((await server.send(query)).status).toBe(400);
  });

  it('is bounded for streams too', async () => {
    const headers = { 'content-type': 'application/json', accept: 'text/event-stream' };
    const body = JSON.stringify({ query: `{ ${many(101, (n) => `a${n}: host { hostname }`)} }` });
    const response = await fetch(`${server.url}/graphql/stream`, { method: 'POST', headers, body });
    expect(await response.text()).toContain('at most 100 root fields');
  });
});
