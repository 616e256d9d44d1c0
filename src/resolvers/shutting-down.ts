import { GraphQLError } from 'graphql';
import type { Allocator } from '../allocator/allocator.js';
import type { RequestContext } from './context.js';

/** The code of what is refused because the server is shutting down, and the sentence beside it. */
export const SHUTTING_DOWN = 'SHUTTING_DOWN';
export const SHUTTING_DOWN_MESSAGE = 'hostpool is shutting down and takes no new operations.';

/** An operation that comes while the server is shutting down. */
export function shuttingDown(): GraphQLError {
  return new GraphQLError(SHUTTING_DOWN_MESSAGE, { extensions: { code: SHUTTING_DOWN } });
}

/** A create that is refused while shutting down: the document it stands in may have been running before. */
export function unlessClosing<Args, Result>(create: (args: Args, allocator: Allocator) => Result) {
  return (_root: unknown, args: Args, { allocator }: Pick<RequestContext, 'allocator'>): Result => {
    if (allocator.isClosing()) throw shuttingDown();
    return create(args, allocator);
  };
}
