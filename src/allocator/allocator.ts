import { HostAllocator } from '../../native/index.js';
import { Activity } from './activity.js';
import { BudgetEvents } from './budget-events.js';
import { Budgets } from './budgets.js';
import { closeAll, settle } from './closing.js';
import { HostReadings } from './host.js';
import { HostBuffers } from './host-buffers.js';
import type { PoolEntry } from './pool.js';
import { PoolGroups } from './pool-groups.js';
import { Pools } from './pools.js';
import { Registry } from './registry.js';
import { Repeats } from './repeats.js';
import { Reservations } from './reservations.js';
import type { ServiceLog } from './service-deps.js';
import { Slots } from './slots.js';
import { State } from './state.js';

/** How the allocator is set up. */
export interface HostSettings {
  /** The folder below which proc/ and sys/ are read. */
  readonly hostRoot: string;
  /** Host memory that is never promised. */
  readonly reserveBytes: number;
}

/** How to open the host and the state. */
export interface AllocatorOptions extends HostSettings {
  /** The folder of what outlives the process; undefined keeps nothing. */
  stateDir?: string | undefined;
  log: ServiceLog;
}

/** The service over the native addon: everything that can be asked of hostpool, as values. */
export interface Allocator {
  readonly host: HostReadings;
  readonly budgets: Budgets;
  readonly budgetEvents: BudgetEvents;
  readonly pools: Pools;
  readonly poolGroups: PoolGroups;
  readonly slots: Slots;
  readonly buffers: HostBuffers;
  readonly reservations: Reservations;
  /** The addon's own door, for those who look at the host and make nothing. */
  readonly native: HostAllocator;
  readonly settings: HostSettings;
  /** Whether creates are refused: `settle` or `closeAll` has begun. */
  isClosing(): boolean;
  /** Refuses creates from now on, waits for running ones, cancels those that take longer than `graceMs`, and ends. */
  settle(graceMs: number): Promise<void>;
  /** Where what outlives the process is; undefined when nothing does. */
  readonly stateFile: string | undefined;
  /** Has the pools and buffers of before again; before anything else is asked. */
  restore(): Promise<void>;
  /** Unmaps every pool and buffer and closes the state: the next start has all of it again. Resolves to the bytes unmapped. */
  closeAll(): Promise<number>;
}

/** Opens the state and the host. Throws, saying what to do, when one of them is not to be had. */
export function createAllocator({ hostRoot, reserveBytes, stateDir, log }: AllocatorOptions): Allocator {
  const state = new State(stateDir);
  const native = openHost(hostRoot, reserveBytes, state);
  const [activity, repeats] = [new Activity(), new Repeats(state)];
  const deps = { native, log, now: () => new Date(), activity, state, repeats };
  const registry = new Registry<PoolEntry>('pool', 'pool', deps);
  const pools = new Pools(deps, registry);
  const buffers = new HostBuffers(deps);
  const reservations = new Reservations(deps);
  return {
    host: new HostReadings(deps),
    budgets: new Budgets(deps),
    budgetEvents: new BudgetEvents(deps),
    pools,
    poolGroups: new PoolGroups(deps, pools, registry),
    slots: new Slots(pools),
    buffers,
    reservations,
    native,
    settings: { hostRoot, reserveBytes },
    stateFile: state.path,
    isClosing: () => activity.closed,
    settle: (graceMs) => settle(activity, [pools, buffers], graceMs),
    restore: async () => {
      native.setRestoring(true);
      await pools.restore();
      await buffers.restore();
      native.setRestoring(false);
    },
    closeAll: async () => {
      await reservations.close();
      const releasedBytes = await closeAll(activity, [pools, buffers]);
      await state.close();
      return releasedBytes;
    },
  };
}

function openHost(hostRoot: string, reserveBytes: number, state: State): HostAllocator {
  try {
    return new HostAllocator({ hostRoot, reserveBytes }, state.native);
  } catch (cause) {
    throw new Error(`cannot read this host below ${hostRoot}: ${(cause as Error).message}`, { cause });
  }
}
