import type {
  MutationCreateLogicalHostPoolArgs,
  MutationCreatePoolGroupArgs,
  MutationCreateV4PagedPoolArgs,
  MutationResolvers,
} from '../../schema/generated/resolver-types.js';
import { createPoolGroupRequest, logicalPoolRequest, pagedPoolRequest } from '../requests.js';
import { unlessClosing } from '../shutting-down.js';

/** Making, clearing and destroying pools. */
export const poolMutations: MutationResolvers = {
  createLogicalHostPool: unlessClosing(({ input }: MutationCreateLogicalHostPoolArgs, { pools }) =>
    pools.createLogical(logicalPoolRequest(input)),
  ),
  createV4PagedPool: unlessClosing(({ input }: MutationCreateV4PagedPoolArgs, { pools }) =>
    pools.createPaged(pagedPoolRequest(input)),
  ),
  createPoolGroup: unlessClosing(({ input }: MutationCreatePoolGroupArgs, { poolGroups }) =>
    poolGroups.create(createPoolGroupRequest(input)),
  ),
  clearPool: (_root, { id }, { allocator }) => allocator.pools.clear(id),
  destroyPool: (_root, { id }, { allocator }) => allocator.pools.destroy(id),
};
