import { isFailure, notFound, type Outcome } from './failure.js';
import type { HostBufferEntry, HostBufferFreed } from './host-buffer.js';
import { MemoryLife } from './lifecycle.js';
import { withMemoryContext } from './memory-context.js';
import { logFallBack } from './outcome-log.js';
import { Registry, settledOf } from './registry.js';
import type { ServiceDeps } from './service-deps.js';
import { bufferSpecification, type HostBufferRequest } from './specification.js';

/** The host buffers of this process. */
export class HostBuffers {
  readonly #registry: Registry<HostBufferEntry>;

  constructor(private readonly deps: ServiceDeps) {
    this.#registry = new Registry('host buffer', 'buf', deps);
  }

  /** The buffer with that id. */
  get(id: string): HostBufferEntry | undefined {
    return this.#registry.get(id);
  }

  /** Every buffer, oldest first, failed ones included. */
  list(): HostBufferEntry[] {
    return this.#registry.list();
  }

  /** Charges, maps and faults in; waits and fails as `Pools.createPaged` does. */
  allocate(request: HostBufferRequest): Promise<Outcome<HostBufferEntry>> {
    return this.deps.activity.track(() => this.#allocate(request));
  }

  /** Unmaps a buffer. Freeing one that was freed before is no error, an id that was never given out is. */
  async free(id: string): Promise<Outcome<HostBufferFreed>> {
    const buffer = this.#registry.get(id);
    if (buffer === undefined || buffer.life.state === 'Destroying') return this.#freedBefore(id);
    const releasedBytes = await this.#registry.remove(buffer);
    return { kind: 'HostBufferFreed', id, released: true, releasedBytes };
  }

  /** Unmaps every buffer. Resolves to the bytes released. */
  closeAll(): Promise<number> {
    return this.#registry.removeAll();
  }

  /** Stops every running prefault. */
  cancelRunning(): void {
    this.#registry.cancelRunning();
  }

  #freedBefore(id: string): Outcome<HostBufferFreed> {
    if (!this.#registry.hasIssued(id)) return notFound('host buffer', id);
    return { kind: 'HostBufferFreed', id, released: false, releasedBytes: 0 };
  }

  async #allocate(request: HostBufferRequest): Promise<Outcome<HostBufferEntry>> {
    const { name, wait } = request;
    const specification = bufferSpecification(request);
    const make = () => this.#map(request);
    const buffer = await this.#registry.create({ name, ifExists: 'Error', specification, make });
    return wait ? settledOf(buffer) : buffer;
  }

  async #map(request: HostBufferRequest): Promise<Outcome<HostBufferEntry>> {
    const native = await this.deps.native.mapHostBuffer(request);
    if (isFailure(native)) return withMemoryContext(this.deps.native, native, request.memory);
    const life = new MemoryLife(native, request.memory.prefault);
    const { requestedBytes } = native;
    logFallBack(this.deps.log, 'host buffer', request.name, native.placement());
    const entry = { ...this.#registry.newEntry(request.name), request, requestedBytes, life };
    return this.#registry.add({ kind: 'HostBuffer', ...entry }, !request.wait);
  }
}
