// Runs cargo (`test`, or `clippy`) over the models of shared locks: crate::sync takes loom's locks then, and each model tries
// every order of its threads' steps in which they are interrupted LOOM_MAX_PREEMPTIONS times at most. 2 take seconds, 3 a
// minute. Further arguments follow cargo's own, e.g. a model's name.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const models = ['--package', 'hostpool-allocator', '--lib'];
const commands = {
  test: ['test', ...models, '--', 'loom_tests'],
  clippy: ['clippy', ...models, '--profile', 'test', '--', '-D', 'warnings'],
};

const [command = 'test', ...rest] = process.argv.slice(2);
const flags = [process.env.RUSTFLAGS, '--cfg loom'].filter(Boolean).join(' ');
// A folder of its own: other flags make cargo build everything anew.
const target = join(process.env.CARGO_TARGET_DIR ?? 'target', 'loom');
const env = { LOOM_MAX_PREEMPTIONS: '2', ...process.env, RUSTFLAGS: flags, CARGO_TARGET_DIR: target };
const { status } = spawnSync('cargo', [...commands[command], ...rest], { stdio: 'inherit', env });
process.exit(status ?? 1);
