import type { MutationResolvers } from '../../schema/generated/resolver-types.js';
import { reservationRequest } from '../requests.js';

/** Reserving memory that others map, and giving it back. */
export const reservationMutations: MutationResolvers = {
  reserveHostMemory: (_root, { input }, { allocator }) => allocator.reservations.reserve(reservationRequest(input)),
  commitReservation: (_root, { id }, { allocator }) => allocator.reservations.commit(id),
  renewReservation: (_root, { id, ttlSeconds }, { allocator }) => allocator.reservations.renew(id, ttlSeconds),
  releaseReservation: (_root, { id }, { allocator }) => allocator.reservations.release(id),
};
