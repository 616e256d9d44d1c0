import type { SlotRange } from '../../native/index.js';
import { type FailureOf, invalidArgument, isFailure, type Outcome } from './failure.js';
import type { PoolEntry } from './pool.js';
import type { Pools } from './pools.js';

/** The most slots that one request may have listed one by one, all its answers taken together; ranges have no limit. */
export const MAX_LISTED_SLOTS = 100_000;

/** The most indices, or ranges, that one request may give back. */
export const MAX_FREED_ENTRIES = 100_000;

/** What one request may still list and give back; every operation of the request takes its part of it. */
export class SlotAllowance {
  #toList = MAX_LISTED_SLOTS;
  #toFree = MAX_FREED_ENTRIES;

  /** Whether so many slots may still be listed. */
  mayList(slots: number): boolean {
    return slots <= this.#toList;
  }

  /** So many slots will be listed. */
  list(slots: number): void {
    this.#toList -= slots;
  }

  /** Takes so many indices or ranges to give back; false when they are too many. */
  takeFreed(entries: number): boolean {
    if (entries > this.#toFree) return false;
    this.#toFree -= entries;
    return true;
  }
}

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

/** Slots to take, and how many times over the answer lists every one of them. */
export interface SlotsToTake {
  readonly needSize: number;
  readonly timesListed: number;
}

/** Slots to give back: exactly one of the two. */
export interface SlotsToFree {
  readonly indices?: number[] | null;
  readonly ranges?: SlotRange[] | null;
}

/** Takes slots from pools and gives them back: synchronous bookkeeping, microseconds long. */
export class Slots {
  constructor(private readonly pools: Pools) {}

  /** All or nothing. Slots that the answer would list beyond the allowance are refused before any is taken. */
  allocate(poolId: string, { needSize, timesListed }: SlotsToTake, allowance: SlotAllowance): Outcome<SlotAllocation> {
    const ready = this.pools.ready(poolId);
    if (isFailure(ready)) return ready;
    if (!allowance.mayList(timesListed * handedOut(ready.pool, needSize))) return tooManyToList(needSize);
    const ranges = ready.slots.allocateSlots(needSize);
    if (isFailure(ranges)) return ranges;
    const slotCount = ranges.reduce((sum, range) => sum + range.count, 0);
    allowance.list(timesListed * slotCount);
    return { kind: 'SlotAllocation', pool: poolId, slotCount, ranges };
  }

  /** All or nothing; an empty list gives nothing back. */
  free(poolId: string, { indices, ranges }: SlotsToFree, allowance: SlotAllowance): Outcome<SlotsFreed> {
    const ready = this.pools.ready(poolId);
    if (isFailure(ready)) return ready;
    let slotCount: Outcome<number>;
    if (indices != null && ranges == null) {
      if (!allowance.takeFreed(indices.length)) return tooManyToFree('indices', 'give them back as ranges');
      slotCount = ready.slots.freeIndices(indices);
    } else if (ranges != null && indices == null) {
      if (!allowance.takeFreed(ranges.length)) return tooManyToFree('ranges', 'use several requests');
      slotCount = ready.slots.freeRanges(ranges);
    } else return invalidArgument('indices', 'Give exactly one of indices and ranges.');
    if (isFailure(slotCount)) return slotCount;
    return { kind: 'SlotsFreed', pool: poolId, slotCount, availableSlots: ready.slots.stats().availableSlots };
  }
}

/** Every slot of some ranges, in order. */
export function slotsOf(ranges: SlotRange[]): number[] {
  return ranges.flatMap(({ start, count }) => Array.from({ length: count }, (_, offset) => start + offset));
}

/** How many slots a request comes to: a V4 pool rounds up to whole pages. */
function handedOut(pool: PoolEntry, needSize: number): number {
  if (pool.kind === 'LogicalHostPool') return needSize;
  const { slotPageSize } = pool.request;
  return Math.ceil(needSize / slotPageSize) * slotPageSize;
}

function tooManyToList(needSize: number): FailureOf<'InvalidArgument'> {
  const bound = `A request lists at most ${MAX_LISTED_SLOTS} slots one by one, every selection of indices counted`;
  return invalidArgument('needSize', `${bound}; needSize=${needSize} would exceed that: select ranges instead.`);
}

function tooManyToFree(field: string, instead: string): FailureOf<'InvalidArgument'> {
  return invalidArgument(field, `A request gives back at most ${MAX_FREED_ENTRIES} ${field}: ${instead}.`);
}
