import { isFailure, nameTaken, notFound, type Outcome, poolNotReady } from './failure.js';
import { IdIssuer } from './ids.js';
import { MemoryLife } from './lifecycle.js';
import { checkName, type Holder, NameRegistry } from './names.js';
import { logFailedPrefault, logFallBack } from './outcome-log.js';
import {
  type LogicalPoolEntry,
  type PagedPoolEntry,
  type PagedPoolPlan,
  type PoolCleared,
  type PoolDestroyed,
  type PoolEntry,
  poolState,
} from './pool.js';
import type { ServiceDeps } from './service-deps.js';
import {
  differences,
  type IfExists,
  type LogicalPoolRequest,
  logicalSpecification,
  type PagedPoolRequest,
  pagedSpecification,
  type Specification,
} from './specification.js';

interface NamedRequest {
  name: string;
  ifExists: IfExists;
}

/** The pools of this process: their names, ids and lives. */
export class Pools {
  readonly #ids = new IdIssuer('pool');
  readonly #byId = new Map<string, PoolEntry>();
  readonly #names = new NameRegistry<PoolEntry>();

  constructor(private readonly deps: ServiceDeps) {}

  /** The pool with that id. */
  get(id: string): PoolEntry | undefined {
    return this.#byId.get(id);
  }

  /** The live pool with that name. */
  named(name: string): PoolEntry | undefined {
    return this.list().findLast((pool) => pool.name === name && isLive(pool));
  }

  /** Every pool, oldest first, failed ones included. */
  list(): PoolEntry[] {
    return [...this.#byId.values()];
  }

  /** The pool with that id when its slots can be used. */
  ready(id: string): Outcome<PoolEntry> {
    const pool = this.#byId.get(id);
    if (pool === undefined) return notFound('pool', id);
    const state = poolState(pool);
    return state === 'Ready' ? pool : poolNotReady(pool.name, state);
  }

  /** Makes a pool of slots without bytes, or answers with the one that `ifExists` allows. */
  async createLogical(request: LogicalPoolRequest): Promise<Outcome<LogicalPoolEntry>> {
    const make = async () => this.#makeLogical(request);
    const pool = await this.#takeName(request, logicalSpecification(request), make);
    return pool as Outcome<LogicalPoolEntry>;
  }

  /**
   * Charges, maps and faults in a V4 paged pool. With `wait` it answers once the pool is ready and leaves nothing on
   * failure; without, once it is mapped, and a later failure stays visible as a failed pool.
   */
  createPaged(request: PagedPoolRequest): Promise<Outcome<PagedPoolEntry>> {
    return this.deps.activity.track(this.#createPaged(request));
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
    const pool = this.ready(id);
    if (isFailure(pool)) return pool;
    pool.native.clear();
    return { kind: 'PoolCleared', pool };
  }

  /** Frees the name at once, then unmaps; a pool still faulting in is cancelled. */
  async destroy(id: string): Promise<Outcome<PoolDestroyed>> {
    const pool = this.#byId.get(id);
    if (pool === undefined) return notFound('pool', id);
    const releasing = pool.kind === 'V4PagedHostPool' ? pool.life.destroy() : 0;
    this.#names.release(pool.name, pool);
    const releasedBytes = await releasing;
    this.#byId.delete(id);
    return { kind: 'PoolDestroyed', id, name: pool.name, releasedBytes };
  }

  /** Stops every running prefault. */
  cancelRunning(): void {
    for (const pool of this.list()) if (pool.kind === 'V4PagedHostPool') pool.life.cancel();
  }

  async #createPaged(request: PagedPoolRequest): Promise<Outcome<PagedPoolEntry>> {
    const make = () => this.#mapPaged(request);
    const pool = (await this.#takeName(request, pagedSpecification(request), make)) as Outcome<PagedPoolEntry>;
    if (isFailure(pool) || !request.wait) return pool;
    return (await pool.life.settled) ?? pool;
  }

  async #takeName(request: NamedRequest, specification: Specification, make: () => Promise<Outcome<PoolEntry>>) {
    const invalid = checkName(request.name);
    if (invalid !== undefined) return invalid;
    const holder = this.#names.holderOf(request.name);
    if (holder === undefined) return this.#names.take(request.name, specification, make);
    return existing(holder, request, specification);
  }

  #makeLogical(request: LogicalPoolRequest): Outcome<LogicalPoolEntry> {
    const native = this.deps.native.createLogicalHostPool({ size: request.size, pageSize: request.pageSize });
    if (isFailure(native)) return native;
    return this.#add({ kind: 'LogicalHostPool', ...this.#newEntry(request.name), request, native });
  }

  async #mapPaged(request: PagedPoolRequest): Promise<Outcome<PagedPoolEntry>> {
    const native = await this.deps.native.mapV4PagedPool(request);
    if (isFailure(native)) return native;
    const life = new MemoryLife(native, request.memory.prefault);
    const { requestedBytes } = native;
    const pool = { ...this.#newEntry(request.name), request, native, life, requestedBytes };
    logFallBack(this.deps.log, 'pool', request.name, native.placement());
    const entry = this.#add<PagedPoolEntry>({ kind: 'V4PagedHostPool', ...pool });
    void this.#followUp(entry);
    return entry;
  }

  /** A prefault that fails frees the name, and takes the pool off the list when its maker is there to be told. */
  async #followUp(pool: PagedPoolEntry): Promise<void> {
    try {
      const failure = await pool.life.settled;
      if (failure === undefined) return;
      logFailedPrefault(this.deps.log, pool, failure);
    } catch (err) {
      this.deps.log.error({ pool: pool.name, id: pool.id, err }, 'prefault broke');
    }
    if (pool.request.wait) this.#byId.delete(pool.id);
    this.#names.release(pool.name, pool);
  }

  #newEntry(name: string) {
    return { id: this.#ids.issue(), name, createdAt: this.deps.now() };
  }

  #add<T extends PoolEntry>(pool: T): T {
    this.#byId.set(pool.id, pool);
    return pool;
  }
}

function isLive(pool: PoolEntry): boolean {
  const state = poolState(pool);
  return state !== 'Failed' && state !== 'Destroying';
}

async function existing(holder: Holder<PoolEntry>, request: NamedRequest, specification: Specification) {
  const differs = differences(holder.specification, specification);
  if (request.ifExists === 'Return' && differs.length === 0) return holder.outcome;
  return nameTaken('pool', request.name, differs);
}
