import { GraphQLError } from 'graphql';
import type { Host } from '../../allocator/host.js';
import type { SubscriptionResolvers } from '../../schema/generated/resolver-types.js';

const SHORTEST_MS = 100;
const LONGEST_MS = 60_000;

/** The host's figures at an interval. */
export const hostMemorySubscriptions: SubscriptionResolvers = {
  hostMemory: {
    subscribe: (_root, { intervalMs }, { allocator, closing }) => {
      if (intervalMs < SHORTEST_MS || intervalMs > LONGEST_MS) throw outsideBounds(intervalMs);
      return allocator.host.watch(intervalMs, closing);
    },
    resolve: (host: Host) => host,
  },
};

function outsideBounds(intervalMs: number): GraphQLError {
  const message = `hostMemory takes intervalMs from ${SHORTEST_MS} to ${LONGEST_MS}, got ${intervalMs}.`;
  return new GraphQLError(message, { extensions: { code: 'BAD_USER_INPUT' } });
}
