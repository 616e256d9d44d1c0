import type { WantedMemory } from '../../native/index.js';
import { HOST_BUDGET } from '../allocator/budgets.js';
import { pageBytes } from '../allocator/placement.js';
import type { HostBufferRequest, MemoryRequest, PagedPoolRequest } from '../allocator/specification.js';
import type { Wish } from './look.js';

/** What the wish that was asked about is called. */
const ASKED = 'the wish';

/** Memory that is asked about: not configured, and charged to the host alone. One page when no size is given. */
export function askedWish(memory: MemoryRequest, bytes: number | undefined): Wish {
  return { name: ASKED, memory, bytes: bytes ?? pageBytes(memory), budget: HOST_BUDGET };
}

/** What a pool is called. */
export function poolName(name: string): string {
  return `pool ${JSON.stringify(name)}`;
}

/** What a buffer is called; one without a name by its number. */
export function bufferName({ name, number }: { name?: string | undefined; number: number }): string {
  return `host buffer ${name === undefined ? number : JSON.stringify(name)}`;
}

/** The wish as one mapping. */
export function wanted({ bytes: nbytes, memory, budget, rank }: Wish): WantedMemory {
  return { buffer: { nbytes, memory, budget, rank } };
}

/** A pool that was kept. */
export function keptPool(request: PagedPoolRequest): Wish {
  const { name, layerNum, numHostPages, itemBytes, memory, budget, rank } = request;
  return { name: poolName(name), memory, bytes: layerNum * numHostPages * itemBytes, budget, rank };
}

/** A buffer that was kept. */
export function keptBuffer(request: HostBufferRequest, number: number): Wish {
  const { name, nbytes: bytes, memory, budget, rank } = request;
  return { name: bufferName({ name, number }), memory, bytes, budget, rank };
}
