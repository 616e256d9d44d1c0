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

/** Tells operators of memory that is faulted in, and not where or not on the pages that were preferred. */
export function logLanding(
  log: ServiceLog,
  of: { name: string | undefined; id: string },
  placement: MemoryPlacement,
): void {
  const { mappedBytes, numaPolicy, numaNodes, bytesByNode, transparentHugepages, transparentHugepageBytes } = placement;
  const { name, id } = of;
  const elsewhere = (bytesByNode ?? []).filter(({ node }) => !numaNodes.includes(node));
  if (numaPolicy === 'Preferred' && elsewhere.length > 0)
    log.warn({ name, id, mappedBytes, numaNodes, bytesByNode }, 'the preferred node had too little: others served');
  if (transparentHugepages === 'Always' && transparentHugepageBytes === 0)
    log.warn({ name, id, mappedBytes }, 'transparent hugepages were wished for and none was had');
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
