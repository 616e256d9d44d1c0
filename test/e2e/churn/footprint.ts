import { readdirSync, readFileSync } from 'node:fs';
import { descriptors, processState } from '../../testkit/process-state.js';
import type { TestServer } from '../../testkit/server.js';

/** What a server holds, of everything that could be left behind. */
export interface Footprint {
  readonly sharedMappedBytes: number;
  readonly memfds: number;
  readonly descriptors: number;
  /** By name; without those of the addon's own pool, which end by themselves once they are idle. */
  readonly threads: string;
  readonly lockedBytes: number;
  readonly chargedBytes: number;
  readonly pools: number;
  readonly buffers: number;
  readonly reservations: number;
  readonly hugepages: string;
}

const POOL = '/sys/kernel/mm/hugepages/hugepages-2048kB';

/** Looks at the process, at its budget and at the machine's hugepages. */
export async function footprint(server: TestServer): Promise<Footprint> {
  const { reservations } = await server.data('{ reservations { id } }');
  const state = await processState(server);
  const [free, reserved] = ['free_hugepages', 'resv_hugepages'].map((file) => readFileSync(`${POOL}/${file}`, 'utf8'));
  const locked = /^VmLck:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1];
  return {
    ...state,
    descriptors: descriptors(server.pid).length,
    threads: threads(server.pid),
    lockedBytes: Number(locked) * 1024,
    reservations: reservations.length,
    hugepages: `${free?.trim()} free, ${reserved?.trim()} reserved`,
  };
}

function threads(pid: number): string {
  const names = readdirSync(`/proc/${pid}/task`).flatMap((task) => {
    try {
      return [readFileSync(`/proc/${pid}/task/${task}/comm`, 'utf8').trim()];
    } catch {
      return []; // ended between the two looks
    }
  });
  return names
    .filter((name) => !name.startsWith('tokio'))
    .sort()
    .join(' ');
}

/** Anonymous memory of the process, in bytes: what is left of private pools would show here. */
export function anonymousBytes(server: TestServer): number {
  const status = readFileSync(`/proc/${server.pid}/status`, 'utf8');
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}
