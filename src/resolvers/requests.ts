import type { HostBufferRequest, MemoryRequest, PagedPoolRequest } from '../allocator/specification.js';
import type {
  AllocateHostBufferInput,
  CreateV4PagedPoolInput,
  MemoryInput,
} from '../schema/generated/resolver-types.js';

/** The service's request for a V4 paged pool. */
export function pagedPoolRequest({ memory, rank, ...rest }: CreateV4PagedPoolInput): PagedPoolRequest {
  return { ...rest, rank: rank ?? undefined, memory: memoryRequest(memory) };
}

/** The service's request for a host buffer. */
export function hostBufferRequest({ memory, rank, name, ...rest }: AllocateHostBufferInput): HostBufferRequest {
  return { ...rest, name: name ?? undefined, rank: rank ?? undefined, memory: memoryRequest(memory) };
}

function memoryRequest({ hugepageSize, ...rest }: MemoryInput): MemoryRequest {
  return { ...rest, hugepageSize: hugepageSize ?? undefined };
}
