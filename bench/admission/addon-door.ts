import { rmSync } from 'node:fs';
import { HostAllocator, HostReservations, HostState } from '../../native/index.js';
import type { Door } from './compare.js';
import { smallHostRoot } from './host-root.js';
import { fill, PAGE } from './live-charges.js';

const SECONDS = 1;

/** Decisions through the addon, in this process; kept in a folder when one is given. */
export async function openAddon(live: number, folder?: string): Promise<Door> {
  const root = smallHostRoot();
  const state = new HostState(folder);
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
    close: async () => {
      await state.close();
      root.remove();
      if (folder !== undefined) rmSync(folder, { recursive: true });
    },
  };
}

async function decideOnce(reservations: HostReservations): Promise<void> {
  const granted = await reservations.reserve(PAGE);
  if ('message' in granted) throw new Error(granted.message);
  await reservations.release(granted.id);
}
