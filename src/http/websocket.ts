import type { IncomingMessage, Server } from 'node:http';
import { type ExecutionResult, type FormattedExecutionResult, GraphQLError, type GraphQLSchema } from 'graphql';
import { useServer } from 'graphql-ws/use/ws';
import type { Logger } from 'pino';
import { WebSocketServer } from 'ws';
import type { RequestContext } from '../resolvers/context.js';
import { SHUTTING_DOWN_MESSAGE, shuttingDown } from '../resolvers/shutting-down.js';
import { CLOSE_MS, MAX_BODY_BYTES, MAX_OPERATIONS_PER_SOCKET, MAX_SOCKETS } from './limits.js';
import { maskErrors } from './mask-errors.js';
import { FOREIGN_HOST, isLoopbackHost, isSameOrigin } from './origin.js';
import { requestIdOf } from './request-id.js';
import { loggedName } from './request-log.js';
import { prepareOperation } from './streaming.js';

/** What the WebSocket door needs. */
export interface WebSocketDeps {
  readonly server: Server;
  readonly schema: GraphQLSchema;
  readonly logger: Logger;
  readonly isDraining: () => boolean;
  readonly contextFor: (requestId: string) => RequestContext;
}

interface Extra extends Record<PropertyKey, unknown> {
  requestId?: string;
}

/** Serves graphql-ws at /graphql. The answer closes it: each client is told that the server goes away. */
export function serveWebSocket(deps: WebSocketDeps): () => Promise<void> {
  const { server, schema, logger } = deps;
  const wss = new WebSocketServer({
    server,
    path: '/graphql',
    maxPayload: MAX_BODY_BYTES,
    verifyClient: ({ req, origin }: Handshake, answer: Verdict) => {
      if (!isLoopbackHost(req.headers.host)) answer(false, 421, FOREIGN_HOST);
      else if (!isSameOrigin(origin, req.headers.host)) answer(false, 403, 'Pages of other sites are not served.');
      else if (deps.isDraining()) answer(false, 503, SHUTTING_DOWN_MESSAGE);
      else if (wss.clients.size >= MAX_SOCKETS)
        answer(false, 503, `At most ${MAX_SOCKETS} WebSockets are open at once.`);
      else answer(true);
    },
  });
  wss.on('error', () => {
    // The HTTP server's own errors, such as a busy port, arrive here too; whoever listens reports them.
  });
  const { dispose } = useServer<Record<string, unknown>, Extra>(
    {
      isProd: true,
      onConnect: ({ extra }) => {
        extra.requestId = requestIdOf(extra.request);
        return true;
      },
      onSubscribe: ({ extra, subscriptions }, _id, payload) => {
        const requestId = extra.requestId ?? '';
        const operationName = loggedName(payload.operationName);
        logger.info({ reqId: requestId, transport: 'ws', operationName }, 'operation');
        if (deps.isDraining()) return [shuttingDown()];
        if (Object.keys(subscriptions).length > MAX_OPERATIONS_PER_SOCKET) return [tooManyOperations()];
        return prepareOperation(schema, payload, deps.contextFor(requestId));
      },
      onError: ({ extra }, _id, _payload, errors) => maskErrors(errors, extra.requestId ?? '', logger),
      onNext: ({ extra }, _id, _payload, _args, result) => masked(result, extra.requestId ?? '', logger),
    },
    wss,
  );
  return async () => {
    const cutOff = setTimeout(() => {
      for (const client of wss.clients) client.terminate();
    }, CLOSE_MS);
    await dispose();
    clearTimeout(cutOff);
  };
}

interface Handshake {
  readonly req: IncomingMessage;
  readonly origin?: string;
}

type Verdict = (accepted: boolean, status?: number, message?: string) => void;

function tooManyOperations(): GraphQLError {
  const message = `At most ${MAX_OPERATIONS_PER_SOCKET} operations run at once over one WebSocket: complete some, or open another.`;
  return new GraphQLError(message, { extensions: { code: 'TOO_MANY_OPERATIONS' } });
}

function masked(result: ExecutionResult, requestId: string, logger: Logger): FormattedExecutionResult | undefined {
  return result.errors === undefined ? undefined : { ...result, errors: maskErrors(result.errors, requestId, logger) };
}
