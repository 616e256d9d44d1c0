import type { MutationReserveHostMemoryArgs, MutationResolvers } from '../../schema/generated/resolver-types.js';
import { reservationRequest } from '../requests.js';
import { unlessClosing } from '../shutting-down.js';

/** Reserving memory that others map, and giving it back. */
export const reservationMutations: MutationResolvers = {
  reserveHostMemory: unlessClosing(({ input }: MutationReserveHostMemoryArgs, { reservations }) =>
    reservations.reserve(reservationRequest(input)),
  ),
  commitReservation: (_root, { id }, { allocator }) => allocator.reservations.commit(id),
  renewReservation: (_root, { id, ttlSeconds }, { allocator }) => allocator.reservations.renew(id, ttlSeconds),
  releaseReservation: (_root, { id }, { allocator }) => allocator.reservations.release(id),
};
