import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ALLOCATE_BUFFER, CREATE_PAGED } from '../testkit/graphql.js';
import { plainHost } from '../testkit/host-root.js';
import { startServerForTest } from '../testkit/server.js';

const spec = { layerNum: 1, numHostPages: 4, itemBytes: '1MiB', slotPageSize: 1 };
const wish = { backing: 'ANONYMOUS_SHM_HUGETLB' };

describe('a hugepage wish on a host without hugepages', () => {
  it('fails when falling back was not asked for', async () => {
    const host = plainHost(2 ** 30);
    onTestFinished(host.remove);
    const server = await startServerForTest({ HOSTPOOL_HOST_ROOT: host.path });
    const pool = (await server.data(CREATE_PAGED, { input: { ...spec, name: 'a', memory: wish } })).createV4PagedPool;
    expect(pool.code).toMatch(/^(INSUFFICIENT_HOST_MEMORY|HOST_BUFFER_ALLOCATION_FAILED)$/);
    const buffer = (await server.data(ALLOCATE_BUFFER, { input: { nbytes: '4MiB', memory: wish } })).allocateHostBuffer;
    expect(buffer).toMatchObject({ code: 'HOST_BUFFER_ALLOCATION_FAILED', reason: expect.stringMatching(/^HUGEPAGE/) });
    expect(buffer.remedies).toContainEqual({
      summary: expect.any(String),
      field: 'memory.backing',
      value: 'ANONYMOUS_SHM',
    });
  });

  it('falls back visibly when it was: in the answer, in later queries and in the log', async () => {
    const host = plainHost(2 ** 30);
    onTestFinished(host.remove);
    const server = await startServerForTest({ HOSTPOOL_HOST_ROOT: host.path });
    const memory = { ...wish, onHugepageShortage: 'FALL_BACK' };
    const pool = (await server.data(CREATE_PAGED, { input: { ...spec, name: 'a', memory } })).createV4PagedPool;
    const placed = {
      requestedBacking: 'ANONYMOUS_SHM_HUGETLB',
      actualBacking: 'ANONYMOUS_SHM',
      fellBack: true,
      hugepageSize: null,
    };
    expect(pool).toMatchObject({ state: 'READY', memory: placed });
    const again = await server.data('{ pools { ... on V4PagedHostPool { memory { fellBack actualBacking } } } }');
    expect(again).toEqual({ pools: [{ memory: { fellBack: true, actualBacking: 'ANONYMOUS_SHM' } }] });
    const buffer = (await server.data(ALLOCATE_BUFFER, { input: { nbytes: '4MiB', memory } })).allocateHostBuffer;
    expect(buffer).toMatchObject({ memory: { fellBack: true, actualBacking: 'ANONYMOUS_SHM' } });
    const told = () => server.log.filter(({ level, msg }) => level === 'warn' && msg.includes('fell back'));
    await vi.waitFor(() =>
      expect(told()).toMatchObject([
        { what: 'pool', name: 'a', requestedBacking: 'AnonymousShmHugetlb', actualBacking: 'AnonymousShm' },
        { what: 'host buffer' },
      ]),
    );
  });
});
