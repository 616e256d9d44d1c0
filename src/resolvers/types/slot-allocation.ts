import { slotsOf } from '../../allocator/slots.js';
import type { Resolvers } from '../../schema/generated/resolver-types.js';

/** Slots handed out, spelled out only when they are selected. */
export const slotAllocationTypes: Resolvers = { SlotAllocation: { indices: ({ ranges }) => slotsOf(ranges) } };
