import type { QueryResolvers } from '../../schema/generated/resolver-types.js';
import { pagedPoolRequest } from '../requests.js';

/** A dry run of a create. */
export const planQueries: QueryResolvers = {
  planV4PagedPool: (_root, { input }, { allocator }) => allocator.pools.plan(pagedPoolRequest(input)),
};
