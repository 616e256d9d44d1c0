import { createClient as createSseClient } from 'graphql-sse';
import { createClient as createWsClient } from 'graphql-ws';
import WebSocket from 'ws';

/** One subscription of a client of its own. */
export interface Stream {
  // biome-ignore lint/suspicious/noExplicitAny: results are as dynamic as the queries that tests write
  readonly results: AsyncIterableIterator<any>;
  /** Ends the client. */
  dispose(): void;
}

/** Opens a stream at a server. */
export type OpenStream = (url: string, query: string, variables?: Record<string, unknown>) => Stream;

/** Over graphql-ws. */
export const overWebSocket: OpenStream = (url, query, variables) => {
  const client = createWsClient({
    url: `${url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    retryAttempts: 0,
  });
  return { results: client.iterate({ query, variables }), dispose: () => void client.dispose() };
};

/** Over server-sent events. */
export const overSse: OpenStream = (url, query, variables) => {
  const client = createSseClient({ url: `${url}/graphql/stream`, retryAttempts: 0 });
  return { results: client.iterate({ query, variables }), dispose: () => client.dispose() };
};

/** Both doors for streams, by name. */
export const transports: [string, OpenStream][] = [
  ['graphql-ws', overWebSocket],
  ['server-sent events', overSse],
];

/** Every result until the stream ends. */
export async function all(stream: Stream) {
  const seen = [];
  for await (const result of stream.results) seen.push(result);
  stream.dispose();
  return seen;
}
