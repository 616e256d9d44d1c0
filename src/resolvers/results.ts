import type { Budget } from '../allocator/budgets.js';
import type { Outcome } from '../allocator/failure.js';
import type { HostBufferEntry, HostBufferFreed } from '../allocator/host-buffer.js';
import type { LogicalPoolEntry, PagedPoolEntry, PagedPoolPlan, PoolCleared, PoolDestroyed } from '../allocator/pool.js';
import type { PoolGroup, PoolGroupPlan } from '../allocator/pool-group.js';
import type { Reservation } from '../allocator/reservation.js';
import type { SlotAllocation, SlotsFreed } from '../allocator/slots.js';

// What the service answers where the schema has a result union. The addon types its failures as one union, so which
// of them an operation can meet is for the tests to show: test/api reaches every member.

export type AllocateHostBufferOutcome = Outcome<HostBufferEntry>;
export type AllocateSlotsOutcome = Outcome<SlotAllocation>;
export type BudgetOutcome = Outcome<Budget>;
export type ClearPoolOutcome = Outcome<PoolCleared>;
export type CreateLogicalHostPoolOutcome = Outcome<LogicalPoolEntry>;
export type CreatePoolGroupOutcome = Outcome<PoolGroup>;
export type CreateV4PagedPoolOutcome = Outcome<PagedPoolEntry>;
export type DestroyPoolOutcome = Outcome<PoolDestroyed>;
export type FreeHostBufferOutcome = Outcome<HostBufferFreed>;
export type FreeSlotsOutcome = Outcome<SlotsFreed>;
export type PlanPoolGroupOutcome = Outcome<PoolGroupPlan>;
export type PlanV4PagedPoolOutcome = Outcome<PagedPoolPlan>;
export type ReservationOutcome = Outcome<Reservation>;
export type ReserveHostMemoryOutcome = Outcome<Reservation>;
