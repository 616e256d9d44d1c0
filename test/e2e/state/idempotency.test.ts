import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  ALLOCATE_BUFFER,
  CREATE_BUDGET,
  CREATE_GROUP,
  CREATE_LOGICAL,
  CREATE_PAGED,
  DELETE_BUDGET,
  DESTROY_POOL,
  FREE_BUFFER,
  RESERVE,
} from '../../testkit/graphql.js';
import { startServer, stateFolder, type TestServer } from '../../testkit/server.js';

let folder: string;
let server: TestServer;
beforeAll(async () => {
  folder = stateFolder();
  server = await startServer({ HOSTPOOL_STATE_DIR: folder });
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Made {
  __typename: string;
  id?: string;
  name?: string;
  field?: string;
  message?: string;
  anchor?: { id: string };
  pools?: { id: string }[];
}

const shape = { layerNum: 2, itemBytes: 4096, slotPageSize: 8 };
/** Each mutation that makes something: an input under a name, another input, and how what it makes is removed. */
const makers: [string, string, (name: string) => object, object, ((made: Made) => [string, object]) | undefined][] = [
  [
    'a logical pool',
    CREATE_LOGICAL,
    (name) => ({ name, size: 64, pageSize: 8 }),
    { size: 128 },
    ({ id }) => [DESTROY_POOL, { id }],
  ],
  [
    'a V4 paged pool',
    CREATE_PAGED,
    (name) => ({ name, ...shape, numHostPages: 4 }),
    { numHostPages: 5 },
    ({ id }) => [DESTROY_POOL, { id }],
  ],
  [
    'a pool group',
    CREATE_GROUP,
    (name) => ({ pools: [{ name, ...shape }], anchorPages: 4 }),
    { anchorPages: 5 },
    ({ anchor }) => [DESTROY_POOL, { id: anchor?.id }],
  ],
  [
    'a host buffer',
    ALLOCATE_BUFFER,
    (name) => ({ name, nbytes: 4096 }),
    { nbytes: 1 },
    ({ id }) => [FREE_BUFFER, { id }],
  ],
  [
    'a budget',
    CREATE_BUDGET,
    (name) => ({ name, requestedBytes: 4096 }),
    { ranks: 2 },
    ({ name }) => [DELETE_BUDGET, { name }],
  ],
  ['a reservation', RESERVE, (holder) => ({ holder, bytes: 4096 }), { bytes: 1 }, undefined],
];

const send = (mutation: string, input: object): Promise<Made> => server.only(mutation, { input });
const identity = ({ id, name, anchor, pools }: Made) => ({
  id,
  name,
  anchor: anchor?.id,
  pools: pools?.map(({ id }) => id),
});
const charged = async () => (await server.data('{ budget { chargedBytes } }')).budget.chargedBytes;

describe.each(makers)('the idempotencyKey of %s', (what, mutation, input, otherwise, remove) => {
  const key = `key of ${what}`;
  const request = { ...input(`${what} x`), idempotencyKey: key };

  it('makes it once, however often and at once it is asked for, also after a crash', async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => send(mutation, request)));
    expect(all.map(identity)).toEqual(Array(8).fill(identity(all[0] as Made)));
    expect(all[0]).not.toHaveProperty('code');
    const before = await charged();
    expect(identity(await send(mutation, request))).toEqual(identity(all[0] as Made));
    server.child.kill('SIGKILL');
    await server.exit;
    server = await startServer({ HOSTPOOL_STATE_DIR: folder });
    expect(identity(await send(mutation, request))).toEqual(identity(all[0] as Made));
    expect(await charged()).toBe(before);
  });

  it('is refused with another input', async () => {
    expect(await send(mutation, { ...request, ...otherwise })).toMatchObject({
      __typename: 'InvalidArgument',
      field: 'idempotencyKey',
    });
  });

  it('says so when what it made is gone', async () => {
    if (remove === undefined) return; // an ended reservation is still remembered
    const [mutationOf, variables] = remove(await send(mutation, request));
    await server.data(mutationOf, variables);
    expect(await send(mutation, request)).toMatchObject({ __typename: 'NotFound' });
    expect((await send(mutation, request)).message).toContain('use another key');
  });

  it.each([
    ['empty', ''],
    ['too long', 'x'.repeat(256)],
    ['with a control character', 'a\nb'],
  ])('is refused when %s', async (_, bad) => {
    expect(await send(mutation, { ...input('y'), idempotencyKey: bad })).toMatchObject({ field: 'idempotencyKey' });
  });
});

it.each([false, true])(
  'a create whose prefault failed is decided anew under the same key, restarted meanwhile: %s',
  async (restarted) => {
    const name = `cancelled ${restarted}`;
    const request = { name, layerNum: 1, numHostPages: 512, itemBytes: '2MiB', slotPageSize: 1, idempotencyKey: name };
    const first = send(CREATE_PAGED, request);
    await vi.waitFor(async () => {
      const { pool } = await server.data('query($name: String) { pool(name: $name) { id state } }', { name });
      expect(pool.state).toBe('PREFAULTING');
      await server.data(DESTROY_POOL, { id: pool.id });
    });
    expect(await first).toMatchObject({ __typename: 'HostBufferAllocationFailed', reason: 'CANCELLED' });
    if (restarted) {
      server.child.kill('SIGKILL');
      await server.exit;
      server = await startServer({ HOSTPOOL_STATE_DIR: folder });
    }
    const again = await send(CREATE_PAGED, { ...request });
    expect(again).toMatchObject({ __typename: 'V4PagedHostPool', name });
    await server.data(DESTROY_POOL, { id: again.id });
  },
);

it('a request that was refused is decided anew under the same key', async () => {
  const request = { holder: 'late', bytes: 4096, budget: 'later', idempotencyKey: 'late' };
  expect(await send(RESERVE, request)).toMatchObject({ __typename: 'NotFound' });
  await send(CREATE_BUDGET, { name: 'later' });
  expect(await send(RESERVE, request)).toMatchObject({ __typename: 'Reservation' });
});

it('a budget of the same name that somebody else has made since is not what the key made', async () => {
  const request = { name: 'again', requestedBytes: 4096, idempotencyKey: 'again' };
  await send(CREATE_BUDGET, request);
  await server.only(DELETE_BUDGET, { name: 'again' });
  await send(CREATE_BUDGET, { name: 'again', ranks: 2 });
  expect(await send(CREATE_BUDGET, request)).toMatchObject({ __typename: 'NotFound' });
  server.child.kill('SIGKILL');
  await server.exit;
  server = await startServer({ HOSTPOOL_STATE_DIR: folder });
  expect(await send(CREATE_BUDGET, request)).toMatchObject({ __typename: 'NotFound' });
});

it('found under a name, it is answered again although it was not made', async () => {
  await send(CREATE_BUDGET, { name: 'there' });
  const request = { name: 'there', ifExists: 'RETURN', idempotencyKey: 'found' };
  expect(await send(CREATE_BUDGET, request)).toMatchObject({ __typename: 'Budget' });
  expect(await send(CREATE_BUDGET, { ...request, ranks: 2 })).toMatchObject({ field: 'idempotencyKey' });
});
