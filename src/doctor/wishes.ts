import type { Failure } from '../allocator/failure.js';
import { pageBytes } from '../allocator/placement.js';
import { isHugetlb } from '../allocator/specification.js';
import { type Finding, info, ok, type Step } from './finding.js';
import { isLocked, type JudgedWish, type Look, nodesOf } from './look.js';
import { act, hugepages, memoryLimit, run } from './steps.js';
import { count, size } from './words.js';

/** Each wish by itself: met, met otherwise than wished, or what refuses it. `blocked` are those that another finding has. */
export function wishFindings(look: Look, blocked: ReadonlySet<string>): Finding[] {
  return look.wishes.flatMap((wish) => {
    const { failure } = wish;
    if (blocked.has(wish.name) && (failure === undefined || isOfProcess(failure))) return [];
    if (failure !== undefined) return [refused(look, wish, failure)];
    return [met(look, wish)];
  });
}

/** What this process's own rights and limits refuse has a finding that is about those. */
function isOfProcess(failure: Failure): boolean {
  if (failure.kind !== 'HostBufferAllocationFailed') return false;
  return ['MemlockLimit', 'NumaBindDenied', 'System'].includes(failure.reason);
}

function met({ facts }: Look, wish: JudgedWish): Finding {
  const { memory, backing, isHeld } = wish;
  const detail = `${described(wish)}: ${isHeld ? 'it is there' : 'it fits now'}.`;
  if (backing === undefined || isHugetlb(backing) === isHugetlb(memory.backing))
    return ok('WISHES', 'wish-met', `${capitalised(wish.name)} can be had`, detail);
  const short = facts.hugepages.some(({ size }) => size === pageBytes(memory));
  const why = short ? 'hugepages are short' : 'the kernel has no such hugepages';
  return info(
    'WISHES',
    'wish-fell-back',
    `${capitalised(wish.name)} is on ordinary pages`,
    `${detail} ${capitalised(why)}.`,
  );
}

/** What the wish is, in a few words. */
export function described({ bytes, memory }: Pick<JudgedWish, 'bytes' | 'memory'>): string {
  const kind = BACKINGS[memory.backing];
  const pages = isHugetlb(memory.backing) ? ` on pages of ${size(pageBytes(memory))}` : '';
  return `${size(bytes)} ${kind}${pages}${placed(memory)}${isLocked(memory) ? ', locked' : ''}`;
}

function placed(memory: JudgedWish['memory']): string {
  const nodes = nodesOf(memory);
  const on = nodes.length === 0 ? 'all nodes' : `node${nodes.length === 1 ? '' : 's'} ${nodes.join(', ')}`;
  if (memory.numaPolicy === 'Interleave') return ` interleaved over ${on}`;
  if (nodes.length === 0) return '';
  return memory.numaPolicy === 'Preferred' ? ` rather on ${on}` : ` on ${on}`;
}

const BACKINGS = {
  Anonymous: 'ANONYMOUS',
  AnonymousHugetlb: 'ANONYMOUS_HUGETLB',
  AnonymousShm: 'ANONYMOUS_SHM',
  AnonymousShmHugetlb: 'ANONYMOUS_SHM_HUGETLB',
} as const;

function refused(look: Look, wish: JudgedWish, failure: Failure): Finding {
  const reason = reasonOf(failure);
  const title = `${capitalised(wish.name)} ${TITLES[reason]}`;
  const detail = `${described(wish)}: ${whyRefused(look, failure)}`;
  const steps = stepsFor(look, wish, failure, reason);
  return { id: `wish-${reason}`, area: 'WISHES', severity: 'ERROR', title, detail, steps, wishes: [wish.name] };
}

/** The figures of the decision: the documented sentence, where that has them. */
function whyRefused({ host, budgets }: Look, failure: Failure): string {
  if (failure.kind !== 'HostBufferAllocationFailed') return failure.message;
  const { reason, hugepagesNeeded, hugepagesFree, onlineNumaNodes, mappedBytes } = failure;
  if (reason === 'NumaNodeOffline')
    return `memory can be bound to these nodes: ${onlineNumaNodes.join(', ') || 'none'}.`;
  if (reason === 'HugepageSizeUnsupported')
    return `the kernel has these sizes: ${host?.hugepages.map((pool) => size(pool.size)).join(', ') || 'none'}.`;
  if (hugepagesNeeded != null && hugepagesFree != null)
    return `it takes ${count(hugepagesNeeded, 'hugepage')}, and ${hugepagesFree} can be had.`;
  const left = budgets[0]?.availableBytes;
  if ((reason === 'HostMemoryExhausted' || reason === 'CgroupLimit') && left !== undefined)
    return `it takes ${size(mappedBytes)}; ${size(left)} can be promised in all.`;
  if (reason === 'NumaNodeExhausted') return `it takes ${size(mappedBytes)}, more than the node has free.`;
  return failure.message;
}

/** What refuses a wish, as the id of its finding ends. */
type Reason =
  | 'host-memory'
  | 'memory-limit'
  | 'hugepages'
  | 'hugepage-size'
  | 'node-memory'
  | 'node-absent'
  | 'numa-bind'
  | 'lock-memory'
  | 'budget'
  | 'prefault'
  | 'refused';

