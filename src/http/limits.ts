/** The largest request body, and the largest WebSocket message, in bytes. */
export const MAX_BODY_BYTES = 4 * 2 ** 20;

/** The most tokens in a GraphQL document: room for any query a person writes, none for ten thousand aliases. */
export const MAX_TOKENS = 10_000;
