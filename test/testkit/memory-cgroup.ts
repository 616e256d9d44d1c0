import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A memory cgroup of the test's own. */
export interface MemoryCgroup {
  /** Its path as processes in it see it. */
  readonly path: string;
  /** Runs what comes after it inside. */
  readonly command: string[];
  /** How often the kernel has killed a process in it. */
  oomKills(): number;
  /** The most it has held, in bytes; NaN where the kernel does not tell. */
  peakBytes(): number;
}

/** Where a hierarchy is mounted, and what its files are called. */
interface Hierarchy {
  readonly mount: string;
  readonly limit: string;
  readonly events: string;
  readonly peak: string;
  /** Written before the limit where there is swap: memory that is swapped out would not be missed. */
  readonly noSwap: string;
}

const V1: Hierarchy = {
  mount: '/sys/fs/cgroup/memory',
  limit: 'memory.limit_in_bytes',
  events: 'memory.oom_control',
  peak: 'memory.max_usage_in_bytes',
  noSwap: 'memory.swappiness',
};
const V2: Hierarchy = {
  mount: '/sys/fs/cgroup',
  limit: 'memory.max',
  events: 'memory.events',
  peak: 'memory.peak',
  noSwap: 'memory.swap.max',
};

/**
 * Makes a cgroup with that limit, below this process's own or at the top of its hierarchy, v1 or v2. It goes with the test: every process
 * in it must have ended by then. Answers why there is none where none can be made.
 */
export function makeMemoryCgroup(limitBytes: number): MemoryCgroup | string {
  const problems: string[] = [];
  for (const [hierarchy, parent] of places()) {
    try {
      return makeBelow(hierarchy, parent, limitBytes);
    } catch (error) {
      problems.push((error as Error).message);
    }
  }
  return `no memory cgroup can be made here: ${problems.join('; ') || 'there is no hierarchy for memory'}`;
}

function places(): [Hierarchy, string][] {
  const groups = readFileSync('/proc/self/cgroup', 'utf8');
  const v1 = /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/m.exec(groups)?.[1];
  const v2 = /^0::(.*)$/m.exec(groups)?.[1];
  const candidates: [Hierarchy, string | undefined][] = [
    [V1, v1],
    [V1, v1 && '/'],
    [V2, v2],
    [V2, v2 && '/'],
  ];
  return candidates.filter(
    (place): place is [Hierarchy, string] => place[1] !== undefined && existsSync(place[0].mount),
  );
}

function makeBelow(hierarchy: Hierarchy, parent: string, limitBytes: number): MemoryCgroup {
  const path = join(parent, `hostpool-test-${process.pid}`);
  const folder = join(hierarchy.mount, path);
  if (hierarchy === V2) delegateMemory(join(V2.mount, parent));
  mkdirSync(folder);
  const file = (name: string) => join(folder, name);
  try {
    if (existsSync(file(hierarchy.noSwap))) writeFileSync(file(hierarchy.noSwap), '0');
    writeFileSync(file(hierarchy.limit), String(limitBytes));
  } catch (error) {
    rmdirSync(folder);
    throw error;
  }
  onTestFinished(() => rmdirSync(folder));
  return {
    path,
    command: ['sh', '-c', 'echo $$ > "$0" && exec "$@"', file('cgroup.procs')],
    oomKills: () => Number(/^oom_kill (\d+)$/m.exec(readFileSync(file(hierarchy.events), 'utf8'))?.[1]),
    peakBytes: () =>
      existsSync(file(hierarchy.peak)) ? Number(readFileSync(file(hierarchy.peak), 'utf8')) : Number.NaN,
  };
}

/** In v2 a group's children have the controllers that it gives them. */
function delegateMemory(parent: string): void {
  const control = join(parent, 'cgroup.subtree_control');
  if (!readFileSync(control, 'utf8').split(/\s/).includes('memory')) writeFileSync(control, '+memory');
}
