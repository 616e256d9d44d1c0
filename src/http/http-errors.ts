import type { IncomingMessage } from 'node:http';
import { finished } from 'node:stream/promises';
import type { FastifyError, FastifyInstance, FastifyReply } from 'fastify';
import { MASKED_MESSAGE } from './mask-errors.js';

/** Answers in the shape of a GraphQL error, whatever went wrong before GraphQL. */
export function sendError(reply: FastifyReply, status: number, code: string, message: string): FastifyReply {
  return reply
    .code(status)
    .type('application/json; charset=utf-8')
    .send({ errors: [{ message, extensions: { code } }] });
}

/** Gives every error of the HTTP layer the shape of a GraphQL error; bugs are masked and logged. */
export function shapeErrors(app: FastifyInstance): void {
  app.setErrorHandler<FastifyError>(async (error, request, reply) => {
    const status = error.statusCode ?? 500;
    if (status === 413) await readToEnd(request.raw);
    if (status < 500) return sendError(reply, status, codeFor(status), error.message);
    request.log.error({ err: error }, 'bug');
    const extensions = { code: 'INTERNAL_SERVER_ERROR', requestId: request.id };
    return reply.code(500).send({ errors: [{ message: MASKED_MESSAGE, extensions }] });
  });
  app.setNotFoundHandler((request, reply) =>
    sendError(reply, 404, 'NOT_FOUND', `There is nothing at ${request.method} ${request.url.split('?', 1)[0]}.`),
  );
}

/** How long a refused body is read on, in milliseconds. */
const DRAIN_MS = 5_000;

/** Throws away the rest of a body that is too long: a client that is cut off while it sends may never see the answer. */
async function readToEnd(body: IncomingMessage): Promise<void> {
  body.resume();
  try {
    await finished(body, { signal: AbortSignal.timeout(DRAIN_MS) });
  } catch {
    // Cut off by the client or by the time: the answer is sent either way.
  }
}

function codeFor(status: number): string {
  if (status === 413) return 'PAYLOAD_TOO_LARGE';
  return status === 415 ? 'UNSUPPORTED_MEDIA_TYPE' : 'BAD_REQUEST';
}
