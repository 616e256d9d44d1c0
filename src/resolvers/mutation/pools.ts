import type { MutationResolvers } from '../../schema/generated/resolver-types.js';
import { pagedPoolRequest } from '../requests.js';

/** Making, clearing and destroying pools. */
export const poolMutations: MutationResolvers = {
  createLogicalHostPool: (_root, { input }, { allocator }) => allocator.pools.createLogical(input),
  createV4PagedPool: (_root, { input }, { allocator }) => allocator.pools.createPaged(pagedPoolRequest(input)),
  clearPool: (_root, { id }, { allocator }) => allocator.pools.clear(id),
  destroyPool: (_root, { id }, { allocator }) => allocator.pools.destroy(id),
};
