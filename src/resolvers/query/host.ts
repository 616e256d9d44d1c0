import type { QueryResolvers } from '../../schema/generated/resolver-types.js';

/** What the machine has, and hostpool's version. */
export const hostQueries: QueryResolvers = {
  host: (_root, _args, { allocator }) => allocator.host.read(),
  version: (_root, _args, { version }) => version,
};
