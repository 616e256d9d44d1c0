import type { SlotRange } from '../../native/index.js';
import { invalidArgument, isFailure, type Outcome } from './failure.js';
import type { Pools } from './pools.js';

/** The most slots that are listed one by one; more are handed out as ranges only. */
export const MAX_LISTED_SLOTS = 1_000_000;

/** Slots handed out. */
export interface SlotAllocation {
  readonly kind: 'SlotAllocation';
  readonly pool: string;
  readonly slotCount: number;
  readonly ranges: SlotRange[];
}

/** Slots given back. */
export interface SlotsFreed {
  readonly kind: 'SlotsFreed';
  readonly pool: string;
  readonly slotCount: number;
  readonly availableSlots: number;
}

/** Slots to give back: exactly one of the two. */
export interface SlotsToFree {
  readonly indices?: number[] | null;
  readonly ranges?: SlotRange[] | null;
}

/** Takes slots from pools and gives them back: synchronous bookkeeping, microseconds long. */
export class Slots {
  constructor(private readonly pools: Pools) {}

  /** All or nothing. `listed` says that every slot will be spelled out, which is refused above MAX_LISTED_SLOTS. */
  allocate(poolId: string, needSize: number, listed: boolean): Outcome<SlotAllocation> {
    const pool = this.pools.ready(poolId);
    if (isFailure(pool)) return pool;
    if (listed && needSize > MAX_LISTED_SLOTS) return tooManyToList(needSize);
    const ranges = pool.native.allocateSlots(needSize);
    if (isFailure(ranges)) return ranges;
    const slotCount = ranges.reduce((sum, range) => sum + range.count, 0);
    return { kind: 'SlotAllocation', pool: poolId, slotCount, ranges };
  }

  /** All or nothing; an empty list gives nothing back. */
  free(poolId: string, { indices, ranges }: SlotsToFree): Outcome<SlotsFreed> {
    const pool = this.pools.ready(poolId);
    if (isFailure(pool)) return pool;
    let slotCount: Outcome<number>;
    if (indices != null && ranges == null) slotCount = pool.native.freeIndices(indices);
    else if (ranges != null && indices == null) slotCount = pool.native.freeRanges(ranges);
    else return invalidArgument('indices', 'Give exactly one of indices and ranges.');
    if (isFailure(slotCount)) return slotCount;
    return { kind: 'SlotsFreed', pool: poolId, slotCount, availableSlots: pool.native.stats().availableSlots };
  }
}

/** Every slot of some ranges, in order. */
export function slotsOf(ranges: SlotRange[]): number[] {
  return ranges.flatMap(({ start, count }) => Array.from({ length: count }, (_, offset) => start + offset));
}

function tooManyToList(needSize: number) {
  const message = `At most ${MAX_LISTED_SLOTS} slots are listed one by one, got needSize=${needSize}: select ranges instead.`;
  return invalidArgument('needSize', message);
}
