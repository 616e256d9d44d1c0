import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { CREATE_BUDGET } from './graphql.js';
import type { TestServer } from './server.js';

/** A file system of its own, of a few hundred kilobytes. */
export interface SmallDisk {
  readonly path: string;
  /** Leaves not a byte free. */
  fill(): void;
  /** Takes away what `fill` left. */
  free(): void;
  /** Makes it read-only, or writable again. */
  remount(mode: 'ro' | 'rw'): void;
  unmount(): void;
}

const BYTES = 512 * 1024;
/** Less than any write: what is left over when a larger one no longer fits. */
const CRUMB = 512;

/** Mounts one; or why that cannot be done here. */
export function smallDisk(): SmallDisk | { readonly skipped: string } {
  const path = mkdtempSync(join(tmpdir(), 'hostpool-disk-'));
  const mounted = mount('-t', 'tmpfs', '-o', `size=${BYTES},mode=700`, 'hostpool-test', path);
  if (mounted !== undefined) {
    rmdirSync(path);
    return { skipped: `no file system can be mounted: ${mounted}` };
  }
  const filler = join(path, 'filler');
  return {
    path,
    fill: () => fillUp(filler),
    free: () => rmSync(filler, { force: true }),
    remount: (mode) => {
      const failed = mount('-o', `remount,${mode}`, path);
      if (failed !== undefined) throw new Error(failed);
    },
    unmount: () => {
      spawnSync('umount', ['--lazy', path]);
      rmdirSync(path);
    },
  };
}

function mount(...args: string[]): string | undefined {
  const { status, stderr, error } = spawnSync('mount', args, { encoding: 'utf8' });
  return status === 0 ? undefined : (error?.message ?? stderr.trim());
}

function fillUp(file: string): void {
  for (;;) {
    try {
      writeFileSync(file, Buffer.alloc(CRUMB), { flag: 'a' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return;
      throw error;
    }
  }
}

/** Changes what a server keeps on a full disk until it cannot: its log may have a block or two left. */
export async function useUpLog(server: TestServer): Promise<void> {
  for (let n = 0; ; n += 1) {
    const { createBudget } = await server.data(CREATE_BUDGET, { input: { name: `fills-${n}` } });
    if (createBudget.__typename === 'StateNotSaved') return;
  }
}
