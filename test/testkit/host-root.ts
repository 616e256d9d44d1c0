import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** A folder that looks like the root of a host. */
export interface FakeHost {
  readonly path: string;
  remove(): void;
}

/** Writes files, by their paths, below a new folder. */
export function fakeHost(files: Record<string, string>): FakeHost {
  const path = mkdtempSync(join(tmpdir(), 'hostpool-host-'));
  for (const [name, text] of Object.entries(files)) {
    const file = join(path, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** A host with one node, no hugepages, no cgroup, and this much memory available. */
export function plainHost(memAvailableBytes: number): FakeHost {
  const available = Math.floor(memAvailableBytes / 1024);
  const total = available * 2;
  return fakeHost({
    'proc/meminfo': `MemTotal: ${total} kB\nMemFree: ${available} kB\nMemAvailable: ${available} kB\n`,
    'sys/devices/system/node/online': '0\n',
    'sys/devices/system/node/node0/meminfo': `Node 0 MemTotal: ${total} kB\nNode 0 MemFree: ${available} kB\n`,
    'sys/devices/system/node/node0/cpulist': '0-1\n',
    'sys/devices/system/node/node0/distance': '10\n',
  });
}
