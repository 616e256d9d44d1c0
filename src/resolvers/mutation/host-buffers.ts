import type { MutationAllocateHostBufferArgs, MutationResolvers } from '../../schema/generated/resolver-types.js';
import { hostBufferRequest } from '../requests.js';
import { unlessClosing } from '../shutting-down.js';

/** Allocating and freeing host buffers. */
export const hostBufferMutations: MutationResolvers = {
  allocateHostBuffer: unlessClosing(({ input }: MutationAllocateHostBufferArgs, { buffers }) =>
    buffers.allocate(hostBufferRequest(input)),
  ),
  freeHostBuffer: (_root, { id }, { allocator }) => allocator.buffers.free(id),
};
