import { HOST_BUDGET } from '../allocator/budgets.js';
import type { FailureOf, MemoryContext } from '../allocator/failure.js';
import { act, bytes, type Remedy, set } from './remedy.js';

/** Ways out of INSUFFICIENT_HOST_MEMORY: what fits now, then what would make room. */
export function memoryRemedies(failure: FailureOf<'InsufficientHostMemory'> & MemoryContext): Remedy[] {
  const { maxNumHostPages, shortfallBytes, sizeField } = failure;
  const limitedBy = failure.hugepagesShort ? 'Hugepages' : failure.limitedBy;
  const room = makeRoom({ ...failure, limitedBy }, shortfallBytes);
  if (maxNumHostPages <= 0) return room;
  const [what, pages] = sizeField === undefined ? ['pool', 'pages'] : ['group', 'anchor pages'];
  const summary = `Make the ${what} smaller: ${maxNumHostPages} ${pages} fit now.`;
  return [set(sizeField ?? 'numHostPages', maxNumHostPages, summary), ...room];
}

/** Ways out of BUDGET_EXCEEDED: what fits now, then what would make room. */
export function budgetRemedies(failure: FailureOf<'BudgetExceeded'> & MemoryContext): Remedy[] {
  const { availableBytes, requestedBytes, field, pageBytes = 1 } = failure;
  const room = makeRoom(failure, requestedBytes - availableBytes);
  const fitting = availableBytes - (availableBytes % pageBytes);
  if (fitting <= 0) return room;
  return [set(field, fitting, `Ask for less: ${bytes(fitting)} fit now.`), ...room];
}

type Short = (FailureOf<'InsufficientHostMemory'> | FailureOf<'BudgetExceeded'>) & MemoryContext;

function makeRoom({ limitedBy, budget, rank, sizeField }: Short, shortfallBytes: number): Remedy[] {
  const missing = bytes(shortfallBytes);
  switch (limitedBy) {
    case 'HostMemory':
      return [
        act(`Free ${missing}: give back idle pools, buffers or reservations, or stop other processes on this host.`),
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
        sizeField === undefined
          ? set('layout', 'PAGE_FIRST', `${ONE_MAPPING}.`)
          : act(`${ONE_MAPPING}: ${PAGE_FIRST}.`),
      ];
    case 'NumaNode':
      return [
        set('memory.numaNode', -1, 'Do not bind to a node: any node may serve.'),
        act(`Free ${missing} on that node, or bind to a node with more memFree in host.numaNodes.`),
      ];
    case 'BudgetCap':
      return [
        act(`Raise the cap by ${missing} with ${raiseCap(budget)}, or give back what is idle in it.`),
        ...hostCapToo(budget),
      ];
    case 'RankShare':
      return [
        act(`Free ${missing} of the share of rank ${rank ?? 0}, or charge another rank of ${JSON.stringify(budget)}.`),
        act(`Make the budget larger with ${raiseCap(budget)}: each rank has an even part of it.`),
      ];
    default:
      return limitedBy satisfies never;
  }
}

const ONE_MAPPING = 'One mapping instead of one for each layer rounds up to hugepages once only';
const PAGE_FIRST = 'give the pools of the group the layout PAGE_FIRST';

function raiseCap(budget: string): string {
  if (budget === HOST_BUDGET) return 'setHostBudget(input: { requestedBytes: … })';
  return `updateBudget(input: { name: ${JSON.stringify(budget)}, requestedBytes: … })`;
}

/** A named budget is held to the cap of `host` as well. */
function hostCapToo(budget: string): Remedy[] {
  if (budget === HOST_BUDGET) return [];
  return [act('Look at the budget host too: its cap bounds what all budgets hold together.')];
}
