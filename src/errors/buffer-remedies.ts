import type { FailureOf, MemoryContext } from '../allocator/failure.js';
import { act, bytes, type Remedy, set, sysfsSize } from './remedy.js';

type Failed = FailureOf<'HostBufferAllocationFailed'> & MemoryContext;

/** Ways out of HOST_BUFFER_ALLOCATION_FAILED, by its reason. */
export function bufferRemedies(failure: Failed): Remedy[] {
  switch (failure.reason) {
    case 'HugepagesExhausted':
      return hugepageRemedies(failure);
    case 'HugepageSizeUnsupported':
      return [
        act('Ask for one of the sizes in host { hugepages { size } }.'),
        set('memory.backing', ordinary(failure), 'Use ordinary pages.'),
      ];
    case 'NumaNodeOffline':
      return nodeRemedies(failure);
    case 'NumaBindDenied':
      return [
        unbound(failure),
        act('Give the container SYS_NICE (docker: --cap-add SYS_NICE): the default seccomp profile refuses mbind.'),
      ];
    case 'NumaNodeExhausted':
      if (failure.hugepagesShort) return hugepageRemedies(failure);
      return [
        unbound(failure),
        act(`Free memory on ${nodesOf(failure)}, or bind to a node with more memFree in host.numaNodes.`),
      ];
    case 'MemlockLimit':
      return [
        act(
          `Let this process lock ${bytes(failure.mappedBytes)} more: LimitMEMLOCK= in its unit, ulimit -l, or CAP_IPC_LOCK (docker: --cap-add IPC_LOCK).`,
        ),
        set('memory.lockMemory', 'false', 'Do not lock it.'),
        set('memory.backing', 'ANONYMOUS_SHM_HUGETLB', 'Use hugepages: they are never swapped out.'),
      ];
    case 'HostMemoryExhausted':
      return [
        act(`Free memory on this host: ${bytes(failure.mappedBytes)} are needed. budget shows who may have what.`),
      ];
    case 'CgroupLimit':
      return [act(`Raise the memory limit of this process's cgroup: ${bytes(failure.mappedBytes)} are needed.`)];
    case 'PrefaultFailed':
      return [
        act('Try again; if it fails again, look at dmesg for hugepage, cgroup or memory errors.'),
        set('memory.prefault', 'false', 'Do not fault in now: pages then come at their first use, and may fail there.'),
      ];
    case 'SizeOverflow':
      return [act(`Ask for less: ${failure.nbytes} bytes rounded up do not fit a mapping.`)];
    case 'Cancelled':
      return [act('Create it again: it was destroyed, or the server shut down, before it was ready.')];
    case 'System':
      return [act(`Look up ${failure.errnoName ?? 'the error'} for mmap and memfd_create; check ulimit -v and -l.`)];
    default:
      return failure.reason satisfies never;
  }
}

function hugepageRemedies(failure: Failed): Remedy[] {
  const size = failure.hugepageSize ?? 2 ** 21;
  const short = Math.max(1, (failure.hugepagesNeeded ?? 1) - (failure.hugepagesFree ?? 0));
  const add = size === 2 ** 21 ? 'vm.nr_hugepages' : `the file nr_hugepages of hugepages-${sysfsSize(size)}`;
  const needed = `${failure.hugepagesNeeded ?? 'some'} needed, ${failure.hugepagesFree ?? 0} usable`;
  return [
    act(`Reserve ${short} more hugepages (${needed}): ${reserveCommand(size, short)}, then read ${add} back.`),
    set('memory.onHugepageShortage', 'FALL_BACK', 'Allow ordinary pages when hugepages are short.'),
    set('memory.backing', ordinary(failure), 'Ask for ordinary pages.'),
  ];
}

function reserveCommand(size: number, short: number): string {
  if (size === 2 ** 21) return `sysctl -w vm.nr_hugepages=$(( $(sysctl -n vm.nr_hugepages) + ${short} ))`;
  const file = `/sys/kernel/mm/hugepages/hugepages-${sysfsSize(size)}/nr_hugepages`;
  return `echo $(( $(cat ${file}) + ${short} )) > ${file}`;
}

function nodeRemedies(failure: Failed): Remedy[] {
  const { numaNode, numaNodes, onlineNumaNodes } = failure;
  if (isOfSeveral(failure)) {
    const online = numaNodes.filter((node) => onlineNumaNodes.includes(node));
    const rest = set('memory.numaNodes', `[${online.join(', ')}]`, 'Name those of them that are online.');
    return online.length === 0 ? [unbound(failure)] : [rest, unbound(failure)];
  }
  const nodes = onlineNumaNodes.map((node) =>
    set('memory.numaNode', node, `Bind to node ${node}, which is online; node ${numaNode} is not.`),
  );
  return [...nodes, unbound(failure)];
}

function unbound(failure: Failed): Remedy {
  const summary = 'Do not bind to a node: any node may serve.';
  return isOfSeveral(failure) ? set('memory.numaNodes', 'null', summary) : set('memory.numaNode', -1, summary);
}

function isOfSeveral({ numaNode, numaNodes }: Failed): boolean {
  return numaNode === -1 && numaNodes.length > 0;
}

function nodesOf(failure: Failed): string {
  return isOfSeveral(failure) ? `nodes ${failure.numaNodes.join(', ')}` : `node ${failure.numaNode}`;
}

function ordinary({ requestedBacking }: Failed): string {
  return requestedBacking === 'AnonymousHugetlb' || requestedBacking === 'Anonymous' ? 'ANONYMOUS' : 'ANONYMOUS_SHM';
}
