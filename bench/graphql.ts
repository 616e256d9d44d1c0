// GraphQL operations a second and their 99th percentile, against the same server answering with an empty resolver.
import autocannon, { type Request, type Result } from 'autocannon';
import { spawnServer } from './spawn-server.js';

const SECONDS = 5;
const CONNECTIONS = 32;
const headers = { 'content-type': 'application/json' };

const server = await spawnServer(process.execPath, ['dist/main.js']);
const pool = await createPool();

const version: Request = { method: 'POST', headers, body: JSON.stringify({ query: '{ version }' }) };
const read: Request = {
  method: 'POST',
  headers,
  body: JSON.stringify({
    query: 'query($id: ID) { pool(id: $id) { id name state size availableSlots largestFreeRunPages } }',
    variables: { id: pool },
  }),
};

await run('warm-up', [version]);
report('{ version } (an empty resolver)', await run('version', [version]));
report('{ pool(id) { six fields } }', await run('pool', [read]));
report('allocateSlots + freeSlots, 16 pages', await run('slots', takeAndGive()));
await server.stop();

async function createPool(): Promise<string> {
  const query =
    'mutation { createLogicalHostPool(input: { name: "bench", size: 4194304, pageSize: 64 }) { ... on Pool { id } } }';
  const response = await fetch(`${server.url}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query }) });
  const { data } = (await response.json()) as { data: { createLogicalHostPool: { id: string } } };
  return data.createLogicalHostPool.id;
}

/** Each connection takes 16 pages and gives back those very ones. */
function takeAndGive(): Request[] {
  const take =
    'mutation($input: AllocateSlotsInput!) { allocateSlots(input: $input) { ... on SlotAllocation { ranges { start count } } } }';
  const give = 'mutation($input: FreeSlotsInput!) { freeSlots(input: $input) { ... on SlotsFreed { slotCount } } }';
  return [
    {
      method: 'POST',
      headers,
      body: JSON.stringify({ query: take, variables: { input: { pool, needSize: 1024 } } }),
      onResponse: (_status, body, context) => {
        Object.assign(context, { ranges: JSON.parse(body).data.allocateSlots.ranges });
      },
    },
    {
      method: 'POST',
      headers,
      setupRequest: (request, context) => {
        const { ranges } = context as { ranges: object[] };
        return { ...request, body: JSON.stringify({ query: give, variables: { input: { pool, ranges } } }) };
      },
    },
  ];
}

async function run(title: string, requests: Request[]): Promise<Result> {
  const duration = title === 'warm-up' ? 3 : SECONDS;
  return autocannon({ url: `${server.url}/graphql`, title, connections: CONNECTIONS, duration, requests });
}

function report(what: string, { requests, latency, non2xx, errors }: Result): void {
  const bad = non2xx + errors > 0 ? `, ${non2xx + errors} FAILED` : '';
  console.log(
    `${what}: ${requests.average.toFixed(0)} operations/s, p50 ${latency.p50} ms, p99 ${latency.p99} ms${bad}`,
  );
}