const TITLES: Record<Reason, string> = {
  'host-memory': 'needs more memory than can be promised',
  'memory-limit': 'needs more than the memory limit leaves',
  hugepages: 'needs more hugepages',
  'hugepage-size': 'wants a size of hugepages that the kernel does not have',
  'node-memory': 'needs more than its node has',
  'node-absent': 'wants a node that is not there',
  'numa-bind': 'cannot be bound to its node',
  'lock-memory': 'cannot be locked in memory',
  budget: 'needs more than its budget has',
  prefault: 'could not be faulted in',
  refused: 'cannot be made',
};

function reasonOf(failure: Failure): Reason {
  switch (failure.kind) {
    case 'InsufficientHostMemory':
    case 'BudgetExceeded':
      return byLimit(failure.limitedBy);
    case 'HostBufferAllocationFailed':
      return byFailure(failure.reason);
    case 'BudgetAdmissionClosed':
      return 'budget';
    default:
      return 'refused';
  }
}

type Limit = Extract<Failure, { kind: 'InsufficientHostMemory' }>['limitedBy'];

function byLimit(limit: Limit): Reason {
  switch (limit) {
    case 'HostMemory':
      return 'host-memory';
    case 'Cgroup':
      return 'memory-limit';
    case 'Hugepages':
      return 'hugepages';
    case 'NumaNode':
      return 'node-memory';
    case 'BudgetCap':
    case 'RankShare':
      return 'budget';
    default:
      return limit satisfies never;
  }
}

function byFailure(reason: Extract<Failure, { kind: 'HostBufferAllocationFailed' }>['reason']): Reason {
  switch (reason) {
    case 'HugepagesExhausted':
      return 'hugepages';
    case 'HugepageSizeUnsupported':
      return 'hugepage-size';
    case 'NumaNodeOffline':
      return 'node-absent';
    case 'NumaBindDenied':
      return 'numa-bind';
    case 'MemlockLimit':
      return 'lock-memory';
    case 'NumaNodeExhausted':
      return 'node-memory';
    case 'HostMemoryExhausted':
      return 'host-memory';
    case 'CgroupLimit':
      return 'memory-limit';
    case 'PrefaultFailed':
      return 'prefault';
    case 'SizeOverflow':
    case 'Cancelled':
    case 'System':
      return 'refused';
    default:
      return reason satisfies never;
  }
}

/** The exact commands, with the figures of this host filled in. */
function stepsFor(look: Look, wish: JudgedWish, failure: Failure, reason: Reason): Step[] {
  switch (reason) {
    case 'hugepages':
      return hugepageSteps(look, wish, failure);
    case 'node-memory':
      return isHugetlb(wish.memory.backing) ? hugepageSteps(look, wish, failure) : [nodeStep(look), anyNode()];
    case 'hugepage-size':
      return [
        run('The sizes there are', 'ls /sys/kernel/mm/hugepages'),
        act('Wish for one of them, or for ordinary pages.'),
      ];
    case 'node-absent':
      return [nodeStep(look), anyNode()];
    case 'host-memory':
      return [whoHoldsIt(), act('Or lower HOSTPOOL_RESERVE, or make it smaller.')];
    case 'memory-limit':
      return limitSteps(look, failure);
    case 'budget':
      return [act('Raise the budget with updateBudget, open it, or give back what is idle in it.')];
    case 'numa-bind':
      return [anyNode()];
    case 'lock-memory':
      return [act('See the finding lock-memory, or do not lock it, or use hugepages: they are never swapped out.')];
    case 'prefault':
      return [run('What the kernel says', 'sudo dmesg | tail -30'), act('Then destroy it and create it again.')];
    case 'refused':
      return [act('The sentence above says what is accepted.')];
    default:
      return reason satisfies never;
  }
}

function hugepageSteps({ host, container }: Look, { memory, bytes }: JudgedWish, failure: Failure): Step[] {
  const page = pageBytes(memory);
  const nodes = nodesOf(memory);
  const node = nodes.length === 1 && memory.numaPolicy !== 'Preferred' ? nodes[0] : undefined;
  const pools = node === undefined ? host?.hugepages : host?.numaNodes.find(({ id }) => id === node)?.hugepages;
  const total = pools?.find(({ size }) => size === page)?.total ?? 0;
  const wanted = total + Math.ceil(shortBytes(failure, bytes) / page);
  return [...hugepages(page, wanted, node, container), act('Or allow ordinary pages: onHugepageShortage: FALL_BACK.')];
}

function limitSteps({ host, container }: Look, failure: Failure): Step[] {
  if (host?.cgroup == null) return [whoHoldsIt()];
  return memoryLimit(host.cgroup, host.cgroup.limit + shortBytes(failure, 0), container);
}

/** Bytes that are missing. */
function shortBytes(failure: Failure, wished: number): number {
  switch (failure.kind) {
    case 'InsufficientHostMemory':
      return failure.shortfallBytes;
    case 'HostBufferAllocationFailed': {
      const { hugepagesNeeded, hugepagesFree, hugepageSize, mappedBytes } = failure;
      if (hugepagesNeeded == null || hugepageSize == null) return mappedBytes;
      return Math.max(1, hugepagesNeeded - (hugepagesFree ?? 0)) * hugepageSize;
    }
    default:
      return wished;
  }
}

function nodeStep({ host }: Look): Step {
  const nodes = host?.numaNodes.map(({ id, memFree }) => `node ${id} has ${size(memFree)} free`) ?? [];
  return act(`Bind to a node that has room: ${nodes.join(', ') || 'there is none'}.`);
}

function anyNode(): Step {
  return act('Or do not bind: memory.numaNode: -1.');
}

function whoHoldsIt(): Step {
  return run('Who holds the memory', 'ps -eo rss,pid,user,comm --sort=-rss | head -20');
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
