import type { BudgetRequest } from '../allocator/budgets.js';
import type { CreatePoolGroupRequest, PoolGroupRequest } from '../allocator/pool-group.js';
import type { ReservationRequest } from '../allocator/reservation.js';
import type {
  HostBufferRequest,
  LogicalPoolRequest,
  MemoryRequest,
  PagedPoolRequest,
} from '../allocator/specification.js';
import type { Wish } from '../doctor/look.js';
import { askedWish } from '../doctor/wanted.js';
import type {
  AllocateHostBufferInput,
  CreateBudgetInput,
  CreateLogicalHostPoolInput,
  CreatePoolGroupInput,
  CreateV4PagedPoolInput,
  DoctorWishInput,
  MemoryInput,
  PoolGroupInput,
  ReserveHostMemoryInput,
} from '../schema/generated/resolver-types.js';

/** The service's request for a V4 paged pool. */
export function pagedPoolRequest({ memory, rank, ...rest }: CreateV4PagedPoolInput): PagedPoolRequest {
  return { ...repeatable(rest), rank: rank ?? undefined, memory: memoryRequest(memory) };
}

/** The service's request for a logical pool. */
export function logicalPoolRequest(input: CreateLogicalHostPoolInput): LogicalPoolRequest {
  return repeatable(input);
}

/** The service's request for the plan of a group. */
export function poolGroupRequest({ memory, rank, anchorPages, ...rest }: PoolGroupInput): PoolGroupRequest {
  return { ...rest, rank: rank ?? undefined, anchorPages: anchorPages ?? undefined, memory: memoryRequest(memory) };
}

/** The service's request for a group. */
export function createPoolGroupRequest({ anchor, ...rest }: CreatePoolGroupInput): CreatePoolGroupRequest {
  const { wait, ifExists, idempotencyKey } = repeatable(rest);
  return { ...poolGroupRequest(rest), anchor: anchor ?? undefined, wait, ifExists, idempotencyKey };
}

/** The service's request for a host buffer. */
export function hostBufferRequest({ memory, rank, name, ...rest }: AllocateHostBufferInput): HostBufferRequest {
  return { ...repeatable(rest), name: name ?? undefined, rank: rank ?? undefined, memory: memoryRequest(memory) };
}

/** The service's request for a budget. */
export function budgetRequest({ requestedBytes, fraction, ...rest }: CreateBudgetInput): BudgetRequest {
  return { ...repeatable(rest), requestedBytes: requestedBytes ?? undefined, fraction: fraction ?? undefined };
}

/** The service's request for a reservation. */
export function reservationRequest(input: ReserveHostMemoryInput): ReservationRequest {
  const { rank, hugepageSize, pid, ttlSeconds, ...rest } = input;
  const optional = { rank: rank ?? undefined, hugepageSize: hugepageSize ?? undefined };
  return { ...repeatable(rest), ...optional, pid: pid ?? undefined, ttlSeconds: ttlSeconds ?? undefined };
}

/** Memory that is asked about. */
export function wishRequest({ bytes, memory }: DoctorWishInput): Wish {
  return askedWish(memoryRequest(memory), bytes ?? undefined);
}

/** Without null: a key that is not given is none. */
function repeatable<Input extends { idempotencyKey?: string | null | undefined }>(input: Input) {
  return { ...input, idempotencyKey: input.idempotencyKey ?? undefined };
}

/** What is as it is by default is left out, so that a request is the same whether it was named or not. */
function memoryRequest({ hugepageSize, numaPolicy, numaNodes, ...rest }: MemoryInput): MemoryRequest {
  const { transparentHugepages, lockMemory, ...memory } = rest;
  return {
    ...memory,
    hugepageSize: hugepageSize ?? undefined,
    numaPolicy: numaPolicy === 'Bind' ? undefined : numaPolicy,
    numaNodes: numaNodes ?? undefined,
    transparentHugepages: transparentHugepages === 'Default' ? undefined : transparentHugepages,
    lockMemory: lockMemory || undefined,
  };
}
