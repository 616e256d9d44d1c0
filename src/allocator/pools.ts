import { isFailure, notFound, type Outcome, poolNotReady } from './failure.js';
import { MemoryLife } from './lifecycle.js';
import { withMemoryContext } from './memory-context.js';
import { checkName } from './names.js';
import { logFallBack } from './outcome-log.js';
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
import { Registry, settledOf } from './registry.js';
import type { ServiceDeps } from './service-deps.js';
import {
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
    return this.deps.activity.track(() => this.#createLogical(request));
  }

  /**
   * Charges, maps and faults in a V4 paged pool. With `wait` it answers once the pool is ready and leaves nothing on
   * failure; without, once it is mapped, and a later failure stays visible as a failed pool.
   */
  createPaged(request: PagedPoolRequest): Promise<Outcome<PagedPoolEntry>> {
    return this.deps.activity.track(() => this.#createPaged(request));
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
    if (pool.kind === 'LogicalHostPool') pool.native.close();
    return { kind: 'PoolDestroyed', id, name: pool.name, releasedBytes };
  }

  /** Unmaps every pool. Resolves to the bytes released. */
  closeAll(): Promise<number> {
    return this.#registry.removeAll();
  }

  /** Stops every running prefault. */
  cancelRunning(): void {
    this.#registry.cancelRunning();
  }

  async #createLogical(request: LogicalPoolRequest): Promise<Outcome<LogicalPoolEntry>> {
    const { name, ifExists } = request;
    const make = async () => this.#makeLogical(request);
    const creation = { name, ifExists, specification: logicalSpecification(request), make };
    return (await this.#registry.create(creation)) as Outcome<LogicalPoolEntry>;
  }

  async #createPaged(request: PagedPoolRequest): Promise<Outcome<PagedPoolEntry>> {
    const { name, ifExists, wait } = request;
    const make = () => this.#mapPaged(request);
    const creation = { name, ifExists, specification: pagedSpecification(request), make };
    const pool = (await this.#registry.create(creation)) as Outcome<PagedPoolEntry>;
    return wait ? settledOf(pool) : pool;
  }

  #makeLogical(request: LogicalPoolRequest): Outcome<LogicalPoolEntry> {
    const native = this.deps.native.createLogicalHostPool({ size: request.size, pageSize: request.pageSize });
    if (isFailure(native)) return native;
    const entry = { ...this.#registry.newEntry(request.name), request, native, life: undefined };
    return this.#registry.add({ kind: 'LogicalHostPool', ...entry }, false);
  }

  async #mapPaged(request: PagedPoolRequest): Promise<Outcome<PagedPoolEntry>> {
    const native = await this.deps.native.mapV4PagedPool(request);
    if (isFailure(native)) return withMemoryContext(this.deps.native, native, request.memory);
    const life = new MemoryLife(native, request.memory.prefault);
    const { requestedBytes } = native;
    logFallBack(this.deps.log, 'pool', request.name, native.placement());
    const entry = { ...this.#registry.newEntry(request.name), request, requestedBytes, life };
    return this.#registry.add({ kind: 'V4PagedHostPool', ...entry }, !request.wait);
  }
}

function isLive(pool: PoolEntry): boolean {
  const state = poolState(pool);
  return state !== 'Failed' && state !== 'Destroying';
}
