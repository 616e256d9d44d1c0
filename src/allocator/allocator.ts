import { HostAllocator } from '../../native/index.js';
import { Activity } from './activity.js';
import { Budgets } from './budgets.js';
import { HostReadings } from './host.js';
import { HostBuffers } from './host-buffers.js';
import { Pools } from './pools.js';
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
  readonly slots: Slots;
  readonly buffers: HostBuffers;
  readonly reservations: Reservations;
  /** Waits for running creates, cancels those that take longer than `graceMs`, and waits for their answers. */
  settle(graceMs: number): Promise<void>;
  /** Unmaps every pool and buffer, and lets go of every reservation. Resolves to the bytes unmapped. */
  closeAll(): Promise<number>;
}

/** Opens the host. Throws when its proc/meminfo cannot be read below the host root. */
export function createAllocator({ hostRoot, reserveBytes, log }: AllocatorOptions): Allocator {
  const activity = new Activity();
  const deps = { native: new HostAllocator({ hostRoot, reserveBytes }), log, now: () => new Date(), activity };
  const pools = new Pools(deps);
  const buffers = new HostBuffers(deps);
  const reservations = new Reservations(deps);
  return {
    host: new HostReadings(deps),
    budgets: new Budgets(deps),
    pools,
    slots: new Slots(pools),
    buffers,
    reservations,
    settle: (graceMs) => settle(activity, pools, buffers, graceMs),
    closeAll: () => closeAll(pools, buffers, reservations),
  };
}

/** How often a create that is still mapping is looked at again, to be cancelled once it faults in. */
const RETRY_MS = 50;

async function settle(activity: Activity, pools: Pools, buffers: HostBuffers, graceMs: number): Promise<void> {
  for (let wait = graceMs; !(await activity.idle(wait)); wait = RETRY_MS) {
    pools.cancelRunning();
    buffers.cancelRunning();
  }
}

async function closeAll(pools: Pools, buffers: HostBuffers, reservations: Reservations): Promise<number> {
  await reservations.close();
  const destroyed = pools.list().map((pool) => pools.destroy(pool.id));
  const freed = buffers.list().map((buffer) => buffers.free(buffer.id));
  const outcomes = await Promise.all([...destroyed, ...freed]);
  return outcomes.reduce((sum, outcome) => sum + ('releasedBytes' in outcome ? outcome.releasedBytes : 0), 0);
}
