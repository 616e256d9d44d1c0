import type { ReservationSpec } from '../../native/index.js';

const IN_FLIGHT = 32;
const PAGE_BYTES = 4096;

/** A page: a hundred thousand of them fit this host. */
export const PAGE: ReservationSpec = {
  budget: 'host',
  bytes: PAGE_BYTES,
  backing: 'Anonymous',
  numaNode: -1,
  holder: 'engine',
};

/** Makes so many reservations: held by this process, with a time to live, or by nobody, in turn. */
export async function fill(live: number, reserve: (spec: ReservationSpec) => Promise<unknown>): Promise<void> {
  let next = 0;
  const some = async () => {
    while (next < live) {
      next += 1;
      const outcome = await reserve({ ...PAGE, ...holding(next) });
      if ((outcome as { message?: string }).message !== undefined) throw new Error(JSON.stringify(outcome));
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, some));
}

function holding(n: number): Partial<ReservationSpec> {
  if (n % 5 === 0) return { ttlSeconds: 3600 };
  return n % 2 === 0 ? { pid: process.pid } : {};
}
