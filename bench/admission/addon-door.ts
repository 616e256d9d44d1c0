import { HostAllocator, HostReservations, HostState } from '../../native/index.js';
import type { Door } from './compare.js';
import { smallHostRoot } from './host-root.js';
import { fill, PAGE } from './live-charges.js';

const SECONDS = 1;

/** Decisions through the addon, in this process. */
export async function openAddon(live: number): Promise<Door> {
  const root = smallHostRoot();
  const state = new HostState();
  const reservations = new HostReservations(new HostAllocator({ hostRoot: root.path, reserveBytes: 0 }, state), state);
  await fill(live, (spec) => reservations.reserve(spec));
  root.becomeThisHost();
  return {
    live,
    pid: process.pid,
    decide: async () => {
      const start = performance.now();
      const elapsed = () => (performance.now() - start) / 1000;
      let count = 0;
      while (elapsed() < SECONDS) {
        await decideOnce(reservations);
        count += 1;
      }
      return { count, seconds: elapsed() };
    },
    close: async () => root.remove(),
  };
}

async function decideOnce(reservations: HostReservations): Promise<void> {
  const granted = await reservations.reserve(PAGE);
  if ('message' in granted) throw new Error(granted.message);
  reservations.release(granted.id);
}
