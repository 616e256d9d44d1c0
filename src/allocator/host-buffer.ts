import type { HostBuffer } from '../../native/index.js';
import type { MemoryLife } from './lifecycle.js';
import type { HostBufferRequest } from './specification.js';

/** One piece of host memory. */
export interface HostBufferEntry {
  readonly kind: 'HostBuffer';
  readonly id: string;
  readonly number: number;
  readonly name: string | undefined;
  readonly createdAt: Date;
  readonly request: HostBufferRequest;
  readonly requestedBytes: number;
  readonly life: MemoryLife<HostBuffer>;
}

/** The outcome of a free; `released` is false when it had been freed before. */
export interface HostBufferFreed {
  readonly kind: 'HostBufferFreed';
  readonly id: string;
  readonly released: boolean;
  readonly releasedBytes: number;
}
