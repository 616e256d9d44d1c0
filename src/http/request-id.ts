import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** The client's x-request-id when it is short and plain, else a new one. */
export function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && /^[\w.:-]{1,64}$/.test(given) ? given : randomUUID();
}
