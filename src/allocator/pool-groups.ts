import { MAX_GROUP_POOLS, type MappedPoolGroup, type V4PagedHostPool } from '../../native/index.js';
import {
  type Failure,
  type FailureOf,
  invalidArgument,
  isFailure,
  type MemoryContext,
  nameTaken,
  type Outcome,
} from './failure.js';
import { MemoryLife } from './lifecycle.js';
import { withMemoryContext } from './memory-context.js';
import { checkName, type Holder } from './names.js';
import { logFallBack } from './outcome-log.js';
import type { LogicalPoolEntry, PagedPoolEntry, PoolEntry } from './pool.js';
import {
  anchorOf,
  anchorRequest,
  type CreatePoolGroupRequest,
  groupMembers,
  groupSpec,
  memberRequest,
  type NamedSpecification,
  type PoolGroup,
  type PoolGroupPlan,
  type PoolGroupRequest,
} from './pool-group.js';
import type { Pools } from './pools.js';
import type { Registry } from './registry.js';
import type { ServiceDeps } from './service-deps.js';
import { differences, type PagedPoolRequest } from './specification.js';

/** Makes pools that grow together: all of them or none. Once made they are ordinary pools. */
export class PoolGroups {
  constructor(
    private readonly deps: ServiceDeps,
    private readonly pools: Pools,
    private readonly registry: Registry<PoolEntry>,
  ) {}

  /** What creating it would do now. */
  async plan(request: PoolGroupRequest): Promise<Outcome<PoolGroupPlan>> {
    const invalid = checkPools(request);
    if (invalid !== undefined) return invalid;
    const plan = await this.deps.native.planPoolGroup(groupSpec(request));
    return isFailure(plan) ? plan : { kind: 'PoolGroupPlan', ...plan };
  }

  /**
   * Takes every name, charges all pools in one decision, maps and faults them in. With `wait` it answers once all are ready
   * and leaves nothing on failure; without, once all are mapped, and a pool that fails later stays visible.
   */
  create(request: CreatePoolGroupRequest): Promise<Outcome<PoolGroup>> {
    return this.deps.activity.track(() => this.#create(request));
  }

  async #create(request: CreatePoolGroupRequest): Promise<Outcome<PoolGroup>> {
    const invalid = checkPools(request) ?? checkAnchor(request);
    if (invalid !== undefined) return invalid;
    const names = groupMembers(request, undefined).map(({ name }) => name);
    const holders = names.map((name) => this.registry.holderOf(name));
    if (holders.some((holder) => holder !== undefined)) return existingGroup(request, holders);
    const full = this.registry.checkRoomFor(names.length);
    if (full !== undefined) return { ...full, field: 'pools' };
    const group = await this.#make(request);
    return request.wait && !isFailure(group) ? this.#readyOrNone(group) : group;
  }

  /** All names are free: they are taken at once, before anything is mapped. */
  async #make(request: CreatePoolGroupRequest): Promise<Outcome<PoolGroup>> {
    const members = groupMembers(request, request.anchorPages);
    const mapped = Promise.resolve().then(() => this.#map(request, members));
    const creating = members.map(({ name, specification }, index) => {
      const make = async () => nth(await mapped, index);
      return this.registry.create({ name, ifExists: 'Error', specification, make });
    });
    return groupOf(await Promise.all(creating));
  }

  async #map(request: CreatePoolGroupRequest, members: NamedSpecification[]): Promise<Outcome<PoolEntry[]>> {
    const { native, log } = this.deps;
    const group = await native.mapPoolGroup(groupSpec(request));
    if (isFailure(group)) return ofGroup(await withMemoryContext(native, group, request.memory));
    knowSizes(members, groupMembers(request, group.anchorPages));
    const pools = group.pools.map((pool, index) => {
      const member = request.pools[index] as (typeof request.pools)[number];
      logFallBack(log, 'pool', member.name, pool.placement());
      return this.#addPaged(pool, memberRequest(request, member, pool.stats().pageCount));
    });
    return [...pools, this.#addAnchor(group, request)];
  }

