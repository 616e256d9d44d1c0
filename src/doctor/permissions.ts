import { type Finding, info, ok, problem, type Step } from './finding.js';
import { isLocked, isPlaced, type Look, namesOf } from './look.js';
import { act, capability, processLimit } from './steps.js';
import { limit, size } from './words.js';

/** What this process is allowed to do. */
export function permissionFindings(look: Look): Finding[] {
  return [bind(look), placement(look), lock(look)];
}

function bind({ facts, wishes, container, host }: Look): Finding {
  const { bind } = facts.refused;
  if (bind == null) return ok('PERMISSIONS', 'numa-bind', 'Memory can be bound to a node', 'mbind works.');
  if (bind === 'ENOSYS') {
    const detail = 'mbind is not there (ENOSYS): this kernel was built without NUMA.';
    const wanting = namesOf(wishes, ({ memory }) => isPlaced(memory));
    if (wanting.length === 0) return info('PERMISSIONS', 'numa-bind', 'No memory can be bound to a node', detail);
    return problem('PERMISSIONS', 'numa-bind', 'No memory can be bound to a node', detail, [act(ANY_NODE)], wanting);
  }
  const nodes =
    host === undefined || host.numaNodes.length > 1 ? '' : ' This host has one node: nothing is lost but the bind.';
  return problem(
    'PERMISSIONS',
    'numa-bind',
    'Binds to a NUMA node are refused',
    `mbind is refused with ${bind}${filtered(facts)}: memory that names nodes, or interleaves, fails with NUMA_BIND_DENIED.${nodes}`,
    [...capability('SYS_NICE', container), act(ANY_NODE)],
    namesOf(wishes, ({ memory }) => isPlaced(memory)),
  );
}

const ANY_NODE = 'Or wish for memory from any node: numaNode: -1.';

function placement({ facts, container }: Look): Finding {
  const { placement } = facts.refused;
  if (placement == null) {
    const detail = 'get_mempolicy works: bytesByNode is told.';
    return ok('PERMISSIONS', 'numa-placement', 'The kernel tells where memory lies', detail);
  }
  return problem(
    'PERMISSIONS',
    'numa-placement',
    'The kernel does not tell where memory lies',
    `get_mempolicy is refused with ${placement}${filtered(facts)}: bytesByNode is null.`,
    capability('SYS_NICE', container),
  );
}

function lock(look: Look): Finding {
  const { facts, wishes } = look;
  const { soft } = facts.process.lockedMemory;
  const { lock, lockBeyondLimit } = facts.refused;
  const isUnbound = lock == null && lockBeyondLimit == null;
  if (isUnbound) {
    const why = soft == null ? 'RLIMIT_MEMLOCK is unlimited' : 'CAP_IPC_LOCK is in effect';
    return ok('PERMISSIONS', 'lock-memory', 'Any amount of memory can be locked', `${why}.`);
  }
  const most = lock == null ? Math.max(0, (soft ?? 0) - (facts.process.lockedBytes ?? 0)) : 0;
  const locking = wishes.filter(({ memory, isHeld }) => isLocked(memory) && !isHeld);
  const wanted = locking.reduce((sum, { bytes }) => sum + bytes, 0);
  const title = most === 0 ? 'No memory can be locked' : `At most ${size(most)} of memory can be locked`;
  const told = `RLIMIT_MEMLOCK is ${limit(soft, size)}, and CAP_IPC_LOCK is not in effect`;
  if (wanted <= most) return info('PERMISSIONS', 'lock-memory', title, `${told}.`, lockSteps(look, 2 ** 40));
  const detail = `${told}; ${size(wanted)} are to be locked.`;
  const names = locking.map(({ name }) => name);
  return problem('PERMISSIONS', 'lock-memory', title, detail, lockSteps(look, wanted), names);
}

/** A container gives a capability to root alone: other users have it in their bounding set, where it has no effect. */
function lockSteps({ facts, container }: Look, bytes: number): Step[] {
  const limits = processLimit('LimitMEMLOCK', bytes, container);
  const isOthers = container !== undefined && facts.process.effectiveUid !== 0;
  return isOthers ? limits : [...capability('IPC_LOCK', container), ...limits];
}

function filtered({ process }: Look['facts']): string {
  return process.filtered && !process.mayNice ? ' by the seccomp filter, which wants CAP_SYS_NICE' : '';
}
