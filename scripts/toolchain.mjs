import { spawnSync } from 'node:child_process';

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
