import type { FailureOf, MemoryContext } from '../allocator/failure.js';
import { act, bytes, type Remedy, set } from './remedy.js';

/** Ways out of INSUFFICIENT_HOST_MEMORY: what fits now, then what would make room. */
export function memoryRemedies(failure: FailureOf<'InsufficientHostMemory'> & MemoryContext): Remedy[] {
  const { maxNumHostPages, shortfallBytes } = failure;
  const limitedBy = failure.hugepagesShort ? 'Hugepages' : failure.limitedBy;
  const room = makeRoom(limitedBy, shortfallBytes);
  if (maxNumHostPages <= 0) return room;
  const fits = set('numHostPages', maxNumHostPages, `Make the pool smaller: ${maxNumHostPages} pages fit now.`);
  return [fits, ...room];
}

/** Ways out of BUDGET_EXCEEDED: what fits now, then what would make room. */
export function budgetRemedies(failure: FailureOf<'BudgetExceeded'> & MemoryContext): Remedy[] {
  const { availableBytes, requestedBytes, limitedBy, pageBytes = 1 } = failure;
  const room = makeRoom(limitedBy, requestedBytes - availableBytes);
  const fitting = availableBytes - (availableBytes % pageBytes);
  if (fitting <= 0) return room;
  return [set('nbytes', fitting, `Make the buffer smaller: ${bytes(fitting)} fit now, in whole pages.`), ...room];
}

function makeRoom(limitedBy: FailureOf<'InsufficientHostMemory'>['limitedBy'], shortfallBytes: number): Remedy[] {
  const missing = bytes(shortfallBytes);
  switch (limitedBy) {
    case 'HostMemory':
      return [
        act(`Free ${missing}: destroy pools or buffers that are idle, or stop other processes on this host.`),
        act('Lower the reserve with setHostBudget(input: { reserveBytes: … }) when the host can spare it.'),
        set('memory.backing', 'ANONYMOUS_SHM_HUGETLB', 'Use idle hugepages, if host.hugepages shows enough usable.'),
      ];
    case 'Cgroup':
      return [
        act(`Raise the memory limit of this process's cgroup (or of the ancestor in host.cgroup) by ${missing}.`),
      ];
    case 'Hugepages':
      return [
        act(`Reserve more hugepages, ${missing} in all: sysctl -w vm.nr_hugepages=N for 2 MiB ones.`),
        set('memory.onHugepageShortage', 'FALL_BACK', 'Allow ordinary pages when hugepages are short.'),
        set('layout', 'PAGE_FIRST', 'One mapping instead of one for each layer rounds up to hugepages once only.'),
      ];
    case 'NumaNode':
      return [
        set('memory.numaNode', -1, 'Do not bind to a node: any node may serve.'),
        act(`Free ${missing} on that node, or bind to a node with more memFree in host.numaNodes.`),
      ];
    case 'BudgetCap':
      return [
        act(`Raise the cap by ${missing} with setHostBudget(input: { requestedBytes: … }), or destroy idle pools.`),
      ];
    case 'RankShare':
      return [act(`Free ${missing} of this rank's share, or make the budget larger: shares are fixed.`)];
    default:
      return limitedBy satisfies never;
  }
}
