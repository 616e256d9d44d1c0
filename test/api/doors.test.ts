import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { createClient } from 'graphql-ws';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import WebSocket from 'ws';
import { startServer, startServerForTest, type TestServer } from '../testkit/server.js';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

/** The server may close a connection; the operation on it is told. */
const onNonLazyError = () => undefined;

const wsUrl = (of: TestServer) => `${of.url.replace('http', 'ws')}/graphql`;

/** A request with these headers, which fetch would not send. */
async function send(path: string, headers: Record<string, string>, body?: string): Promise<[number, string]> {
  const asked = request(`${server.url}${path}`, { method: body === undefined ? 'GET' : 'POST', headers });
  const [response]: [IncomingMessage] = (await once(asked.end(body), 'response')) as never;
  let text = '';
  for await (const chunk of response) text += chunk;
  return [response.statusCode ?? 0, text];
}

/** How a WebSocket is answered: "open", or the error. */
function opened(of: TestServer, options: object): Promise<string> {
  return new Promise((resolve) => {
    const socket = new WebSocket(wsUrl(of), 'graphql-transport-ws', options);
    socket.on('error', (error) => resolve(error.message)).on('open', () => resolve('open'));
    onTestFinished(() => socket.terminate());
  });
}

describe('a name that points here but is not this machine', () => {
  const foreign = [
    'evil.example',
    'evil.example:4400',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'evil@127.0.0.1',
    '128.0.0.1',
  ];

  it.each(foreign)('%s is refused at every door', async (host) => {
    const json = { host, 'content-type': 'application/json' };
    const query = JSON.stringify({ query: '{ version }' });
    for (const answer of [
      await send('/', { host }),
      await send('/graphiql/boot.js', { host }),
      await send('/healthz', { host }),
      await send('/nowhere', { host }),
      await send('/graphql', json, query),
      await send('/graphql/stream', { ...json, accept: 'text/event-stream' }, query),
    ]) {
      expect(answer).toEqual([421, expect.stringContaining('MISDIRECTED_REQUEST')]);
    }
    expect(await opened(server, { headers: { host }, origin: `http://${host}` })).toContain('421');
  });

  it.each(['localhost', 'LocalHost:1', '127.9.9.9:4400', '[::1]:4400'])('%s is accepted', async (host) => {
    expect(await send('/healthz', { host })).toEqual([200, expect.any(String)]);
    expect(await opened(server, { headers: { host }, origin: `http://${host}` })).toBe('open');
  });
});

describe('over one WebSocket', () => {
  it('100 operations run at once, and no more', async () => {
    const client = createClient({
      url: wsUrl(server),
      webSocketImpl: WebSocket,
      retryAttempts: 0,
      lazy: false,
      onNonLazyError,
    });
    onTestFinished(() => void client.dispose());
    const query = 'subscription { hostMemory(intervalMs: 60000) { memTotal } }';
    const streams = Array.from({ length: 100 }, () => client.iterate({ query }));
    await Promise.all(streams.map((stream) => stream.next()));
    const refused = await client
      .iterate({ query })
      .next()
      .catch((errors) => errors);
    expect(refused).toMatchObject([{ extensions: { code: 'TOO_MANY_OPERATIONS' } }]);
    await streams[0]?.return?.();
    await vi.waitFor(async () => {
      expect(await client.iterate({ query: '{ version }' }).next()).toMatchObject({ value: { data: {} } });
    });
  });

  it('the log has no more than the start of an operation name', async () => {
    const client = createClient({ url: wsUrl(server), webSocketImpl: WebSocket, retryAttempts: 0 });
    onTestFinished(() => void client.dispose());
    const operationName = `N${'x'.repeat(10_000)}`;
    await client.iterate({ query: `query ${operationName} { version }`, operationName }).next();
    await vi.waitFor(() =>
      expect(server.log).toContainEqual(expect.objectContaining({ operationName: operationName.slice(0, 128) })),
    );
    expect(JSON.stringify(server.log)).not.toContain('x'.repeat(129));
  });
});

describe('at most 1,000 at once', () => {
  it('WebSockets', async () => {
    const own = await startServerForTest();
    const answers = await Promise.all(Array.from({ length: 1_010 }, () => opened(own, {})));
    expect(answers.filter((answer) => answer === 'open')).toHaveLength(1_000);
    expect(answers.filter((answer) => answer.includes('503'))).toHaveLength(10);
  });

  it('event streams', async () => {
    const own = await startServerForTest();
    const query = encodeURIComponent('subscription { hostMemory(intervalMs: 60000) { memTotal } }');
    const asked: ClientRequest[] = [];
    onTestFinished(() => {
      for (const one of asked) one.destroy();
    });
    const status = async () => {
      const one = request(`${own.url}/graphql/stream?query=${query}`, { headers: { accept: 'text/event-stream' } });
      asked.push(one.on('error', () => undefined));
      const [response]: [IncomingMessage] = (await once(one.end(), 'response')) as never;
      return response.statusCode;
    };
    const answers = await Promise.all(Array.from({ length: 1_010 }, status));
    expect(answers.filter((code) => code === 200)).toHaveLength(1_000);
    expect(answers.filter((code) => code === 503)).toHaveLength(10);
    asked[answers.indexOf(200)]?.destroy();
    await vi.waitFor(async () => expect(await status()).toBe(200));
  });
});
