import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The machine's target triple. Sanitizers want it named, so that build scripts are built without them. */
export const hostTriple = /^host: (.+)$/m.exec(spawnSync('rustc', ['-vV'], { encoding: 'utf8' }).stdout ?? '')?.[1];

/**
 * Cargo with what is not stable yet: the nightly one where it is installed, otherwise the stable one, told to take it
 * (RUSTC_BOOTSTRAP). Arguments to begin with, and variables.
 */
export function unstableCargo() {
  const env = { ...process.env, RUSTUP_AUTO_INSTALL: '0' };
  const nightly = spawnSync('cargo', ['+nightly', '--version'], { env }).status === 0;
  return nightly ? { args: ['+nightly'], env } : { args: [], env: { ...env, RUSTC_BOOTSTRAP: '1' } };
}

/** Why this compiler cannot build with those flags: the first line it says; undefined when it can. */
export function refusalOf(flags) {
  const folder = mkdtempSync(join(tmpdir(), 'hostpool-flags-'));
  const { args, env } = unstableCargo();
  const options = ['-', '--crate-name', 'probe', '--target', hostTriple, '-o', join(folder, 'probe')];
  const probe = spawnSync('rustc', [...args, ...flags.split(' '), ...options], {
    encoding: 'utf8',
    env,
    input: 'fn main() {}',
  });
  rmSync(folder, { recursive: true, force: true });
  return probe.status === 0 ? undefined : `this Rust cannot: ${probe.stderr?.split('\n')[0] ?? probe.error?.message}`;
}
