import type { MappedPoolGroup, V4PagedHostPool } from '../../native/index.js';
import { existingGroup } from './existing-group.js';
import { type Failure, isFailure, type MemoryContext, type Outcome } from './failure.js';
import { MemoryLife } from './lifecycle.js';
import { withMemoryContext } from './memory-context.js';
import { logFallBack } from './outcome-log.js';
import type { LogicalPoolEntry, PagedPoolEntry, PoolEntry } from './pool.js';
import {
  anchorRequest,
  type CreatePoolGroupRequest,
  checkAnchor,
  checkPools,
  firstFailure,
  groupMembers,
  groupOf,
  groupSpec,
  memberRequest,
  type NamedSpecification,
  type PoolGroup,
  type PoolGroupPlan,
  type PoolGroupRequest,
} from './pool-group.js';
import type { Pools } from './pools.js';
import type { Registry } from './registry.js';
import { type AnswerFor, madeAndGone } from './repeats.js';
import type { ServiceDeps } from './service-deps.js';
import { identityOf, type PagedPoolRequest } from './specification.js';

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
    const doing = {
      operation: 'createPoolGroup',
      key: request.idempotencyKey,
      request: identityOf(request),
      first: (answerFor: AnswerFor) => this.#create(request, answerFor),
      resultOf,
      again: (ids: string) => this.#again(JSON.parse(ids) as string[], request.wait),
    };
    return this.deps.activity.track(() => this.deps.repeats.once(doing));
  }

  async #again(ids: string[], wait: boolean): Promise<Outcome<PoolGroup>> {
    const group = groupOf(ids.map((id) => this.registry.get(id) ?? madeAndGone('pool', id)));
    if (!wait || isFailure(group)) return group;
    return (await firstFailure(group.pools, () => undefined)) ?? group;
  }

  async #create(request: CreatePoolGroupRequest, answerFor: AnswerFor): Promise<Outcome<PoolGroup>> {
    const invalid = checkPools(request) ?? checkAnchor(request);
    if (invalid !== undefined) return invalid;
    const names = groupMembers(request, undefined).map(({ name }) => name);
    const holders = names.map((name) => this.registry.holderOf(name));
    if (holders.some((holder) => holder !== undefined)) return existingGroup(request, holders);
    const full = this.registry.checkRoomFor(names.length);
    if (full !== undefined) return { ...full, field: 'pools' };
    const group = await this.#make(request, answerFor);
    return request.wait && !isFailure(group) ? this.#readyOrNone(group) : group;
  }

  /** All names are free: they are taken at once, before anything is mapped. */
  async #make(request: CreatePoolGroupRequest, answerFor: AnswerFor): Promise<Outcome<PoolGroup>> {
    const members = groupMembers(request, request.anchorPages);
    const mapped = Promise.resolve().then(() => this.#map(request, members, answerFor));
    const creating = members.map(({ name, specification }, index) => {
      const make = async () => nth(await mapped, index);
      return this.registry.create({ name, ifExists: 'Error', specification, make });
    });
    return groupOf(await Promise.all(creating));
  }

  /** All of them are on disk together, or none is. */
  async #map(
    request: CreatePoolGroupRequest,
    members: NamedSpecification[],
    answerFor: AnswerFor,
  ): Promise<Outcome<PoolEntry[]>> {
    const { native, log } = this.deps;
    const group = await native.mapPoolGroup(groupSpec(request));
    if (isFailure(group)) return ofGroup(await withMemoryContext(native, group, request.memory));
    knowSizes(members, groupMembers(request, group.anchorPages));
    const pools = group.pools.map((pool, index) => {
      const member = request.pools[index] as (typeof request.pools)[number];
      logFallBack(log, 'pool', member.name, pool.placement());
      return this.#paged(pool, memberRequest(request, member, pool.stats().pageCount));
    });
    const anchor = this.#anchor(group, request);
    const answer = answerFor(resultOf({ anchor, pools }));
    return this.registry.add<PoolEntry>([...pools, anchor], { keepFailed: !request.wait, answer });
  }

  #paged(native: V4PagedHostPool, request: PagedPoolRequest): PagedPoolEntry {
    const life = new MemoryLife(native, request.memory.prefault);
    const { requestedBytes } = native;
    const { name } = request;
    return { kind: 'V4PagedHostPool', ...this.registry.newIdentity(), name, request, requestedBytes, life };
  }

  #anchor({ anchor: native, anchorPages }: MappedPoolGroup, request: CreatePoolGroupRequest): LogicalPoolEntry {
    const asked = anchorRequest(request, anchorPages);
    const { name } = asked;
    return { kind: 'LogicalHostPool', ...this.registry.newIdentity(), name, request: asked, native, life: undefined };
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

/** The ids of a group, the anchor's last: what a repeat finds it by. */
function resultOf({ anchor, pools }: Pick<PoolGroup, 'anchor' | 'pools'>): string {
  return JSON.stringify([...pools, anchor].map(({ id }) => id));
}

/** The sizes of a group that was to be the largest are known once it is mapped: whoever asks for a name is told of them. */
function knowSizes(members: NamedSpecification[], sized: NamedSpecification[]): void {
  members.forEach(({ specification }, index) => {
    Object.assign(specification, sized[index]?.specification);
  });
}

/** Its way out is another number of anchor pages. */
function ofGroup(failure: Failure): Failure & MemoryContext {
  return { ...failure, sizeField: 'anchorPages' };
}

function nth<T>(outcome: Outcome<T[]>, index: number): Outcome<T> {
  return isFailure(outcome) ? outcome : (outcome[index] as T);
}
