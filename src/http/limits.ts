/** The largest request body, and the largest WebSocket message, in bytes. */
export const MAX_BODY_BYTES = 4 * 2 ** 20;

/** The most tokens in a GraphQL document: room for any query a person writes, none for ten thousand aliases. */
export const MAX_TOKENS = 10_000;

/** The most selections of an operation once its fragments are written out. */
export const MAX_SELECTIONS = 10_000;

/** The most fields at the root of an operation, each name counted. */
export const MAX_ROOT_FIELDS = 100;

/** The most names under which one field may stand in one place: each is computed again, and below a list for each entry. */
export const MAX_NAMES_OF_FIELD = 5;

/** The most operations that one WebSocket may have running, subscriptions included. */
export const MAX_OPERATIONS_PER_SOCKET = 100;

/** The most WebSockets that are open at once. */
export const MAX_SOCKETS = 1_000;

/** The most server-sent event streams that are open at once. */
export const MAX_STREAMS = 1_000;

/** How long a client may take to let go of its stream when the server shuts down, in milliseconds; then it is cut off. */
export const CLOSE_MS = 1_000;

/** The most entries of a list in variables: fields refuse longer ones, so that reading more of them would be for nothing. */
const MAX_LIST_ENTRIES = 100_000;

/** Cuts lists in variables to just above what any field accepts, before each entry of millions is looked at. */
export function cutLongLists(value: unknown): unknown {
  if (Array.isArray(value)) return value.length > MAX_LIST_ENTRIES ? value.slice(0, MAX_LIST_ENTRIES + 1) : value;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, cutLongLists(inner)]));
}
