import type { MutationResolvers } from '../../schema/generated/resolver-types.js';
import { timesSelected } from '../selection.js';

/** Taking slots and giving them back. */
export const slotMutations: MutationResolvers = {
  allocateSlots: (_root, { input: { pool, needSize } }, { allocator, slotAllowance }, info) => {
    const timesListed = timesSelected(info, 'SlotAllocation', 'indices');
    return allocator.slots.allocate(pool, { needSize, timesListed }, slotAllowance);
  },
  freeSlots: (_root, { input: { pool, ...slots } }, { allocator, slotAllowance }) =>
    allocator.slots.free(pool, slots, slotAllowance),
};
