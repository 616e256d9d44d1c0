import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** A folder that looks like the root of a host. */
export interface FakeHost {
  readonly path: string;
  /** Changes a file. */
  set(name: string, text: string): void;
  remove(): void;
}

/** Writes files, by their paths, below a new folder. */
export function fakeHost(files: Record<string, string>): FakeHost {
  const path = mkdtempSync(join(tmpdir(), 'hostpool-host-'));
  const set = (name: string, text: string) => {
    const file = join(path, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  };
  for (const [name, text] of Object.entries(files)) set(name, text);
  return { path, set, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** A host with one node, no hugepages, no cgroup, and this much memory available; `more` adds files. */
export function plainHost(memAvailableBytes: number, more: Record<string, string> = {}): FakeHost {
  const available = Math.floor(memAvailableBytes / 1024);
  const total = available * 2;
  return fakeHost({
    'proc/meminfo': `MemTotal: ${total} kB\nMemFree: ${available} kB\nMemAvailable: ${available} kB\n`,
    'sys/devices/system/node/online': '0\n',
    'sys/devices/system/node/node0/meminfo': `Node 0 MemTotal: ${total} kB\nNode 0 MemFree: ${available} kB\n`,
    'sys/devices/system/node/node0/cpulist': '0-1\n',
    'sys/devices/system/node/node0/distance': '10\n',
    ...more,
  });
}

/** The files of a pool of 2 MiB hugepages: below /sys/kernel/mm, or below a node. */
export function hugepageFiles(folder: string, total: number, free: number): Record<string, string> {
  const below = `${folder}/hugepages/hugepages-2048kB`;
  return {
    [`${below}/nr_hugepages`]: `${total}\n`,
    [`${below}/free_hugepages`]: `${free}\n`,
    [`${below}/resv_hugepages`]: '0\n',
    [`${below}/surplus_hugepages`]: '0\n',
  };
}
