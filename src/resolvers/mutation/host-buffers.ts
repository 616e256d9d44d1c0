import type { MutationResolvers } from '../../schema/generated/resolver-types.js';
import { hostBufferRequest } from '../requests.js';

/** Allocating and freeing host buffers. */
export const hostBufferMutations: MutationResolvers = {
  allocateHostBuffer: (_root, { input }, { allocator }) => allocator.buffers.allocate(hostBufferRequest(input)),
  freeHostBuffer: (_root, { id }, { allocator }) => allocator.buffers.free(id),
};
