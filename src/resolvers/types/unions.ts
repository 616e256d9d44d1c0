import type { Failure } from '../../allocator/failure.js';
import type { Resolvers } from '../../schema/generated/resolver-types.js';

/**
 * Every value that a union or an interface can be says which type it is. `never`: the addon types its failures as one
 * union, so that a failure is a member of this very one is shown by test/api, and a stranger is answered as a bug.
 */
const byKind = { __resolveType: (value: { kind: string }) => value.kind as never };

/** Which member a result is. */
export const unions = {
  AllocateHostBufferResult: byKind,
  AllocateSlotsResult: byKind,
  BudgetResult: byKind,
  ClearPoolResult: byKind,
  CreateLogicalHostPoolResult: byKind,
  CreatePoolGroupResult: byKind,
  CreateV4PagedPoolResult: byKind,
  DestroyPoolResult: byKind,
  FreeHostBufferResult: byKind,
  FreeSlotsResult: byKind,
  HostPoolError: { __resolveType: (failure: Failure) => failure.kind },
  PlanPoolGroupResult: byKind,
  PlanV4PagedPoolResult: byKind,
  Pool: byKind,
  ReservationResult: byKind,
  ReserveHostMemoryResult: byKind,
} satisfies Resolvers;