  #addPaged(native: V4PagedHostPool, request: PagedPoolRequest): PagedPoolEntry {
    const life = new MemoryLife(native, request.memory.prefault);
    const { requestedBytes } = native;
    const entry = { ...this.registry.newEntry(request.name), request, requestedBytes, life };
    return this.registry.add({ kind: 'V4PagedHostPool', ...entry }, !request.wait);
  }

  #addAnchor({ anchor: native, anchorPages }: MappedPoolGroup, request: CreatePoolGroupRequest): LogicalPoolEntry {
    const asked = anchorRequest(request, anchorPages);
    const entry = { ...this.registry.newEntry(asked.name), request: asked, native, life: undefined };
    return this.registry.add({ kind: 'LogicalHostPool', ...entry }, false);
  }

  /** Waits until all are ready. When one fails the others are stopped, and all of them are given back. */
  async #readyOrNone(group: PoolGroup): Promise<Outcome<PoolGroup>> {
    try {
      const failure = await firstFailure(group.pools, () => {
        for (const { life } of group.pools) life.cancel();
      });
      if (failure === undefined) return group;
      await this.#giveBack(group);
      return failure;
    } catch (bug) {
      await this.#giveBack(group);
      throw bug;
    }
  }

  async #giveBack({ anchor, pools }: PoolGroup): Promise<void> {
    await Promise.all([anchor, ...pools].map(({ id }) => this.pools.destroy(id)));
  }
}

type Holders = (Holder<PoolEntry> | undefined)[];

/** What a create answers when some of its names are taken. */
async function existingGroup(request: CreatePoolGroupRequest, holders: Holders): Promise<Outcome<PoolGroup>> {
  const taken = differing(request, holders);
  const complete = holders.filter((holder) => holder !== undefined);
  const different = taken.find(({ differs }) => differs.length > 0);
  const [first] = taken;
  if (request.ifExists === 'Error' && first !== undefined) return nameTaken('pool', first.name, first.differs);
  if (different !== undefined) return nameTaken('pool', different.name, different.differs);
  const group = groupOf(await Promise.all(complete.map(({ outcome }) => outcome)));
  if (!request.wait || isFailure(group)) return group;
  return (await firstFailure(group.pools, () => undefined)) ?? group;
}

/** The names that are taken, and how who has them differs; `pools` where it is not part of such a group at all. */
function differing(request: CreatePoolGroupRequest, holders: Holders): { name: string; differs: string[] }[] {
  const { pageSize } = anchorOf(request);
  const size = holders.at(-1)?.specification.size;
  const pages = request.anchorPages ?? (typeof size === 'number' ? size / pageSize : undefined);
  const others = holders.includes(undefined) ? ['pools'] : [];
  return groupMembers(request, pages).flatMap(({ name, specification }, index) => {
    const holder = holders[index];
    return holder === undefined
      ? []
      : [{ name, differs: [...differences(holder.specification, specification), ...others] }];
  });
}

/** The sizes of a group that was to be the largest are known once it is mapped: whoever asks for a name is told of them. */
function knowSizes(members: NamedSpecification[], sized: NamedSpecification[]): void {
  members.forEach(({ specification }, index) => {
    Object.assign(specification, sized[index]?.specification);
  });
}

/** The first failure that is no consequence of another; `stop` is called at the first. */
async function firstFailure(pools: PagedPoolEntry[], stop: () => void): Promise<Failure | undefined> {
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

/** Its way out is another number of anchor pages. */
function ofGroup(failure: Failure): Failure & MemoryContext {
  return { ...failure, sizeField: 'anchorPages' };
}

function nth<T>(outcome: Outcome<T[]>, index: number): Outcome<T> {
  return isFailure(outcome) ? outcome : (outcome[index] as T);
}

/** The pools of a group, the anchor last, or the first failure. */
function groupOf(outcomes: Outcome<PoolEntry>[]): Outcome<PoolGroup> {
  const failure = outcomes.find(isFailure);
  if (failure !== undefined) return failure;
  const anchor = outcomes.at(-1) as LogicalPoolEntry;
  const { size, pageSize } = anchor.request;
  return { kind: 'PoolGroup', anchorPages: size / pageSize, anchor, pools: outcomes.slice(0, -1) as PagedPoolEntry[] };
}

/** Why the list of pools is not acceptable, whatever their sizes. */
function checkPools({ pools }: PoolGroupRequest): FailureOf<'InvalidArgument'> | undefined {
  if (pools.length === 0 || pools.length > MAX_GROUP_POOLS)
    return invalidArgument('pools', `A group has 1 to ${MAX_GROUP_POOLS} pools, got ${pools.length}.`);
  for (const [index, { name }] of pools.entries()) {
    const invalid = checkName(name);
    if (invalid !== undefined) return { ...invalid, field: `pools[${index}].name` };
  }
  if (new Set(pools.map(({ name }) => name)).size === pools.length) return undefined;
  return invalidArgument('pools', 'Each pool of a group needs a name of its own; some have the same.');
}

function checkAnchor(request: PoolGroupRequest): FailureOf<'InvalidArgument'> | undefined {
  const { name } = anchorOf(request);
  const invalid = checkName(name);
  if (invalid !== undefined) return { ...invalid, field: 'anchor.name' };
  if (!request.pools.some((pool) => pool.name === name)) return undefined;
  return invalidArgument('anchor.name', 'The anchor needs a name of its own; one of the pools has the same.');
}
