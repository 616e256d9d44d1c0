import { isFailure, nameTaken, notFound, type Outcome } from './failure.js';
import type { HostBufferEntry, HostBufferFreed } from './host-buffer.js';
import { IdIssuer } from './ids.js';
import { MemoryLife } from './lifecycle.js';
import { checkName, NameRegistry } from './names.js';
import { logFailedPrefault, logFallBack } from './outcome-log.js';
import type { ServiceDeps } from './service-deps.js';
import { bufferSpecification, differences, type HostBufferRequest } from './specification.js';

/** The host buffers of this process: their names, ids and lives. */
export class HostBuffers {
  readonly #ids = new IdIssuer('buf');
  readonly #byId = new Map<string, HostBufferEntry>();
  readonly #names = new NameRegistry<HostBufferEntry>();

  constructor(private readonly deps: ServiceDeps) {}

  /** The buffer with that id. */
  get(id: string): HostBufferEntry | undefined {
    return this.#byId.get(id);
  }

  /** Every buffer, oldest first, failed ones included. */
  list(): HostBufferEntry[] {
    return [...this.#byId.values()];
  }

  /** Charges, maps and faults in; waits and fails as `Pools.createPaged` does. */
  allocate(request: HostBufferRequest): Promise<Outcome<HostBufferEntry>> {
    return this.deps.activity.track(this.#allocate(request));
  }

  /** Unmaps a buffer. Freeing one that was freed before is no error, an id that was never given out is. */
  async free(id: string): Promise<Outcome<HostBufferFreed>> {
    const buffer = this.#byId.get(id);
    if (buffer === undefined || buffer.life.state === 'Destroying') return this.#freedBefore(id);
    const releasing = buffer.life.destroy();
    if (buffer.name !== undefined) this.#names.release(buffer.name, buffer);
    const releasedBytes = await releasing;
    this.#byId.delete(id);
    return { kind: 'HostBufferFreed', id, released: true, releasedBytes };
  }

  /** Stops every running prefault. */
  cancelRunning(): void {
    for (const buffer of this.list()) buffer.life.cancel();
  }

  #freedBefore(id: string): Outcome<HostBufferFreed> {
    if (!this.#ids.hasIssued(id)) return notFound('host buffer', id);
    return { kind: 'HostBufferFreed', id, released: false, releasedBytes: 0 };
  }

  async #allocate(request: HostBufferRequest): Promise<Outcome<HostBufferEntry>> {
    const buffer = await this.#takeName(request);
    if (isFailure(buffer) || !request.wait) return buffer;
    return (await buffer.life.settled) ?? buffer;
  }

  async #takeName(request: HostBufferRequest): Promise<Outcome<HostBufferEntry>> {
    const { name } = request;
    if (name === undefined) return this.#map(request);
    const invalid = checkName(name);
    if (invalid !== undefined) return invalid;
    const specification = bufferSpecification(request);
    const holder = this.#names.holderOf(name);
    if (holder === undefined) return this.#names.take(name, specification, () => this.#map(request));
    return nameTaken('host buffer', name, differences(holder.specification, specification));
  }

  async #map(request: HostBufferRequest): Promise<Outcome<HostBufferEntry>> {
    const native = await this.deps.native.mapHostBuffer(request);
    if (isFailure(native)) return native;
    const life = new MemoryLife(native, request.memory.prefault);
    const { name } = request;
    const buffer = { id: this.#ids.issue(), name, createdAt: this.deps.now(), request, native, life };
    logFallBack(this.deps.log, 'host buffer', name, native.placement());
    const entry: HostBufferEntry = { kind: 'HostBuffer', ...buffer };
    this.#byId.set(entry.id, entry);
    void this.#followUp(entry);
    return entry;
  }

  /** A prefault that fails frees the name, and takes the buffer off the list when its maker is there to be told. */
  async #followUp(buffer: HostBufferEntry): Promise<void> {
    try {
      const failure = await buffer.life.settled;
      if (failure === undefined) return;
      logFailedPrefault(this.deps.log, buffer, failure);
    } catch (err) {
      this.deps.log.error({ buffer: buffer.name, id: buffer.id, err }, 'prefault broke');
    }
    if (buffer.request.wait) this.#byId.delete(buffer.id);
    if (buffer.name !== undefined) this.#names.release(buffer.name, buffer);
  }
}
