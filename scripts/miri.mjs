// Runs the tests that come to no system call in Miri, the interpreter that sees undefined behaviour, data races and leaks:
// npm run test:miri. Needs `rustup +nightly component add miri rust-src`. A test of these modules that maps memory, opens SQLite or
// talks to processes says so: #[cfg_attr(miri, ignore = "reason")].
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { cargoTest, close } from './cargo-test.mjs';

const PURE = [
  ...['budget::', 'errno::', 'error::', 'host::', 'node_set::', 'pool::', 'slots::', 'units::'],
  ...['memory::headroom', 'memory::numa', 'memory::policy', 'memory::quota'],
];

if (
  spawnSync('cargo', ['+nightly', 'miri', '--version'], { env: { ...process.env, RUSTUP_AUTO_INSTALL: '0' } })
    .status !== 0
) {
  console.log('SKIPPED: Miri is not installed (rustup +nightly component add miri rust-src)');
  process.exit(0);
}

// Isolated, a test could read neither clock nor /proc; each case of a random test takes a thousand times as long.
const miri = { MIRIFLAGS: '-Zmiri-disable-isolation', PROPTEST_CASES: '4' };
const target = join(process.env.CARGO_TARGET_DIR ?? 'target', 'miri');
const env = { ...process.env, ...miri, CARGO_TARGET_DIR: target };
const run = (what) => cargoTest('cargo', ['+nightly', 'miri', 'test', '--package', 'hostpool-allocator', ...what], env);

const pure = await run(['--lib', '--', '--show-output', ...PURE]);
const model = await run(['--test', 'slots_model', '--', '--show-output']);
close([pure, model]);
