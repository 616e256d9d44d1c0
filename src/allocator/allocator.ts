import { HostAllocator } from '../../native/index.js';
import { Activity } from './activity.js';
import { Budgets } from './budgets.js';
import { closeAll, settle } from './closing.js';
import { HostReadings } from './host.js';
import { HostBuffers } from './host-buffers.js';
import type { PoolEntry } from './pool.js';
import { PoolGroups } from './pool-groups.js';
import { Pools } from './pools.js';
import { Registry } from './registry.js';
import { Reservations } from './reservations.js';
import type { ServiceLog } from './service-deps.js';
import { Slots } from './slots.js';

/** How the allocator is set up. */
export interface AllocatorOptions {
  /** The folder below which proc/ and sys/ are read. */
  hostRoot: string;
  /** Host memory that is never promised. */
  reserveBytes: number;
  log: ServiceLog;
}

/** The service over the native addon: everything that can be asked of hostpool, as values. */
export interface Allocator {
  readonly host: HostReadings;
  readonly budgets: Budgets;
  readonly pools: Pools;
  readonly poolGroups: PoolGroups;
  readonly slots: Slots;
  readonly buffers: HostBuffers;
  readonly reservations: Reservations;
  /** Whether creates are refused: `settle` or `closeAll` has begun. */
  isClosing(): boolean;
  /** Refuses creates from now on, waits for running ones, cancels those that take longer than `graceMs`, and ends. */
  settle(graceMs: number): Promise<void>;
  /** Unmaps every pool and buffer, and lets go of every reservation. Resolves to the bytes unmapped. */
  closeAll(): Promise<number>;
}

/** Opens the host. Throws when its proc/meminfo cannot be read below the host root. */
export function createAllocator({ hostRoot, reserveBytes, log }: AllocatorOptions): Allocator {
  const activity = new Activity();
  const deps = { native: new HostAllocator({ hostRoot, reserveBytes }), log, now: () => new Date(), activity };
  const registry = new Registry<PoolEntry>('pool', 'pool', deps);
  const pools = new Pools(deps, registry);
  const buffers = new HostBuffers(deps);
  const reservations = new Reservations(deps);
  return {
    host: new HostReadings(deps),
    budgets: new Budgets(deps),
    pools,
    poolGroups: new PoolGroups(deps, pools, registry),
    slots: new Slots(pools),
    buffers,
    reservations,
    isClosing: () => activity.closed,
    settle: (graceMs) => settle(activity, [pools, buffers], graceMs),
    closeAll: async () => {
      await reservations.close();
      return closeAll(activity, [pools, buffers]);
    },
  };
}
