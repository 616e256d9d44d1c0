import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../testkit/server.js';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const misaligned = 'createLogicalHostPool(input: { name: "x", size: 10, pageSize: 4 })';

describe('@throwOnError', () => {
  it('turns an error member into a top-level error with every field of its type, and status 422', async () => {
    const { status, body } = await server.send(`mutation { ${misaligned} @throwOnError { __typename } }`);
    expect(status).toBe(422);
    expect(body.data).toEqual({ createLogicalHostPool: null });
    expect(body.errors).toEqual([
      {
        message: 'LogicalHostPool size must be page-aligned, got size=10, page_size=4',
        path: ['createLogicalHostPool'],
        locations: [expect.anything()],
        extensions: {
          __typename: 'LogicalPoolSizeNotPageAligned',
          code: 'LOGICAL_POOL_SIZE_NOT_PAGE_ALIGNED',
          message: 'LogicalHostPool size must be page-aligned, got size=10, page_size=4',
          remedies: [expect.objectContaining({ value: '8' }), expect.objectContaining({ value: '12' })],
          size: 10,
          pageSize: 4,
          alignedDown: 8,
          alignedUp: 12,
        },
      },
    ]);
  });

  it('spells enums as the schema does', async () => {
    const { body } = await server.send(
      'mutation { allocateHostBuffer(input: { nbytes: 4096, memory: { numaNode: 63 } }) @throwOnError { __typename } }',
    );
    expect(body.errors[0].extensions).toMatchObject({
      reason: 'NUMA_NODE_OFFLINE',
      requestedBacking: 'ANONYMOUS_SHM',
      errno: null,
    });
  });

  it('works on budgets and reservations, with moments as the schema spells them', async () => {
    const reserve =
      'reserveHostMemory(input: { bytes: 4096, holder: "x" }) @throwOnError { ... on Reservation { id } }';
    const { id } = (await server.data(`mutation { ${reserve} }`)).reserveHostMemory;
    const release = `releaseReservation(id: "${id}") @throwOnError { __typename }`;
    expect(await server.data(`mutation { ${release} }`)).toEqual({ releaseReservation: { __typename: 'Reservation' } });
    const thrown = {
      [`renewReservation(id: "${id}", ttlSeconds: 5)`]: {
        code: 'LEASE_EXPIRED',
        id,
        expiredAt: expect.stringMatching(/^\d{4}-.*Z$/),
      },
      [`commitReservation(id: "${id}")`]: { code: 'LEASE_EXPIRED', __typename: 'LeaseExpired' },
      'reserveHostMemory(input: { bytes: 1, holder: "x", budget: "no" })': { code: 'NOT_FOUND', id: 'no' },
      'createBudget(input: { name: "host" })': { code: 'NAME_TAKEN' },
      'updateBudget(input: { name: "no" })': { code: 'NOT_FOUND' },
      'deleteBudget(name: "host")': { code: 'INVALID_ARGUMENT', field: 'name' },
    };
    for (const [field, extensions] of Object.entries(thrown)) {
      const { status, body } = await server.send(`mutation { ${field} @throwOnError { __typename } }`);
      expect(status, field).toBe(422);
      expect(body.errors[0].extensions).toMatchObject(extensions);
    }
  });

  it('leaves the other fields of the document readable, with status 200', async () => {
    const ok = 'createLogicalHostPool(input: { name: "ok", size: 8, pageSize: 4 }) @throwOnError { __typename }';
    const { status, body } = await server.send(`mutation { a: ${misaligned} @throwOnError { __typename } b: ${ok} }`);
    expect(status).toBe(200);
    expect(body.data).toEqual({ a: null, b: { __typename: 'LogicalHostPool' } });
    expect(body.errors).toHaveLength(1);
  });

  it('is read through fragments, and on plans', async () => {
    const plan = 'planV4PagedPool(input: { name: "p", layerNum: 0, numHostPages: 1, itemBytes: 1, slotPageSize: 1 })';
    const { status, body } = await server.send(`{ ...F } fragment F on Query { ${plan} @throwOnError { __typename } }`);
    expect(status).toBe(422);
    expect(body.errors[0].extensions).toMatchObject({ code: 'INVALID_ARGUMENT', field: 'layerNum' });
  });

  it('does nothing to a field that succeeds', async () => {
    const query = 'mutation { setHostBudget(input: {}) @throwOnError { ... on Budget { name } } }';
    expect(await server.send(query)).toMatchObject({
      status: 200,
      body: { data: { setHostBudget: { name: 'host' } } },
    });
  });

  it('is refused where there is no error to throw', async () => {
    for (const query of ['{ version @throwOnError }', '{ host @throwOnError { hostname } }']) {
      const { status, body } = await server.send(query);
      expect(status).toBe(400);
      expect(body.errors[0].message).toBe('@throwOnError is only for fields that return a result union.');
      expect(body.errors[0].extensions.code).toBe('GRAPHQL_VALIDATION_FAILED');
    }
  });
});
