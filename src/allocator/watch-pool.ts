import { notFound, type Outcome } from './failure.js';
import { poll } from './poll.js';
import { type PoolEntry, poolState } from './pool.js';
import type { Pools } from './pools.js';

/** How often progress is looked at, in milliseconds. */
const INTERVAL_MS = 100;

/** The pool at once and at every change of state or progress, until it is ready, failed or gone. */
export function watchPool(pools: Pools, id: string, signal: AbortSignal): Outcome<AsyncIterableIterator<PoolEntry>> {
  const pool = pools.get(id);
  if (pool === undefined) return notFound('pool', id);
  let seen: string | undefined;
  const look = async () => {
    const state = poolState(pool);
    const now = `${state} ${pool.kind === 'V4PagedHostPool' ? pool.life.progress().residentBytes : 0}`;
    const values = now === seen ? [] : [pool];
    seen = now;
    return { values, last: isOver(pools, pool) };
  };
  return poll(INTERVAL_MS, look, signal);
}

function isOver(pools: Pools, pool: PoolEntry): boolean {
  const state = poolState(pool);
  return state === 'Ready' || state === 'Failed' || pools.get(pool.id) === undefined;
}
