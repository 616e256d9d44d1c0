import { GraphQLError } from 'graphql';
import { poolKind, poolState } from '../../allocator/pool.js';
import type { QueryResolvers } from '../../schema/generated/resolver-types.js';

/** One pool, or all that pass the filter. */
export const poolQueries: QueryResolvers = {
  pool: (_root, { id, name }, { allocator: { pools } }) => {
    if (id == null && name == null) throw neitherGiven();
    const pool = id == null ? pools.named(name ?? '') : pools.get(id);
    return name == null || pool?.name === name ? pool : undefined;
  },
  pools: (_root, { kind, state }, { allocator: { pools } }) =>
    pools
      .list()
      .filter((pool) => (kind == null || poolKind(pool) === kind) && (state == null || poolState(pool) === state)),
};

function neitherGiven(): GraphQLError {
  return new GraphQLError('pool takes an id or a name; neither was given.', { extensions: { code: 'BAD_USER_INPUT' } });
}
