import {
  HostAllocator,
  MAX_GROUP_POOLS,
  type PoolGroupPlan as NativePlan,
  type PoolGroupMember,
  type PoolGroupSpec,
} from '../../native/index.js';
import { type Failure, type FailureOf, invalidArgument, isFailure, type Outcome } from './failure.js';
import { checkName, MAX_NAME_LENGTH } from './names.js';
import type { LogicalPoolEntry, PagedPoolEntry, PoolEntry } from './pool.js';
import type { Repeatable } from './repeats.js';
import {
  type IfExists,
  type LogicalPoolRequest,
  logicalSpecification,
  type MemoryRequest,
  type PagedPoolRequest,
  pagedSpecification,
  type Specification,
} from './specification.js';

/** Pools that grow together, and the logical pool whose pages theirs are lined up with. */
export interface PoolGroupRequest {
  budget: string;
  rank?: number;
  memory: MemoryRequest;
  pools: PoolGroupMember[];
  /** Undefined: the most that fits. */
  anchorPages?: number;
  /** Undefined: see `anchorOf`. */
  anchor?: PoolGroupAnchor;
}

/** A group to make. */
export interface CreatePoolGroupRequest extends PoolGroupRequest, Repeatable {
  wait: boolean;
  ifExists: IfExists;
}

/** The logical pool of a group. */
export interface PoolGroupAnchor {
  name: string;
  pageSize: number;
}

/** Pools that were made together. */
export interface PoolGroup {
  readonly kind: 'PoolGroup';
  readonly anchorPages: number;
  readonly anchor: LogicalPoolEntry;
  readonly pools: PagedPoolEntry[];
}

/** What creating a group would do now. */
export interface PoolGroupPlan extends NativePlan {
  readonly kind: 'PoolGroupPlan';
}

/** The name of a pool of a group, and what it is to be. */
export interface NamedSpecification {
  readonly name: string;
  readonly specification: Specification;
}

const ANCHOR_SUFFIX = '.anchor';

/**
 * The anchor that a group has: the one asked for, or one named after the first pool (cut where the name would be too long)
 * whose pages have as many slots as the largest pages of the pools.
 */
export function anchorOf({ anchor, pools }: PoolGroupRequest): PoolGroupAnchor {
  const first = (pools[0]?.name ?? '').slice(0, MAX_NAME_LENGTH - ANCHOR_SUFFIX.length).replace(/\p{Cs}$/u, '');
  const pageSize = pools.reduce((largest, { slotPageSize }) => Math.max(largest, slotPageSize), 0);
  return anchor ?? { name: `${first}${ANCHOR_SUFFIX}`, pageSize };
}

/** What the addon is asked for. */
export function groupSpec(request: PoolGroupRequest): PoolGroupSpec {
  const { budget, rank, memory, pools, anchorPages } = request;
  const { name, pageSize } = anchorOf(request);
  return { budget, rank, memory, pools, anchorPages, anchorName: name, anchorPageSize: pageSize };
}

/** A pool of the group, as if it were asked for by itself. */
export function memberRequest(
  { budget, rank, memory, wait, ifExists }: CreatePoolGroupRequest,
  { pagesPerAnchorPage: _, ...shape }: PoolGroupMember,
  numHostPages: number,
): PagedPoolRequest {
  return { ...shape, numHostPages, budget, rank, memory, wait, ifExists };
}

/** The anchor, as if it were asked for by itself. */
export function anchorRequest(request: CreatePoolGroupRequest, anchorPages: number): LogicalPoolRequest {
  const { name, pageSize } = anchorOf(request);
  return { name, pageSize, size: anchorPages * pageSize, layout: 'LayerFirst', ifExists: request.ifExists };
}

/** Every pool of the group at so many anchor pages, the anchor last; without their sizes where that is not known. */
export function groupMembers(request: CreatePoolGroupRequest, anchorPages: number | undefined): NamedSpecification[] {
  const paged = request.pools.map((pool) => {
    const numHostPages =
      anchorPages && (HostAllocator.pagesBesideAnchor(anchorPages, pool.pagesPerAnchorPage) ?? undefined);
    return { name: pool.name, specification: pagedSpecification({ ...memberRequest(request, pool, 0), numHostPages }) };
  });
  const { name, pageSize, ...anchor } = anchorRequest(request, 0);
  const size = anchorPages && anchorPages * pageSize;
  return [...paged, { name, specification: logicalSpecification({ ...anchor, name, pageSize, size }) }];
}

/** The pools of a group, the anchor last, or the first failure. */
export function groupOf(outcomes: Outcome<PoolEntry>[]): Outcome<PoolGroup> {
  const failure = outcomes.find(isFailure);
  if (failure !== undefined) return failure;
  const anchor = outcomes.at(-1) as LogicalPoolEntry;
  const { size, pageSize } = anchor.request;
  return { kind: 'PoolGroup', anchorPages: size / pageSize, anchor, pools: outcomes.slice(0, -1) as PagedPoolEntry[] };
}

/** The first failure that is no consequence of another; `stop` is called at the first. */
export async function firstFailure(pools: PagedPoolEntry[], stop: () => void): Promise<Failure | undefined> {
  const settled = pools.map(async ({ life }) => {
    const failure = await life.settled;
    if (failure !== undefined) stop();
    return failure;
  });
  const failures = (await Promise.all(settled)).filter((failure) => failure !== undefined);
  return failures.find((failure) => !isCancelled(failure)) ?? failures[0];
}

function isCancelled(failure: Failure): boolean {
  return failure.kind === 'HostBufferAllocationFailed' && failure.reason === 'Cancelled';
}

/** Why the list of pools is not acceptable, whatever their sizes. */
export function checkPools({ pools }: PoolGroupRequest): FailureOf<'InvalidArgument'> | undefined {
  if (pools.length === 0 || pools.length > MAX_GROUP_POOLS)
    return invalidArgument('pools', `A group has 1 to ${MAX_GROUP_POOLS} pools, got ${pools.length}.`);
  for (const [index, { name }] of pools.entries()) {
    const invalid = checkName(name);
    if (invalid !== undefined) return { ...invalid, field: `pools[${index}].name` };
  }
  if (new Set(pools.map(({ name }) => name)).size === pools.length) return undefined;
  return invalidArgument('pools', 'Each pool of a group needs a name of its own; some have the same.');
}

/** Why the anchor's name is not acceptable. */
export function checkAnchor(request: PoolGroupRequest): FailureOf<'InvalidArgument'> | undefined {
  const { name } = anchorOf(request);
  const invalid = checkName(name);
  if (invalid !== undefined) return { ...invalid, field: 'anchor.name' };
  if (!request.pools.some((pool) => pool.name === name)) return undefined;
  return invalidArgument('anchor.name', 'The anchor needs a name of its own; one of the pools has the same.');
}
