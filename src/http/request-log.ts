import type { FastifyInstance, FastifyRequest } from 'fastify';

/** What the log says of a request's operation. Never its variables, nor its document. */
export interface OperationTrace {
  operation?: string | undefined;
  operationName?: string | undefined;
}

const traces = new WeakMap<object, OperationTrace>();

/** The longest operation name that is logged. */
const MAX_LOGGED_NAME = 128;

/** An operation name as it is logged: cut, since nothing bounds it, and undefined when it is no name. */
export function loggedName(name: unknown): string | undefined {
  return typeof name === 'string' ? name.slice(0, MAX_LOGGED_NAME) : undefined;
}

/** Notes which operation a request carries. */
export function noteOperation(request: FastifyRequest, operation?: string, name?: unknown): void {
  traces.set(request, { operation, operationName: loggedName(name) });
}

/** Logs each answered request with its id, path (no query string: it may hold variables), status and operation. */
export function logRequests(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.raw.setHeader('x-request-id', request.id);
  });
  app.addHook('onResponse', async (request, reply) => {
    const path = request.url.split('?', 1)[0];
    const ms = Math.round(reply.elapsedTime * 10) / 10;
    const fields = { method: request.method, path, status: reply.raw.statusCode, ms, ...traces.get(request) };
    request.log.info(fields, 'request');
  });
}
