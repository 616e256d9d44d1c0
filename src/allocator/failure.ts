import type { Failure as NativeFailure } from '../../native/index.js';
import type { PoolState } from './lifecycle.js';

/** What the service refuses by itself: names, ids and states that the addon knows nothing of. */
type ServiceFailure =
  | { kind: 'PoolNotReady'; message: string; state: PoolState }
  | { kind: 'NotFound'; message: string; id: string }
  | { kind: 'NameTaken'; message: string; name: string; differs: string[] }
  | { kind: 'InUse'; message: string; attachments: number }
  | { kind: 'InvalidArgument'; message: string; field: string };

/** What the service adds to refusals of memory, beside the addon's own figures, for the ways out. */
export interface MemoryContext {
  /** Bytes in one page of the backing asked for: the memory is counted in whole ones. */
  pageBytes?: number;
  /** Whether the hugepages asked for are short on the whole machine, not only on the node. */
  hugepagesShort?: boolean;
  /** The field that sizes what was asked for: numHostPages unless it is a group of pools. */
  sizeField?: 'anchorPages';
}

/** Every expected failure, as a value told apart by `kind`. `message` is the documented sentence. */
export type Failure = NativeFailure | ServiceFailure;

/** The name of an expected failure. */
export type FailureKind = Failure['kind'];

/** One kind of failure with its fields. */
export type FailureOf<Kind extends FailureKind> = Extract<Failure, { kind: Kind }>;

/** A result, or why there is none. */
export type Outcome<T> = T | Failure;

const failureKinds: Record<FailureKind, true> = {
  LogicalPoolSizeNotPageAligned: true,
  LogicalPoolAllocationNotPageAligned: true,
  LogicalPoolFreeNotPageAligned: true,
  InsufficientHostMemory: true,
  HostBufferAllocationFailed: true,
  PoolExhausted: true,
  DoubleFree: true,
  SlotOutOfRange: true,
  PoolNotReady: true,
  NotFound: true,
  NameTaken: true,
  InUse: true,
  BudgetExceeded: true,
  BudgetAdmissionClosed: true,
  LeaseExpired: true,
  InvalidArgument: true,
  StateNotSaved: true,
};

/** Whether an outcome is a failure. */
export function isFailure(outcome: unknown): outcome is Failure {
  if (typeof outcome !== 'object' || outcome === null || !('kind' in outcome)) return false;
  return typeof outcome.kind === 'string' && Object.hasOwn(failureKinds, outcome.kind);
}

/** An argument outside what the field accepts. */
export function invalidArgument(field: string, message: string): FailureOf<'InvalidArgument'> {
  return { kind: 'InvalidArgument', message, field };
}

/** No pool, buffer or reservation has that id, or no budget that name. */
export function notFound(what: 'pool' | 'host buffer' | 'reservation' | 'budget', id: string): FailureOf<'NotFound'> {
  return { kind: 'NotFound', message: `There is no ${what} ${JSON.stringify(id)}.`, id };
}

/** The reservation has ended, told under the id that callers know it by. */
export function leaseExpired(failure: FailureOf<'LeaseExpired'>, id: string): FailureOf<'LeaseExpired'> {
  return { ...failure, id, message: `Reservation ${JSON.stringify(id)} has ended: it ${failure.how}.` };
}

/** A live pool or buffer has that name. */
export function nameTaken(what: 'pool' | 'host buffer', name: string, differs: string[]): FailureOf<'NameTaken'> {
  const how = differs.length === 0 ? '' : ` with another ${differs.join(', ')}`;
  return { kind: 'NameTaken', message: `A ${what} named ${JSON.stringify(name)} exists already${how}.`, name, differs };
}

/** The pool's slots cannot be used in this state. */
export function poolNotReady(name: string, state: PoolState): FailureOf<'PoolNotReady'> {
  return { kind: 'PoolNotReady', message: `Pool ${JSON.stringify(name)} is ${state.toUpperCase()}, not READY.`, state };
}
