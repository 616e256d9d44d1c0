import type { Resolvers } from '../../schema/generated/resolver-types.js';

/** Host buffers. */
export const hostBufferTypes: Resolvers = {
  HostBuffer: {
    state: ({ life }) => life.state,
    memory: ({ life }) => life.placement(),
    progress: ({ life }) => life.progress(),
  },
};
