import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ExecutionResult, GraphQLError, GraphQLSchema } from 'graphql';
import { createHandler } from 'graphql-sse/lib/use/fastify';
import type { RequestContext } from '../resolvers/context.js';
import { sendError } from './http-errors.js';
import { CLOSE_MS, MAX_STREAMS } from './limits.js';
import { isHangUp, maskErrors } from './mask-errors.js';
import { paced } from './paced.js';
import { noteOperation } from './request-log.js';
import { prepareOperation } from './streaming.js';

type SseContext = RequestContext & Record<PropertyKey, unknown>;

/**
 * Serves graphql-sse (distinct connections) at /graphql/stream, to clients that accept text/event-stream. Once streams are ended,
 * the answer cuts off clients that do not read to the end in time.
 */
export function serveSse(
  app: FastifyInstance,
  schema: GraphQLSchema,
  contextFor: (requestId: string) => RequestContext,
): () => void {
  const handler = createHandler<SseContext>({
    authenticate: () => null,
    onSubscribe: ({ raw }, params) => {
      const contextValue = { ...contextFor(raw.id) };
      noteOperation(raw, 'stream', params.operationName);
      const prepared = prepareOperation(schema, params, contextValue);
      return Array.isArray(prepared) ? streamOf({ errors: prepared }) : { ...prepared, contextValue };
    },
    context: ({ raw }) => ({ ...contextFor(raw.id) }),
    onOperation: (_context, { context }, _args, result) =>
      isAsyncIterable(result) ? paced(result, context.reply.raw) : undefined,
    onNext: (_context, { raw }, result) => {
      if (result.errors === undefined) return undefined;
      const errors = maskErrors(result.errors as GraphQLError[], raw.id, raw.log);
      return { ...result, errors } as unknown as ExecutionResult;
    },
  });
  const open = new Set<ServerResponse>();
  app.route({
    method: ['GET', 'POST'],
    url: '/graphql/stream',
    handler: async (request, reply) => {
      if (!request.headers.accept?.includes('text/event-stream')) {
        return sendError(reply, 406, 'NOT_ACCEPTABLE', '/graphql/stream answers with text/event-stream only.');
      }
      const malformed = malformedBody(request);
      if (malformed !== undefined) return sendError(reply, 400, 'BAD_REQUEST', malformed);
      if (open.size >= MAX_STREAMS) {
        return sendError(reply, 503, 'TOO_MANY_STREAMS', `At most ${MAX_STREAMS} streams are open at once.`);
      }
      open.add(reply.raw);
      reply.raw.once('close', () => open.delete(reply.raw));
      reply.hijack();
      try {
        await handler(request, reply);
      } catch (err) {
        // The answer is no longer fastify's to send: what is left is to let go of the client, and to say why in the log.
        if (!isHangUp(err)) request.log.error({ err }, 'bug');
        reply.raw.destroy();
      }
      return reply;
    },
  });
  const cutOff = () => {
    for (const response of open) response.destroy();
  };
  return () => void setTimeout(cutOff, CLOSE_MS).unref();
}

function isAsyncIterable(result: object): result is AsyncIterable<ExecutionResult> {
  return Symbol.asyncIterator in result;
}

/** What is wrong with the shape of a POST's body, in the words of GraphQL over HTTP; undefined when nothing is. */
function malformedBody({ method, body }: FastifyRequest): string | undefined {
  if (method !== 'POST') return undefined;
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return 'The body must be a JSON object.';
  const { query, operationName, variables } = body as Record<string, unknown>;
  if (typeof query !== 'string') return 'query must be a string.';
  if (operationName != null && typeof operationName !== 'string') return 'operationName must be a string.';
  if (variables != null && (typeof variables !== 'object' || Array.isArray(variables)))
    return 'variables must be an object.';
  return undefined;
}

/** A stream of one result: refusals are events too, since the client asked for events. */
async function* streamOf(result: ExecutionResult): AsyncGenerator<ExecutionResult> {
  yield result;
}
