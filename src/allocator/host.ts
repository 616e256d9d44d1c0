import type { HostReading } from '../../native/index.js';
import { poll } from './poll.js';
import type { ServiceDeps } from './service-deps.js';

/** What the machine has, and when it was read. */
export interface Host extends HostReading {
  readonly observedAt: Date;
}

/** Reads the machine. */
export class HostReadings {
  constructor(private readonly deps: Pick<ServiceDeps, 'native' | 'now'>) {}

  /** The figures now. */
  async read(): Promise<Host> {
    const reading = await this.deps.native.readHost();
    return { ...reading, observedAt: this.deps.now() };
  }

  /** The figures now and at every interval, until it is returned or the signal aborts. */
  watch(intervalMs: number, signal: AbortSignal): AsyncIterableIterator<Host> {
    return poll(intervalMs, async () => ({ values: [await this.read()], last: false }), signal);
  }
}
