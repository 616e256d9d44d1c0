import type { MutationResolvers } from '../../schema/generated/resolver-types.js';
import { selects } from '../selection.js';

/** Taking slots and giving them back. */
export const slotMutations: MutationResolvers = {
  allocateSlots: (_root, { input: { pool, needSize } }, { allocator }, info) =>
    allocator.slots.allocate(pool, needSize, selects(info, 'indices')),
  freeSlots: (_root, { input: { pool, ...slots } }, { allocator }) => allocator.slots.free(pool, slots),
};
