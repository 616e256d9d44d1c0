import type { BudgetRequest } from '../allocator/budgets.js';
import type { CreatePoolGroupRequest, PoolGroupRequest } from '../allocator/pool-group.js';
import type { ReservationRequest } from '../allocator/reservation.js';
import type { HostBufferRequest, MemoryRequest, PagedPoolRequest } from '../allocator/specification.js';
import type {
  AllocateHostBufferInput,
  CreateBudgetInput,
  CreatePoolGroupInput,
  CreateV4PagedPoolInput,
  MemoryInput,
  PoolGroupInput,
  ReserveHostMemoryInput,
} from '../schema/generated/resolver-types.js';

/** The service's request for a V4 paged pool. */
export function pagedPoolRequest({ memory, rank, ...rest }: CreateV4PagedPoolInput): PagedPoolRequest {
  return { ...rest, rank: rank ?? undefined, memory: memoryRequest(memory) };
}

/** The service's request for the plan of a group. */
export function poolGroupRequest({ memory, rank, anchorPages, ...rest }: PoolGroupInput): PoolGroupRequest {
  return { ...rest, rank: rank ?? undefined, anchorPages: anchorPages ?? undefined, memory: memoryRequest(memory) };
}

/** The service's request for a group. */
export function createPoolGroupRequest({ anchor, ...rest }: CreatePoolGroupInput): CreatePoolGroupRequest {
  const { wait, ifExists } = rest;
  return { ...poolGroupRequest(rest), anchor: anchor ?? undefined, wait, ifExists };
}

/** The service's request for a host buffer. */
export function hostBufferRequest({ memory, rank, name, ...rest }: AllocateHostBufferInput): HostBufferRequest {
  return { ...rest, name: name ?? undefined, rank: rank ?? undefined, memory: memoryRequest(memory) };
}

/** The service's request for a budget. */
export function budgetRequest({ requestedBytes, fraction, ...rest }: CreateBudgetInput): BudgetRequest {
  return { ...rest, requestedBytes: requestedBytes ?? undefined, fraction: fraction ?? undefined };
}

/** The service's request for a reservation. */
export function reservationRequest(input: ReserveHostMemoryInput): ReservationRequest {
  const { rank, hugepageSize, pid, ttlSeconds, ...rest } = input;
  const optional = { rank: rank ?? undefined, hugepageSize: hugepageSize ?? undefined };
  return { ...rest, ...optional, pid: pid ?? undefined, ttlSeconds: ttlSeconds ?? undefined };
}

function memoryRequest({ hugepageSize, ...rest }: MemoryInput): MemoryRequest {
  return { ...rest, hugepageSize: hugepageSize ?? undefined };
}
