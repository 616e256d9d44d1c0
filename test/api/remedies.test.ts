import { describe, expect, it, onTestFinished } from 'vitest';
import { ALLOCATE_BUFFER, CREATE_GROUP, CREATE_PAGED } from '../testkit/graphql.js';
import { hugepageFiles, plainHost } from '../testkit/host-root.js';
import { startServerForTest, type TestServer } from '../testkit/server.js';

const memory = { backing: 'ANONYMOUS_HUGETLB', prefault: false };

/** A server on a host with two nodes, with these free hugepages on each. */
async function serverWithHugepages(onNode0: number, onNode1: number): Promise<TestServer> {
  const node = 'sys/devices/system/node';
  const host = plainHost(2 ** 33, {
    ...hugepageFiles('sys/kernel/mm', 100, onNode0 + onNode1),
    ...hugepageFiles(`${node}/node0`, 50, onNode0),
    ...hugepageFiles(`${node}/node1`, 50, onNode1),
    [`${node}/online`]: '0-1\n',
    [`${node}/node0/distance`]: '10 20\n',
    [`${node}/node1/meminfo`]: 'Node 1 MemTotal: 8388608 kB\nNode 1 MemFree: 8388608 kB\n',
    [`${node}/node1/cpulist`]: '2-3\n',
    [`${node}/node1/distance`]: '20 10\n',
  });
  onTestFinished(host.remove);
  return startServerForTest({ HOSTPOOL_HOST_ROOT: host.path });
}

const buffer = async (server: TestServer, input: object) =>
  (await server.data(ALLOCATE_BUFFER, { input })).allocateHostBuffer;
const pool = async (server: TestServer, input: object) =>
  (await server.data(CREATE_PAGED, { input: { name: 'p', layerNum: 1, slotPageSize: 1, ...input } })).createV4PagedPool;
const fields = ({ remedies }: { remedies: { field: string | null }[] }) => remedies.map(({ field }) => field);

describe('the size that fits', () => {
  it.each([
    ['ANONYMOUS_HUGETLB', '5MiB', 4 * 2 ** 20],
    ['ANONYMOUS_HUGETLB', '1MiB', undefined],
    ['ANONYMOUS', 10_000, 8192],
  ])('of %s within %s is in whole pages', async (backing, requestedBytes, fitting) => {
    const server = await serverWithHugepages(50, 50);
    const cap = 'mutation($input: SetHostBudgetInput!) { setHostBudget(input: $input) { __typename } }';
    await server.data(cap, { input: { requestedBytes } });
    const refused = await buffer(server, { nbytes: '8MiB', memory: { backing, prefault: false } });
    expect(refused.code).toBe('BUDGET_EXCEEDED');
    const suggested = refused.remedies.find(({ field }: { field: string }) => field === 'nbytes')?.value;
    expect(suggested).toBe(fitting === undefined ? undefined : String(fitting));
    const reserve = `mutation($input: ReserveHostMemoryInput!) { reserveHostMemory(input: $input) {
      ... on BudgetExceeded { remedies { field value } } } }`;
    const reservation = { bytes: '8MiB', backing, holder: 'test', ttlSeconds: 60 };
    const { remedies } = (await server.data(reserve, { input: reservation })).reserveHostMemory;
    const bytes = remedies.find(({ field }: { field: string }) => field === 'bytes')?.value;
    expect(bytes).toBe(fitting === undefined ? undefined : String(fitting));
  });
});

describe('hugepages that are short on a node', () => {
  const bound = { ...memory, numaNode: 0 };

  it('are looked for on others when others have them', async () => {
    const server = await serverWithHugepages(1, 50);
    const refusedBuffer = await buffer(server, { nbytes: '8MiB', memory: bound });
    expect(refusedBuffer.reason).toBe('NUMA_NODE_EXHAUSTED');
    expect(fields(refusedBuffer)).toContain('memory.numaNode');
    const refusedPool = await pool(server, { numHostPages: 4, itemBytes: '2MiB', memory: bound });
    expect(refusedPool.limitedBy).toBe('NUMA_NODE');
    expect(fields(refusedPool)).toContain('memory.numaNode');
  });

  it('are reserved, or done without, when the whole machine is short', async () => {
    const server = await serverWithHugepages(1, 1);
    for (const refused of [
      await buffer(server, { nbytes: '8MiB', memory: bound }),
      await pool(server, { numHostPages: 4, itemBytes: '2MiB', memory: bound }),
    ]) {
      expect(fields(refused)).not.toContain('memory.numaNode');
      expect(fields(refused)).toContain('memory.onHugepageShortage');
    }
  });

  it('are made up for by fields that a group of pools has', async () => {
    const server = await serverWithHugepages(1, 1);
    const pools = [{ name: 'p', layerNum: 2, itemBytes: '2MiB', slotPageSize: 1 }];
    const input = { pools, anchorPages: 2, memory: { ...memory, prefault: false } };
    const refused = (await server.data(CREATE_GROUP, { input })).createPoolGroup;
    expect(refused).toMatchObject({ limitedBy: 'HUGEPAGES', maxNumHostPages: 1 });
    expect(fields(refused)).toEqual(['anchorPages', null, 'memory.onHugepageShortage', null]);
    expect(refused.remedies[3].summary).toContain('PAGE_FIRST');
  });
});
