import type { PoolEntry } from '../../allocator/pool.js';
import { poolKind, poolState, slotStats } from '../../allocator/pool.js';
import type { Resolvers, V4PagedHostPoolResolvers } from '../../schema/generated/resolver-types.js';

/** The fields that both kinds of pool have. */
const shared = {
  kind: poolKind,
  state: poolState,
  layout: (pool: PoolEntry) => pool.request.layout,
  size: (pool: PoolEntry) => slotStats(pool).size,
  pageSize: (pool: PoolEntry) => slotStats(pool).pageSize,
  pageCount: (pool: PoolEntry) => slotStats(pool).pageCount,
  availableSlots: (pool: PoolEntry) => slotStats(pool).availableSlots,
  allocatedSlots: (pool: PoolEntry) => slotStats(pool).allocatedSlots,
  largestFreeRunPages: (pool: PoolEntry) => slotStats(pool).largestFreeRunPages,
};

const v4Only: V4PagedHostPoolResolvers = {
  layerNum: ({ request }) => request.layerNum,
  numHostPages: ({ request }) => request.numHostPages,
  itemBytes: ({ request }) => request.itemBytes,
  budget: ({ request }) => request.budget,
  rank: ({ request }) => request.rank,
  memory: ({ life }) => life.placement(),
  progress: ({ life }) => life.progress(),
};

/** Pools of both kinds. */
export const poolTypes: Resolvers = { LogicalHostPool: shared, V4PagedHostPool: { ...shared, ...v4Only } };
