import type { V4PagedHostPool } from '../../native/index.js';
import { type Failure, isFailure, notFound, type Outcome, poolNotReady } from './failure.js';
import { MemoryLife } from './lifecycle.js';
import { withMemoryContext } from './memory-context.js';
import { checkName } from './names.js';
import { logFallBack } from './outcome-log.js';
import { unmapped } from './placement.js';
import {
  type LogicalPoolEntry,
  type PagedPoolEntry,
  type PagedPoolPlan,
  type PoolCleared,
  type PoolDestroyed,
  type PoolEntry,
  poolState,
  type SlotKeeper,
  slotsOfPool,
} from './pool.js';
import { type Identity, type Listing, Registry } from './registry.js';
import { madeAndGone } from './repeats.js';
import type { ServiceDeps } from './service-deps.js';
import {
  identityOf,
  type LogicalPoolRequest,
  logicalSpecification,
  type PagedPoolRequest,
  pagedSpecification,
} from './specification.js';

/** A pool whose slots can be used, and its slots. */
export interface ReadyPool {
  readonly pool: PoolEntry;
  readonly slots: SlotKeeper;
}

/** The pools of this process. */
export class Pools {
  readonly #registry: Registry<PoolEntry>;

  constructor(
    private readonly deps: ServiceDeps,
    registry: Registry<PoolEntry> = new Registry('pool', 'pool', deps),
  ) {
    this.#registry = registry;
  }

  /** The pool with that id. */
  get(id: string): PoolEntry | undefined {
    return this.#registry.get(id);
  }

  /** The live pool with that name. */
  named(name: string): PoolEntry | undefined {
    return this.list().findLast((pool) => pool.name === name && isLive(pool));
  }

  /** Every pool, oldest first, failed ones included. */
  list(): PoolEntry[] {
    return this.#registry.list();
  }

  /** The pool with that id when its slots can be used. */
  ready(id: string): Outcome<ReadyPool> {
    const pool = this.#registry.get(id);
    if (pool === undefined) return notFound('pool', id);
    const state = poolState(pool);
    const slots = slotsOfPool(pool);
    return state === 'Ready' && slots !== undefined ? { pool, slots } : poolNotReady(pool.name, state);
  }

  /** Makes a pool of slots without bytes, or answers with the one that `ifExists` allows. */
  createLogical(request: LogicalPoolRequest): Promise<Outcome<LogicalPoolEntry>> {
    return this.deps.activity.track(() =>
      this.#onceFor('createLogicalHostPool', request, (listing) => this.#createLogical(request, listing)),
    );
  }

  /**
   * Charges, maps and faults in a V4 paged pool. With `wait` it answers once the pool is ready and leaves nothing on
   * failure; without, once it is mapped, and a later failure stays visible as a failed pool.
   */
  createPaged(request: PagedPoolRequest): Promise<Outcome<PagedPoolEntry>> {
    return this.deps.activity.track(() =>
      this.#onceFor('createV4PagedPool', request, (listing) => this.#createPaged(request, listing)),
    );
  }

  /** What creating it would do now. */
  async plan(request: PagedPoolRequest): Promise<Outcome<PagedPoolPlan>> {
    const invalid = checkName(request.name);
    if (invalid !== undefined) return invalid;
    const plan = await this.deps.native.planV4PagedPool(request);
    return isFailure(plan) ? plan : { kind: 'V4PagedPoolPlan', ...plan };
  }

  /** Gives back every slot. */
  clear(id: string): Outcome<PoolCleared> {
    const ready = this.ready(id);
    if (isFailure(ready)) return ready;
    ready.slots.clear();
    return { kind: 'PoolCleared', pool: ready.pool };
  }

  /** Frees the name at once, then unmaps; a pool still faulting in is cancelled. */
  async destroy(id: string): Promise<Outcome<PoolDestroyed>> {
    const pool = this.#registry.get(id);
    if (pool === undefined) return notFound('pool', id);
    const releasedBytes = await this.#registry.remove(pool);
    if (isFailure(releasedBytes)) return releasedBytes;
    return { kind: 'PoolDestroyed', id, name: pool.name, releasedBytes };
  }

  /** Unmaps every pool; their specifications are kept. Resolves to the bytes released. */
  closeAll(): Promise<number> {
    return this.#registry.unmapAll();
  }

  /**
   * Makes the pools that were kept anew: mapped when it resolves, then faulted in; their slots are free, their bytes gone.
   * One that does not fit now is listed as failed, and tried again at the next start.
   */
  async restore(): Promise<void> {
    for (const { kind, request, ...identity } of this.#registry.takeKept()) {
      if (kind === 'LogicalHostPool') await this.#restoreLogical(request as LogicalPoolRequest, identity);
      else await this.#restorePaged(request as PagedPoolRequest, identity);
    }
  }

