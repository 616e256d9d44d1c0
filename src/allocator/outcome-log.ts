import type { MemoryPlacement } from '../../native/index.js';
import type { Failure } from './failure.js';
import type { ServiceLog } from './service-deps.js';

/** Tells operators of memory that did not get the backing it asked for. Says nothing when it did. */
export function logFallBack(log: ServiceLog, what: string, name: string | undefined, placement: MemoryPlacement): void {
  if (!placement.fellBack) return;
  const { requestedBacking, actualBacking, hugepageSize, mappedBytes, numaNode } = placement;
  const fields = { what, name, requestedBacking, actualBacking, hugepageSize, mappedBytes, numaNode };
  log.warn(fields, 'hugepages were short: fell back to ordinary pages');
}

/** Tells operators of memory that the kernel would not hand out. Says nothing of what was cancelled on purpose. */
export function logFailedPrefault(
  log: ServiceLog,
  of: { name: string | undefined; id: string },
  failure: Failure,
): void {
  if (failure.kind === 'HostBufferAllocationFailed' && failure.reason === 'Cancelled') return;
  log.warn({ name: of.name, id: of.id, failure }, 'prefault failed');
}
