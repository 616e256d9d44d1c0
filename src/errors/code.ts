import type { FailureKind } from '../allocator/failure.js';
import type { ErrorCode } from '../schema/generated/resolver-types.js';

/** The public code of each kind of failure. */
export const codeOf: Record<FailureKind, ErrorCode> = {
  LogicalPoolSizeNotPageAligned: 'LOGICAL_POOL_SIZE_NOT_PAGE_ALIGNED',
  LogicalPoolAllocationNotPageAligned: 'LOGICAL_POOL_ALLOCATION_NOT_PAGE_ALIGNED',
  LogicalPoolFreeNotPageAligned: 'LOGICAL_POOL_FREE_NOT_PAGE_ALIGNED',
  InsufficientHostMemory: 'INSUFFICIENT_HOST_MEMORY',
  HostBufferAllocationFailed: 'HOST_BUFFER_ALLOCATION_FAILED',
  PoolExhausted: 'POOL_EXHAUSTED',
  DoubleFree: 'DOUBLE_FREE',
  SlotOutOfRange: 'SLOT_OUT_OF_RANGE',
  PoolNotReady: 'POOL_NOT_READY',
  NotFound: 'NOT_FOUND',
  NameTaken: 'NAME_TAKEN',
  InUse: 'IN_USE',
  BudgetExceeded: 'BUDGET_EXCEEDED',
  BudgetAdmissionClosed: 'BUDGET_ADMISSION_CLOSED',
  LeaseExpired: 'LEASE_EXPIRED',
  InvalidArgument: 'INVALID_ARGUMENT',
  StateNotSaved: 'STATE_NOT_SAVED',
};
