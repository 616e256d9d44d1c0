import type {
  HostAllocator,
  LogicalHostPool,
  SlotStats,
  V4PagedHostPool,
  V4PagedPoolPlan,
} from '../../native/index.js';
import type { MemoryLife, PoolState } from './lifecycle.js';
import type { LogicalPoolRequest, PagedPoolRequest } from './specification.js';

/** What a pool is made of. */
export type PoolKind = 'Logical' | 'V4Paged';

/** The slots of a pool, in the addon. */
export type SlotKeeper = Pick<LogicalHostPool, 'stats' | 'allocateSlots' | 'freeIndices' | 'freeRanges' | 'clear'>;

interface EntryBase {
  readonly id: string;
  readonly number: number;
  readonly name: string;
  readonly createdAt: Date;
}

/** A pool of slots without bytes. */
export interface LogicalPoolEntry extends EntryBase {
  readonly kind: 'LogicalHostPool';
  readonly request: LogicalPoolRequest;
  /** Undefined when it could not be made anew at the start. */
  readonly native: LogicalHostPool | undefined;
  readonly life: undefined;
}

/** A pool of slots with bytes behind them. */
export interface PagedPoolEntry extends EntryBase {
  readonly kind: 'V4PagedHostPool';
  readonly request: PagedPoolRequest;
  readonly life: MemoryLife<V4PagedHostPool>;
  readonly requestedBytes: number;
}

/** A pool of either kind. */
export type PoolEntry = LogicalPoolEntry | PagedPoolEntry;

/** Every slot is free again. */
export interface PoolCleared {
  readonly kind: 'PoolCleared';
  readonly pool: PoolEntry;
}

/** The pool is gone. */
export interface PoolDestroyed {
  readonly kind: 'PoolDestroyed';
  readonly id: string;
  readonly name: string;
  readonly releasedBytes: number;
}

/** What creating a pool would do now. */
export interface PagedPoolPlan extends V4PagedPoolPlan {
  readonly kind: 'V4PagedPoolPlan';
}

/** The part of the addon that makes pools. */
export type PoolMaker = Pick<HostAllocator, 'createLogicalHostPool' | 'mapV4PagedPool' | 'planV4PagedPool'>;

/** What a pool is made of. */
export function poolKind(pool: PoolEntry): PoolKind {
  return pool.kind === 'LogicalHostPool' ? 'Logical' : 'V4Paged';
}

/** Where a pool is in its life; a logical pool is ready once it is made. */
export function poolState(pool: PoolEntry): PoolState {
  if (pool.kind === 'V4PagedHostPool') return pool.life.state;
  return pool.native === undefined ? 'Failed' : 'Ready';
}

/** A pool's slots; undefined once it has failed or is being unmapped. */
export function slotsOfPool(pool: PoolEntry): SlotKeeper | undefined {
  return pool.kind === 'LogicalHostPool' ? pool.native : pool.life.mapped;
}

/** Slot counts now. A pool that has failed or is being unmapped has no slots to hand out. */
export function slotStats(pool: PoolEntry): SlotStats {
  const slots = slotsOfPool(pool);
  if (slots !== undefined) return slots.stats();
  return { ...shapeOf(pool), availableSlots: 0, allocatedSlots: 0, largestFreeRunPages: 0 };
}

function shapeOf(pool: PoolEntry): Pick<SlotStats, 'size' | 'pageSize' | 'pageCount'> {
  if (pool.kind === 'LogicalHostPool') {
    const { size, pageSize } = pool.request;
    return { size, pageSize, pageCount: size / pageSize };
  }
  const { numHostPages, slotPageSize } = pool.request;
  return { size: numHostPages * slotPageSize, pageSize: slotPageSize, pageCount: numHostPages };
}
