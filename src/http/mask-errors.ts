import { GraphQLError, type GraphQLFormattedError } from 'graphql';
import type { ServiceLog } from '../allocator/service-deps.js';

/** What a client is told of a bug. */
export const MASKED_MESSAGE = 'Internal server error';

/** Whether an error is a bug: something threw that was not meant for the client. */
export function isBug(error: unknown): boolean {
  if (!(error instanceof GraphQLError)) return true;
  const code = (error.extensions as { code?: unknown }).code;
  if (code === undefined || code === 'INTERNAL_SERVER_ERROR') return true;
  return error.originalError instanceof Error && !(error.originalError instanceof GraphQLError);
}

/** Whether an error says that the client left while something was written to it: no bug of ours. */
export function isHangUp(error: unknown): boolean {
  const { code, syscall } = error as NodeJS.ErrnoException;
  return code === 'ERR_STREAM_DESTROYED' || (syscall === 'write' && (code === 'ECONNRESET' || code === 'EPIPE'));
}

/** A bug as the client sees it: where in the answer, and the id to look for in the log. */
export function maskedError(path: GraphQLError['path'], requestId?: string): GraphQLFormattedError {
  const extensions = { code: 'INTERNAL_SERVER_ERROR', ...(requestId === undefined ? {} : { requestId }) };
  return { message: MASKED_MESSAGE, ...(path === undefined ? {} : { path }), extensions };
}

/** The errors of a streamed result: bugs masked, and logged in full. */
export function maskErrors(
  errors: readonly GraphQLError[],
  requestId: string,
  log: ServiceLog,
): GraphQLFormattedError[] {
  return errors.map(withCode).map((error) => {
    if (!isBug(error)) return error.toJSON();
    const err = error.originalError ?? error;
    if (!isHangUp(err)) log.error({ reqId: requestId, err }, 'bug');
    return maskedError(error.path, requestId);
  });
}

/** Errors without a path come from the request itself, before anything ran: its variables did not fit. */
function withCode(error: GraphQLError): GraphQLError {
  if (error.path !== undefined || error.extensions.code !== undefined) return error;
  const { nodes, source, positions, originalError, extensions } = error;
  const options = { nodes, source, positions, originalError, extensions: { ...extensions, code: 'BAD_USER_INPUT' } };
  return new GraphQLError(error.message, options);
}
