import type { QueryResolvers } from '../../schema/generated/resolver-types.js';

/** One host buffer, or all. */
export const hostBufferQueries: QueryResolvers = {
  hostBuffer: (_root, { id }, { allocator }) => allocator.buffers.get(id),
  hostBuffers: (_root, _args, { allocator }) => allocator.buffers.list(),
};