  /** Stops every running prefault. */
  cancelRunning(): void {
    this.#registry.cancelRunning();
  }

  #onceFor<Made extends PoolEntry>(
    operation: string,
    request: LogicalPoolRequest | PagedPoolRequest,
    create: (listing: (id: string) => Pick<Listing, 'answer'>) => Promise<Outcome<Made>>,
  ): Promise<Outcome<Made>> {
    return this.deps.repeats.once<Made>({
      operation,
      key: request.idempotencyKey,
      request: identityOf(request),
      first: (answerFor) => create((id) => ({ answer: answerFor(id) })),
      resultOf: ({ id }) => id,
      again: (id) => this.#again(id, request) as Promise<Outcome<Made>>,
    });
  }

  async #again(id: string, request: LogicalPoolRequest | PagedPoolRequest): Promise<Outcome<PoolEntry>> {
    const pool = this.#registry.get(id);
    if (pool === undefined) return madeAndGone('pool', id);
    return 'wait' in request && request.wait ? this.#registry.settled(pool) : pool;
  }

  async #createLogical(request: LogicalPoolRequest, answer: AnswerById): Promise<Outcome<LogicalPoolEntry>> {
    const { name, ifExists } = request;
    const make = async () => {
      const identity = this.#registry.newIdentity();
      return this.#makeLogical(request, identity, { keepFailed: false, ...answer(identity.id) });
    };
    const creation = { name, ifExists, specification: logicalSpecification(request), make };
    return (await this.#registry.create(creation)) as Outcome<LogicalPoolEntry>;
  }

  async #createPaged(request: PagedPoolRequest, answer: AnswerById): Promise<Outcome<PagedPoolEntry>> {
    const { name, ifExists, wait } = request;
    const make = async () => {
      const identity = this.#registry.newIdentity();
      return this.#mapPaged(request, identity, { keepFailed: !wait, ...answer(identity.id) });
    };
    const creation = { name, ifExists, specification: pagedSpecification(request), make };
    const pool = (await this.#registry.create(creation)) as Outcome<PagedPoolEntry>;
    return wait ? this.#registry.settled(pool) : pool;
  }

  async #makeLogical(
    request: LogicalPoolRequest,
    identity: Identity,
    listing: Listing,
  ): Promise<Outcome<LogicalPoolEntry>> {
    const { name, size, pageSize } = request;
    const native = this.deps.native.createLogicalHostPool({ size, pageSize });
    if (isFailure(native)) return native;
    return this.#registry.addOne(
      { kind: 'LogicalHostPool', ...identity, name, request, native, life: undefined },
      listing,
    );
  }

  async #mapPaged(request: PagedPoolRequest, identity: Identity, listing: Listing): Promise<Outcome<PagedPoolEntry>> {
    const native = await this.deps.native.mapV4PagedPool(request);
    if (isFailure(native)) return withMemoryContext(this.deps.native, native, request.memory);
    const life = new MemoryLife(native, request.memory.prefault);
    const { requestedBytes } = native;
    const { name } = request;
    logFallBack(this.deps.log, 'pool', name, native.placement());
    return this.#registry.addOne(
      { kind: 'V4PagedHostPool', ...identity, name, request, requestedBytes, life },
      listing,
    );
  }

  #restoreLogical(request: LogicalPoolRequest, identity: Identity): Promise<void> {
    const { name } = request;
    const make = () => this.#makeLogical(request, identity, RESTORED);
    const none = { native: undefined, life: undefined };
    const asFailed = () => ({ kind: 'LogicalHostPool', ...identity, name, request, ...none }) as const;
    return this.#registry.restore({ name, specification: logicalSpecification(request), make }, asFailed);
  }

  #restorePaged(request: PagedPoolRequest, identity: Identity): Promise<void> {
    const { name, layerNum, numHostPages, itemBytes, memory } = request;
    const make = () => this.#mapPaged(request, identity, RESTORED);
    const requestedBytes = layerNum * numHostPages * itemBytes;
    const asFailed = (failure: Failure): PagedPoolEntry => {
      const life = MemoryLife.failed<V4PagedHostPool>(unmapped(memory), failure);
      return { kind: 'V4PagedHostPool', ...identity, name, request, requestedBytes, life };
    };
    return this.#registry.restore({ name, specification: pagedSpecification(request), make }, asFailed);
  }
}

/** The answer to save with the pool that gets an id. */
type AnswerById = (id: string) => Pick<Listing, 'answer'>;

const RESTORED: Listing = { keepFailed: true, restored: true };

function isLive(pool: PoolEntry): boolean {
  const state = poolState(pool);
  return state !== 'Failed' && state !== 'Destroying';
}
