import { expect, it, onTestFinished, vi } from 'vitest';
import { fakeHost, plainHost } from '../testkit/host-root.js';
import { startServerForTest, type TestServer } from '../testkit/server.js';

const ALLOCATE = `mutation($input: AllocateHostBufferInput!) { allocateHostBuffer(input: $input) {
  __typename
  ... on HostBuffer { id memory { mappedBytes numaNode numaPolicy numaNodes bytesByNode { node bytes }
    transparentHugepages transparentHugepageBytes locked } }
  ... on HostPoolError { code message remedies { field value } }
  ... on HostBufferAllocationFailed { reason numaNode numaNodes }
  ... on InvalidArgument { field }
} }`;
const CREATE = `mutation($input: CreateV4PagedPoolInput!) { createV4PagedPool(input: $input) {
  __typename ... on V4PagedHostPool { id memory { numaPolicy } } ... on NameTaken { differs } } }`;

async function server(env: Record<string, string> = {}): Promise<TestServer> {
  const host = plainHost(2 ** 34);
  onTestFinished(host.remove);
  return startServerForTest({ HOSTPOOL_HOST_ROOT: host.path, ...env });
}

const allocate = (to: TestServer, memory: object, nbytes = '8MiB') =>
  to.only(ALLOCATE, { input: { nbytes, memory: { backing: 'ANONYMOUS', ...memory } } });

it('each policy over the nodes of this machine is told as it was asked for, and what came of it', async () => {
  const real = await startServerForTest();
  for (const wish of [
    { numaNode: 0 },
    { numaNodes: [0, 0] },
    { numaNode: 0, numaPolicy: 'PREFERRED' },
    { numaNodes: [0], numaPolicy: 'PREFERRED' },
    { numaNodes: [0], numaPolicy: 'INTERLEAVE' },
  ]) {
    const { memory } = await allocate(real, wish);
    const numaPolicy = 'numaPolicy' in wish ? wish.numaPolicy : 'BIND';
    expect(memory).toMatchObject({ numaPolicy, numaNode: 0, numaNodes: [0] });
    expect(memory.bytesByNode).toContainEqual({ node: 0, bytes: memory.mappedBytes });
  }
  const anywhere = await allocate(real, {});
  expect(anywhere.memory).toMatchObject({ numaPolicy: 'BIND', numaNode: -1, numaNodes: [] });
  const over = await allocate(real, { numaPolicy: 'INTERLEAVE' });
  expect(over.memory.numaNodes).toContain(0);
});

it('nodes that contradict each other are an invalid argument, by its name', async () => {
  const to = await server();
  for (const [field, memory] of [
    ['memory.numaNodes', { numaNode: 0, numaNodes: [0] }],
    ['memory.numaNodes', { numaNodes: [] }],
    ['memory.numaNodes', { numaNodes: [-1] }],
    ['memory.numaNodes', { numaNodes: Array.from({ length: 1025 }, (_, node) => node) }],
    ['memory.numaPolicy', { numaPolicy: 'PREFERRED' }],
    ['memory.numaPolicy', { numaPolicy: 'PREFERRED', numaNodes: [0, 1] }],
    ['memory.numaNode', { numaNode: -2, numaPolicy: 'INTERLEAVE' }],
  ] as const)
    expect(await allocate(to, memory), field).toMatchObject({ code: 'INVALID_ARGUMENT', field });
});

it('a node of several that is offline is refused with nodes that are not', async () => {
  const refused = await allocate(await startServerForTest(), { numaNodes: [0, 900] });
  expect(refused).toMatchObject({ reason: 'NUMA_NODE_OFFLINE', numaNode: -1, numaNodes: [0, 900] });
  expect(refused.remedies).toContainEqual({ field: 'memory.numaNodes', value: '[0]' });
  expect(refused.remedies).toContainEqual({ field: 'memory.numaNodes', value: 'null' });
});

