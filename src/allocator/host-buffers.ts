import type { HostBuffer } from '../../native/index.js';
import { type Failure, isFailure, notFound, type Outcome } from './failure.js';
import type { HostBufferEntry, HostBufferFreed } from './host-buffer.js';
import { MemoryLife } from './lifecycle.js';
import { withMemoryContext } from './memory-context.js';
import { logFallBack } from './outcome-log.js';
import { unmapped } from './placement.js';
import { type Identity, type Listing, Registry } from './registry.js';
import { type AnswerFor, madeAndGone } from './repeats.js';
import type { ServiceDeps } from './service-deps.js';
import { bufferSpecification, type HostBufferRequest, identityOf } from './specification.js';

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
    const { idempotencyKey: key } = request;
    const doing = {
      operation: 'allocateHostBuffer',
      key,
      request: identityOf(request),
      first: (answerFor: AnswerFor) => this.#allocate(request, answerFor),
      resultOf: ({ id }: HostBufferEntry) => id,
      again: (id: string) => this.#again(id, request),
    };
    return this.deps.activity.track(() => this.deps.repeats.once(doing));
  }

  /** Unmaps a buffer. Freeing one that was freed before is no error, an id that was never given out is. */
  async free(id: string): Promise<Outcome<HostBufferFreed>> {
    const buffer = this.#registry.get(id);
    if (buffer === undefined) return this.#freedBefore(id);
    const isSecond = this.#registry.isLeaving(buffer);
    const releasedBytes = await this.#registry.remove(buffer);
    if (isFailure(releasedBytes)) return releasedBytes;
    if (isSecond) return this.#freedBefore(id);
    return { kind: 'HostBufferFreed', id, released: true, releasedBytes };
  }

  /** Unmaps every buffer; their specifications are kept. Resolves to the bytes released. */
  closeAll(): Promise<number> {
    return this.#registry.unmapAll();
  }

  /** Makes the buffers that were kept anew, as `Pools.restore` does; their bytes are gone. */
  async restore(): Promise<void> {
    for (const { request, kind: _, ...identity } of this.#registry.takeKept()) {
      await this.#restore(request as HostBufferRequest, identity);
    }
  }

  /** Stops every running prefault. */
  cancelRunning(): void {
    this.#registry.cancelRunning();
  }

  #freedBefore(id: string): Outcome<HostBufferFreed> {
    if (!this.#registry.hasIssued(id)) return notFound('host buffer', id);
    return { kind: 'HostBufferFreed', id, released: false, releasedBytes: 0 };
  }

  async #again(id: string, { wait }: HostBufferRequest): Promise<Outcome<HostBufferEntry>> {
    const buffer = this.#registry.get(id);
    if (buffer === undefined) return madeAndGone('host buffer', id);
    return wait ? this.#registry.settled(buffer) : buffer;
  }

  async #allocate(request: HostBufferRequest, answerFor: AnswerFor): Promise<Outcome<HostBufferEntry>> {
    const { name, wait } = request;
    const make = () => {
      const identity = this.#registry.newIdentity();
      return this.#map(request, identity, { keepFailed: !wait, answer: answerFor(identity.id) });
    };
    const specification = bufferSpecification(request);
    const buffer = await this.#registry.create({ name, ifExists: 'Error', specification, make });
    return wait ? this.#registry.settled(buffer) : buffer;
  }

  async #map(request: HostBufferRequest, identity: Identity, listing: Listing): Promise<Outcome<HostBufferEntry>> {
    const native = await this.deps.native.mapHostBuffer(request);
    if (isFailure(native)) return withMemoryContext(this.deps.native, native, request.memory);
    const life = new MemoryLife(native, request.memory.prefault);
    const { requestedBytes } = native;
    const { name } = request;
    logFallBack(this.deps.log, 'host buffer', name, native.placement());
    return this.#registry.addOne({ kind: 'HostBuffer', ...identity, name, request, requestedBytes, life }, listing);
  }

  #restore(request: HostBufferRequest, identity: Identity): Promise<void> {
    const { name, memory, nbytes: requestedBytes } = request;
    const make = () => this.#map(request, identity, { keepFailed: true, restored: true });
    const asFailed = (failure: Failure): HostBufferEntry => {
      const life = MemoryLife.failed<HostBuffer>(unmapped(memory), failure);
      return { kind: 'HostBuffer', ...identity, name, request, requestedBytes, life };
    };
    return this.#registry.restore({ name, specification: bufferSpecification(request), make }, asFailed);
  }
}
