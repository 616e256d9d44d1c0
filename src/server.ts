import { fastifyApolloHandler } from '@as-integrations/fastify';
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  LogController,
} from 'fastify';
import type { Logger } from 'pino';
import type { Allocator } from './allocator/allocator.js';
import { SlotAllowance } from './allocator/slots.js';
import type { Doctor } from './doctor/doctor.js';
import { createApollo } from './http/apollo.js';
import { serveGraphiql } from './http/graphiql.js';
import { serveHealth } from './http/health.js';
import { sendError, shapeErrors } from './http/http-errors.js';
import { MAX_BODY_BYTES } from './http/limits.js';
import { FOREIGN_HOST, isLoopbackHost } from './http/origin.js';
import { requestIdOf } from './http/request-id.js';
import { logRequests } from './http/request-log.js';
import { serveSse } from './http/sse.js';
import { serveWebSocket } from './http/websocket.js';
import type { RequestContext } from './resolvers/context.js';
import { SHUTTING_DOWN, SHUTTING_DOWN_MESSAGE } from './resolvers/shutting-down.js';
import { buildHostpoolSchema } from './schema/build-schema.js';

/** What the server is made of. */
export interface ServerDeps {
  readonly allocator: Allocator;
  readonly doctor: Doctor;
  readonly logger: Logger;
  readonly version: string;
}

/** A server that is not listening yet. */
export interface HostpoolServer {
  readonly app: FastifyInstance;
  /** From now on /readyz answers 503 and new operations are refused; running ones go on. */
  beginDrain(): void;
  /** Ends streams, answers what is in flight, and stops listening. */
  close(): Promise<void>;
}

/** Puts the doors together: GraphQL over HTTP, WebSocket and server-sent events, probes and the page. */
export async function createServer({ allocator, doctor, logger, version }: ServerDeps): Promise<HostpoolServer> {
  const closing = new AbortController();
  let draining = false;
  const isDraining = () => draining;
  const contextFor = (requestId: string): RequestContext => ({
    allocator,
    doctor,
    version,
    requestId,
    slotAllowance: new SlotAllowance(),
    closing: closing.signal,
  });

  const app = createApp(logger);
  const schema = buildHostpoolSchema();
  const apollo = createApollo(schema, app, logger);
  await apollo.start();
  refuseForeignHosts(app);
  refuseWhile(app, isDraining);
  app.route({
    method: ['GET', 'POST', 'OPTIONS', 'PUT', 'PATCH', 'DELETE'],
    url: '/graphql',
    handler: fastifyApolloHandler(apollo, { context: async (request) => ({ ...contextFor(request.id), request }) }),
  });
  const cutOffSse = serveSse(app, schema, contextFor);
  serveHealth(app, isDraining);
  serveGraphiql(app);
  const closeWebSocket = serveWebSocket({ server: app.server, schema, logger, isDraining, contextFor });

  return {
    app,
    beginDrain: () => {
      draining = true;
    },
    close: async () => {
      closing.abort();
      cutOffSse();
      await new Promise(setImmediate);
      await closeWebSocket();
      await apollo.stop();
    },
  };
}

function createApp(logger: Logger): FastifyInstance {
  const app = fastify({
    loggerInstance: logger as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: MAX_BODY_BYTES,
    genReqId: requestIdOf,
    requestIdHeader: false,
  });
  // Without it a page of another site could send an operation as text/plain, which browsers do without asking first.
  app.removeContentTypeParser('text/plain');
  logRequests(app);
  shapeErrors(app);
  return app;
}

/** Names of other hosts are refused at every door. */
function refuseForeignHosts(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) => {
    if (isLoopbackHost(request.headers.host)) return undefined;
    return sendError(reply, 421, 'MISDIRECTED_REQUEST', FOREIGN_HOST);
  });
}

/** Looks at the request's start, and again when its body is there: one that is slow to send it may have begun before. */
function refuseWhile(app: FastifyInstance, isDraining: () => boolean): void {
  const refuse = async (request: FastifyRequest, reply: FastifyReply) => {
    if (!isDraining() || !request.routeOptions.url?.startsWith('/graphql')) return undefined;
    return sendError(reply, 503, SHUTTING_DOWN, SHUTTING_DOWN_MESSAGE);
  };
  app.addHook('onRequest', refuse);
  app.addHook('preHandler', refuse);
}
