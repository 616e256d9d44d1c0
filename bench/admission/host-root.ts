import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A host root of our own. */
export interface HostRoot {
  readonly path: string;
  /** From now on its files are those of this machine. */
  becomeThisHost(): void;
  remove(): void;
}

/** A root with one small file, so that a hundred thousand charges are made in seconds, until it becomes this host. */
export function smallHostRoot(): HostRoot {
  const path = mkdtempSync(join(tmpdir(), 'hostpool-bench-'));
  mkdirSync(join(path, 'proc'));
  writeFileSync(join(path, 'proc/meminfo'), `MemTotal: ${2 ** 40} kB\nMemAvailable: ${2 ** 40} kB\n`);
  return {
    path,
    becomeThisHost: () => {
      rmSync(join(path, 'proc'), { recursive: true });
      symlinkSync('/proc', join(path, 'proc'));
      symlinkSync('/sys', join(path, 'sys'));
    },
    remove: () => rmSync(path, { recursive: true }),
  };
}
