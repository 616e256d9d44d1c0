import { type Finding, info, ok, problem } from './finding.js';
import { type Look, namesOf, nodesOf } from './look.js';
import { act, allowNodes, sysctl } from './steps.js';
import { size } from './words.js';

/** NUMA nodes, and which of them this process may use. */
export function numaFindings(look: Look): Finding[] {
  const { host } = look;
  if (host === undefined) return [];
  const [first, second] = host.numaNodes;
  if (first === undefined) return [ok('NUMA', 'numa-nodes', 'No NUMA nodes', 'The kernel lists none.')];
  const title = second === undefined ? 'One NUMA node' : `${host.numaNodes.length} NUMA nodes`;
  const told = host.numaNodes.map(
    ({ id, memFree, memTotal, cpus }) =>
      `node ${id}: ${size(memFree)} of ${size(memTotal)} free, ${cpus === '' ? 'no CPUs' : `CPUs ${cpus}`}`,
  );
  return [ok('NUMA', 'numa-nodes', title, `${told.join('; ')}.`), ...allowed(look, host), ...balancing(look, host)];
}

type Host = NonNullable<Look['host']>;

/** The kernel refuses a bind to a node outside cpuset.mems with EINVAL (set_mempolicy(2)). */
function allowed({ facts, wishes, container }: Look, { numaNodes }: Host): Finding[] {
  const { nodeIdsAllowed: ids, nodesAllowed, cpusAllowed } = facts.process;
  if (ids == null) return [];
  const detail = `Memory may come from ${nodes(nodesAllowed)}, and threads run on CPUs ${cpusAllowed ?? 'unknown'}`;
  const missing = numaNodes.filter(({ id, memTotal }) => memTotal > 0 && !ids.includes(id)).map(({ id }) => id);
  if (missing.length === 0) return [ok('NUMA', 'numa-allowed', 'Every node may be used', `${detail}.`)];
  const all = numaNodes.map(({ id }) => id).join(',');
  const without = `${detail}; not from ${nodes(missing.join(','))}`;
  const wanting = namesOf(wishes, ({ memory }) => nodesOf(memory).some((node) => missing.includes(node)));
  const steps = allowNodes(all, container);
  return [problem('NUMA', 'numa-allowed', 'The cpuset leaves nodes out', `${without}.`, steps, wanting)];
}

function balancing({ facts }: Look, { numaNodes }: Host): Finding[] {
  if (numaNodes.length < 2 || !facts.settings.numaBalancing) return [];
  const detail = 'kernel.numa_balancing is on: pages that are bound to no node may be moved, at the cost of faults.';
  const steps = [...sysctl('kernel.numa_balancing', 0), act('Or bind pools with memory.numaNode.')];
  return [info('NUMA', 'numa-balancing', 'The kernel moves pages between nodes', detail, steps)];
}

function nodes(list: string | undefined | null): string {
  return `node${/[,-]/.test(list ?? '') ? 's' : ''} ${list ?? 'unknown'}`;
}
