import { GraphQLError } from 'graphql';
import { isFailure } from '../../allocator/failure.js';
import type { PoolEntry } from '../../allocator/pool.js';
import { watchPool } from '../../allocator/watch-pool.js';
import { codeOf } from '../../errors/code.js';
import type { SubscriptionResolvers } from '../../schema/generated/resolver-types.js';

/** A pool's state and progress until it is settled. */
export const poolProgressSubscriptions: SubscriptionResolvers = {
  poolProgress: {
    subscribe: (_root, { id }, { allocator, closing }) => {
      const stream = watchPool(allocator.pools, id, closing);
      if (isFailure(stream)) throw new GraphQLError(stream.message, { extensions: { code: codeOf[stream.kind], id } });
      return stream;
    },
    resolve: (pool: PoolEntry) => pool,
  },
};
