import type { HostAllocator } from '../../native/index.js';
import type { Activity } from './activity.js';
import type { Repeats } from './repeats.js';
import type { State } from './state.js';

/** Where the service writes what operators should see; pino fits. */
export interface ServiceLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** What every part of the service is given. */
export interface ServiceDeps {
  readonly native: HostAllocator;
  readonly log: ServiceLog;
  readonly now: () => Date;
  readonly activity: Activity;
  readonly state: State;
  readonly repeats: Repeats;
}
