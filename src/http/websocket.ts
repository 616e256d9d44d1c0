import type { IncomingMessage, Server } from 'node:http';
import type { ExecutionResult, FormattedExecutionResult, GraphQLSchema } from 'graphql';
import { useServer } from 'graphql-ws/use/ws';
import type { Logger } from 'pino';
import { WebSocketServer } from 'ws';
import type { RequestContext } from '../resolvers/context.js';
import { MAX_BODY_BYTES } from './limits.js';
import { maskErrors } from './mask-errors.js';
import { requestIdOf } from './request-id.js';
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
    verifyClient: ({ req, origin }: { req: IncomingMessage; origin?: string }) =>
      !deps.isDraining() && isSameOrigin(origin, req.headers.host),
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
      onSubscribe: ({ extra }, _id, payload) => {
        const requestId = extra.requestId ?? '';
        const operationName = payload.operationName ?? undefined;
        logger.info({ reqId: requestId, transport: 'ws', operationName }, 'operation');
        return prepareOperation(schema, payload, deps.contextFor(requestId));
      },
      onError: ({ extra }, _id, _payload, errors) => maskErrors(errors, extra.requestId ?? '', logger),
      onNext: ({ extra }, _id, _payload, _args, result) => masked(result, extra.requestId ?? '', logger),
    },
    wss,
  );
  return async () => {
    await dispose();
  };
}

function masked(result: ExecutionResult, requestId: string, logger: Logger): FormattedExecutionResult | undefined {
  return result.errors === undefined ? undefined : { ...result, errors: maskErrors(result.errors, requestId, logger) };
}

/** Browsers say where a page comes from: another site's page may not speak for its visitor. Other clients say nothing. */
function isSameOrigin(origin: string | undefined, host: string | undefined): boolean {
  if (origin === undefined) return true;
  return URL.canParse(origin) && new URL(origin).host === host;
}