it('a wish for transparent hugepages is told beside what came of it, and logged when nothing did', async () => {
  const real = await startServerForTest();
  const none = await allocate(real, { transparentHugepages: 'NEVER' }, '64MiB');
  expect(none.memory.transparentHugepages).toBe('NEVER');
  const { memory, id } = await allocate(real, { transparentHugepages: 'ALWAYS' }, '64MiB');
  expect(memory.transparentHugepages).toBe('ALWAYS');
  if (memory.transparentHugepageBytes === null) return console.log('SKIPPED: this kernel does not tell (before 6.7)');
  expect(none.memory.transparentHugepageBytes).toBe(0);
  const told = () => real.log.filter(({ id: of, msg }) => of === id && msg.includes('none was had'));
  await vi.waitFor(() => expect(told()).toHaveLength(memory.transparentHugepageBytes === 0 ? 1 : 0));
});

it('memory that may not be locked is refused as such, with the ways out', async () => {
  // Without CAP_IPC_LOCK, and with a limit that is certain to be too low.
  const shell = 'ulimit -l 64; exec setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock "$@"';
  const bound = await startServerForTest({}, ['sh', '-c', shell, 'sh']);
  expect(await allocate(bound, { lockMemory: true })).toMatchObject({
    reason: 'MEMLOCK_LIMIT',
    remedies: [{ field: null }, { field: 'memory.lockMemory', value: 'false' }, { field: 'memory.backing' }],
  });
  const { memory } = await allocate(bound, { lockMemory: true }, '16KiB');
  expect(memory.locked).toBe(true);
  expect((await allocate(bound, {})).memory.locked).toBe(false);
});

it('a pool that differs in its wishes is another pool; defaults that are spelled out are no difference', async () => {
  const to = await server();
  const pool = { name: 'kv', layerNum: 1, numHostPages: 1, itemBytes: 4096, slotPageSize: 1, ifExists: 'RETURN' };
  const create = (memory: object) =>
    to.only(CREATE, { input: { ...pool, memory: { backing: 'ANONYMOUS', ...memory } } });
  const { id } = await create({});
  const spelled = { numaPolicy: 'BIND', transparentHugepages: 'DEFAULT', lockMemory: false };
  expect((await create(spelled)).id).toBe(id);
  expect((await create({ transparentHugepages: 'NEVER', lockMemory: true })).differs).toEqual([
    'memory.transparentHugepages',
    'memory.lockMemory',
  ]);
  expect((await create({ numaNodes: [1, 0] })).differs).toEqual(['memory.numaNodes']);
});

it('nodes are counted together for a strict bind to several', async () => {
  const pages = 'hugepages/hugepages-2048kB';
  const node = (id: number) => ({
    [`sys/devices/system/node/node${id}/meminfo`]: `Node ${id} MemTotal: 8388608 kB\nNode ${id} MemFree: 2097152 kB\n`,
    [`sys/devices/system/node/node${id}/${pages}/nr_hugepages`]: '0\n',
  });
  const host = fakeHost({
    'proc/meminfo': 'MemTotal: 16777216 kB\nMemFree: 4194304 kB\nMemAvailable: 4194304 kB\n',
    'sys/devices/system/node/online': '0-1\n',
    ...node(0),
    ...node(1),
  });
  onTestFinished(host.remove);
  const to = await startServerForTest({ HOSTPOOL_HOST_ROOT: host.path });
  const plan = async (memory: object) => {
    const input = { name: 'p', layerNum: 1, numHostPages: 3072, itemBytes: '1MiB', slotPageSize: 1, memory };
    return to.only(
      'query($input: CreateV4PagedPoolInput!) { planV4PagedPool(input: $input) { ... on V4PagedPoolPlan { fits limitedBy } } }',
      { input },
    );
  };
  expect(await plan({ numaNode: 0 })).toEqual({ fits: false, limitedBy: 'NUMA_NODE' });
  expect(await plan({ numaNodes: [0, 1] })).toEqual({ fits: true, limitedBy: 'NUMA_NODE' });
  expect(await plan({ numaNode: 0, numaPolicy: 'PREFERRED' })).toEqual({ fits: true, limitedBy: 'HOST_MEMORY' });
});
