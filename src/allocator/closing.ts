import type { Activity } from './activity.js';

/** What holds memory until it is closed: the pools, and the buffers. */
export interface Closable {
  /** Stops every running prefault. */
  cancelRunning(): void;
  /** Unmaps everything. Resolves to the bytes released. */
  closeAll(): Promise<number>;
}

/** How often a create that is still mapping is looked at again, to be cancelled once it faults in. */
const RETRY_MS = 50;

/** How long creates may take to end once they are cancelled; what maps longer than that ends with the process. */
const CANCEL_MS = 10_000;

/** Starts nothing more, waits for what runs, cancels what takes longer than `graceMs`, and ends in any case. */
export async function settle(activity: Activity, holders: Closable[], graceMs: number): Promise<void> {
  activity.close();
  const end = performance.now() + graceMs + CANCEL_MS;
  for (let wait = graceMs; !(await activity.idle(wait)) && performance.now() < end; wait = RETRY_MS) {
    for (const holder of holders) holder.cancelRunning();
  }
}

/** Unmaps everything, and what is mapped meanwhile too. Resolves to the bytes released. */
export async function closeAll(activity: Activity, holders: Closable[]): Promise<number> {
  activity.close();
  const end = performance.now() + CANCEL_MS;
  let releasedBytes = 0;
  for (let idle = false; ; idle = await activity.idle(RETRY_MS)) {
    const released = await Promise.all(holders.map((holder) => holder.closeAll()));
    releasedBytes += released.reduce((sum, bytes) => sum + bytes, 0);
    if (idle || performance.now() >= end) return releasedBytes;
  }
}
