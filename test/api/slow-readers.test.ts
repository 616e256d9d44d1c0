import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { createClient } from 'graphql-ws';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import WebSocket from 'ws';
import { CREATE_BUDGET, RELEASE, RESERVE } from '../testkit/graphql.js';
import { type FakeHost, plainHost } from '../testkit/host-root.js';
import { startServer, type TestServer } from '../testkit/server.js';

/** How many events the server keeps. */
const KEPT = 10_000;
/** More than the kernel holds of one connection: some 20 MB of them. */
const HELD = 3_000;
const BUDGET = 'b'.repeat(128);
const HOLDER = 'h'.repeat(256);
// Events of 7 kB.
const names = [1, 2, 3, 4, 5].map((n) => `name${n}: name`).join(' ');
const claimants = [1, 2, 3, 4, 5].map((n) => `claimant${n}: claimant { ${names} }`).join(' ');
const EVENTS = `subscription { budgetEvents { sequence missed ${claimants} } }`;
const refusals = Array.from({ length: 100 }, (_, n) => `r${n}: reserveHostMemory(input: $input) { __typename }`);
const REFUSE_100 = `mutation($input: ReserveHostMemoryInput!) { ${refusals.join(' ')} }`;

interface Event {
  readonly sequence: number;
  readonly missed: number;
}

let host: FakeHost;
let server: TestServer;

beforeAll(async () => {
  host = plainHost(2 ** 30);
  server = await startServer({ HOSTPOOL_HOST_ROOT: host.path });
  await server.data(CREATE_BUDGET, { input: { name: BUDGET } });
});
afterAll(async () => {
  expect(server.log.filter(({ level }) => level === 'error')).toEqual([]);
  expect(await server.stop()).toEqual({ code: 0, signal: null });
  host.remove();
});

const refuse100 = (to = server) => to.data(REFUSE_100, { input: { budget: BUDGET, bytes: '1TiB', holder: HOLDER } });

/** Events as they are parsed out of what a connection gets, in the order of their coming. */
class Arrivals {
  readonly #events: Event[] = [];
  #wake: () => void = () => undefined;

  push(message: string): void {
    const { data } = JSON.parse(message);
    if (data === undefined) return;
    this.#events.push(data.budgetEvents);
    this.#wake();
  }

  async next(): Promise<Event> {
    for (;;) {
      const event = this.#events.shift();
      if (event !== undefined) return event;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

interface Reader {
  readonly arrivals: Arrivals;
  /** From now on nothing is taken from the connection. */
  pause(): void;
  resume(): void;
  end(): void;
}

async function overWebSocket(): Promise<Reader> {
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
  const arrivals = new Arrivals();
  await once(socket, 'open');
  socket.send(JSON.stringify({ type: 'connection_init' }));
  await once(socket, 'message');
  socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query: EVENTS } }));
  socket.on('message', (text) => {
    const { type, payload } = JSON.parse(String(text));
    if (type === 'next') arrivals.push(JSON.stringify(payload));
  });
  return {
    arrivals,
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    end: () => socket.terminate(),
  };
}

async function overSse({ url } = server): Promise<Reader> {
  const arrivals = new Arrivals();
  const headers = { 'content-type': 'application/json', accept: 'text/event-stream' };
  const asking = request(`${url}/graphql/stream`, { method: 'POST', headers });
  asking.end(JSON.stringify({ query: EVENTS }));
  const [response]: [IncomingMessage] = (await once(asking, 'response')) as never;
  let text = '';
  response.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (text + chunk).split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) if (line.startsWith('data: ')) arrivals.push(line.slice('data: '.length));
  });
  return {
    arrivals,
    pause: () => void response.pause(),
    resume: () => void response.resume(),
    end: () => void response.destroy(),
  };
}

/** Reads on to the first event before which some were missed, and checks that none is missing untold. */
async function firstGap(arrivals: Arrivals, read: Event): Promise<Event> {
  for (let last = read; ; ) {
    const event = await arrivals.next();
    expect(event.sequence).toBe(last.sequence + 1 + event.missed);
    if (event.missed > 0) return event;
    last = event;
  }
}

describe('a reader that takes nothing for a while', () => {
  it('is told how many events it missed, and the server keeps none of them for it', async () => {
    // Both at once: over graphql-ws a client must answer a ping within half a minute.
    const readers = [await overWebSocket(), await overSse()];
    await refuse100();
    const read = await Promise.all(readers.map(({ arrivals }) => arrivals.next()));
    for (const { pause } of readers) pause();
    for (let n = 0; n < KEPT + HELD; n += 100) await refuse100();
    for (const { resume } of readers) resume();
    for (const [n, { arrivals, end }] of readers.entries()) {
      const { sequence, missed } = await firstGap(arrivals, read[n] as Event);
      expect(missed).toBeLessThan(KEPT + HELD);
      expect(await arrivals.next()).toMatchObject({ sequence: sequence + 1, missed: 0 });
      end();
    }
  });
});

describe('a reader of server-sent events that takes nothing any more', () => {
  let own: TestServer;
  beforeAll(async () => {
    own = await startServer({ HOSTPOOL_HOST_ROOT: host.path });
    await own.data(CREATE_BUDGET, { input: { name: BUDGET } });
    const { pause } = await overSse(own);
    pause();
    for (let n = 0; n < HELD; n += 100) await refuse100(own);
  });

  // The time-out is below the ten seconds that the HTTP server would wait, and far above what is needed.
  it('does not hold up a shutdown', { timeout: 8_000 }, async () => {
    expect(await own.stop()).toEqual({ code: 0, signal: null });
    expect(own.log.filter(({ level }) => level === 'error')).toEqual([]);
  });
});

describe('a subscription that is acknowledged', () => {
  const engine = { budget: BUDGET, bytes: 4096, holder: 'engine' };
  const QUERY = 'subscription { budgetEvents { kind } }';

  it('over server-sent events, by the answer, shows what comes right after', async () => {
    for (let n = 0; n < 20; n += 1) {
      const reader = await overSse();
      const { id } = (await server.data(RESERVE, { input: engine })).reserveHostMemory;
      await server.data(RELEASE, { id });
      const events = [await reader.arrivals.next(), await reader.arrivals.next()];
      expect(events[1]?.sequence).toBe((events[0]?.sequence ?? 0) + 1);
      reader.end();
    }
  });

  it('over graphql-ws, by the order on its socket, shows what the next operation does', async () => {
    for (let n = 0; n < 20; n += 1) {
      const client = createClient({ url: `${server.url.replace('http', 'ws')}/graphql`, webSocketImpl: WebSocket });
      const events = client.iterate<{ budgetEvents: { kind: string } }>({ query: QUERY });
      const first = events.next();
      const reserving = client.iterate<Record<string, { id: string }>>({
        query: RESERVE,
        variables: { input: engine },
      });
      const { id } = (await reserving.next()).value?.data?.reserveHostMemory ?? {};
      expect((await first).value.data.budgetEvents.kind).toBe('CHARGED');
      await server.data(RELEASE, { id });
      expect((await events.next()).value.data.budgetEvents.kind).toBe('RELEASED');
      await client.dispose();
    }
  });
});
