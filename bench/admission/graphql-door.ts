import { fileURLToPath } from 'node:url';
import autocannon, { type Request } from 'autocannon';
import { spawnServer } from '../spawn-server.js';
import type { Door } from './compare.js';

const SECONDS = 2;
const CONNECTIONS = 16;
const SERVER = fileURLToPath(new URL('./server.ts', import.meta.url));

const RESERVE =
  'mutation { reserveHostMemory(input: { bytes: 4096, holder: "engine" }) { ... on Reservation { id } } }';
const RELEASE = 'mutation($id: ID!) { releaseReservation(id: $id) { ... on Reservation { state } } }';

/** Decisions over GraphQL, by a server of its own. */
export async function openGraphql(live: number, durable: boolean): Promise<Door> {
  const args = ['--import', 'tsx', SERVER, String(live), ...(durable ? ['durable'] : [])];
  const server = await spawnServer(process.execPath, args);
  return {
    live,
    pid: server.pid,
    decide: async () => {
      const url = `${server.url}/graphql`;
      const result = await autocannon({ url, connections: CONNECTIONS, duration: SECONDS, requests: pair() });
      const bad = result.non2xx + result.errors;
      if (bad > 0) throw new Error(`${bad} requests failed`);
      return { count: result.requests.total / 2, seconds: result.duration };
    },
    close: () => server.stop(),
  };
}

/** Each connection reserves, and releases that very reservation. */
function pair(): Request[] {
  const post = { method: 'POST', headers: { 'content-type': 'application/json' } } as const;
  return [
    {
      ...post,
      body: JSON.stringify({ query: RESERVE }),
      onResponse: (_status, body, context) => {
        Object.assign(context, { id: JSON.parse(body).data.reserveHostMemory.id });
      },
    },
    {
      ...post,
      setupRequest: (request, context) => {
        const { id } = context as { id: string };
        return { ...request, body: JSON.stringify({ query: RELEASE, variables: { id } }) };
      },
    },
  ];
}
