import type { FastifyRequest } from 'fastify';
import type { RequestContext } from '../resolvers/context.js';

/** What resolvers are given, and what the HTTP plugins need besides. */
export interface ServerContext extends RequestContext {
  readonly request: FastifyRequest;
}
