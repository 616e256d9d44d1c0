import type { QueryResolvers } from '../../schema/generated/resolver-types.js';
import { pagedPoolRequest, poolGroupRequest } from '../requests.js';

/** Dry runs of creates. */
export const planQueries: QueryResolvers = {
  planV4PagedPool: (_root, { input }, { allocator }) => allocator.pools.plan(pagedPoolRequest(input)),
  planPoolGroup: (_root, { input }, { allocator }) => allocator.poolGroups.plan(poolGroupRequest(input)),
};
