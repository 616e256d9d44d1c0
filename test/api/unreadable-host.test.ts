import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { plainHost } from '../testkit/host-root.js';
import { startServerForTest } from '../testkit/server.js';

const operations = [
  '{ host { memTotal } }',
  '{ budget { chargedBytes } }',
  '{ planV4PagedPool(input: {name: "p", layerNum: 1, numHostPages: 1, itemBytes: 1, slotPageSize: 1}) { __typename } }',
  'mutation { createV4PagedPool(input: {name: "p", layerNum: 1, numHostPages: 1, itemBytes: 1, slotPageSize: 1}) { __typename } }',
  'mutation { allocateHostBuffer(input: {nbytes: 1}) { __typename } }',
  'mutation { setHostBudget(input: {}) { __typename } }',
  'mutation { createBudget(input: {name: "b"}) { __typename } }',
  'mutation { reserveHostMemory(input: {bytes: 1, holder: "h"}) { __typename } }',
];

it('a host that turns unreadable is a bug with its reason in the log, never an answer; and it heals', async () => {
  const host = plainHost(2 ** 30);
  onTestFinished(host.remove);
  const server = await startServerForTest({ HOSTPOOL_HOST_ROOT: host.path });
  const healthy = `MemTotal: 1048576 kB\nMemFree: 1048576 kB\nMemAvailable: 1048576 kB\n`;
  writeFileSync(join(host.path, 'proc/meminfo'), 'nothing\n');
  for (const query of operations) {
    const { body } = await server.send(query);
    expect(
      body.errors?.map((error: { extensions?: { code?: string } }) => error.extensions?.code),
      query,
    ).toEqual(['INTERNAL_SERVER_ERROR']);
  }
  const reasons = () => server.log.filter(({ msg }) => msg === 'bug').map(({ err }) => (err as Error).message);
  await vi.waitFor(() => expect(reasons()).toEqual(operations.map(() => expect.stringContaining('meminfo'))));

  writeFileSync(join(host.path, 'proc/meminfo'), healthy);
  const { createV4PagedPool } = await server.data(operations[3] as string);
  expect(createV4PagedPool).toEqual({ __typename: 'V4PagedHostPool' });
});
