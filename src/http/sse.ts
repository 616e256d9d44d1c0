import type { FastifyInstance } from 'fastify';
import type { ExecutionResult, GraphQLError, GraphQLSchema } from 'graphql';
import { createHandler } from 'graphql-sse/lib/use/fastify';
import type { RequestContext } from '../resolvers/context.js';
import { sendError } from './http-errors.js';
import { maskErrors } from './mask-errors.js';
import { noteOperation } from './request-log.js';
import { prepareOperation } from './streaming.js';

type SseContext = RequestContext & Record<PropertyKey, unknown>;

/** Serves graphql-sse (distinct connections) at /graphql/stream, to clients that accept text/event-stream. */
export function serveSse(
  app: FastifyInstance,
  schema: GraphQLSchema,
  contextFor: (requestId: string) => RequestContext,
): void {
  const handler = createHandler<SseContext>({
    authenticate: () => null,
    onSubscribe: ({ raw }, params) => {
      const contextValue = { ...contextFor(raw.id) };
      noteOperation(raw, 'stream', params.operationName);
      const prepared = prepareOperation(schema, params, contextValue);
      return Array.isArray(prepared) ? streamOf({ errors: prepared }) : { ...prepared, contextValue };
    },
    context: ({ raw }) => ({ ...contextFor(raw.id) }),
    onNext: (_context, { raw }, result) => {
      if (result.errors === undefined) return undefined;
      const errors = maskErrors(result.errors as GraphQLError[], raw.id, raw.log);
      return { ...result, errors } as unknown as ExecutionResult;
    },
  });
  app.route({
    method: ['GET', 'POST'],
    url: '/graphql/stream',
    handler: async (request, reply) => {
      if (!request.headers.accept?.includes('text/event-stream')) {
        return sendError(reply, 406, 'NOT_ACCEPTABLE', '/graphql/stream answers with text/event-stream only.');
      }
      reply.hijack();
      await handler(request, reply);
      return reply;
    },
  });
}

/** A stream of one result: refusals are events too, since the client asked for events. */
async function* streamOf(result: ExecutionResult): AsyncGenerator<ExecutionResult> {
  yield result;
}
