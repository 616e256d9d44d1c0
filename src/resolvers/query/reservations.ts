import type { QueryResolvers } from '../../schema/generated/resolver-types.js';

/** Every live reservation. */
export const reservationQueries: QueryResolvers = {
  reservations: (_root, _args, { allocator }) => allocator.reservations.list(),
};
