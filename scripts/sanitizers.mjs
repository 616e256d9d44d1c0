// Runs the crate's tests under AddressSanitizer (with LeakSanitizer), then those that share memory between threads under
// ThreadSanitizer: npm run test:sanitizers [-- address|thread].
import { resolve } from 'node:path';
import { cargoTest, close } from './cargo-test.mjs';
import { hostTriple, refusalOf, unstableCargo } from './toolchain.mjs';

// They look at every mapping of their process, and a sanitizer maps memory whenever it likes.
const COUNTING_MAPPINGS = ['failure_tests', 'leftovers', 'looking_leaves_no_mapping'];
// They fill a cgroup, or gigabytes: ThreadSanitizer keeps several bytes for each that is mapped.
const LARGE = ['cgroup::', 'a_2_gib_pool'];

// The others have one thread.
const THREADED = ['budget_events', 'memory'];

const SANITIZERS = {
  address: {
    flags: '-Zsanitizer=address',
    targets: ['--lib', '--tests'],
    skip: COUNTING_MAPPINGS,
    threads: [],
  },
  thread: {
    // std, which is compiled already, is meant to be mixed with it: see thread-sanitizer.supp.
    flags: '-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer --cfg tsan',
    targets: ['--lib', ...THREADED.flatMap((test) => ['--test', test])],
    skip: [...COUNTING_MAPPINGS, ...LARGE],
    // libtest's own threads tell each other of tests through std's locks.
    threads: ['--test-threads=1'],
  },
};

const wanted = process.argv.slice(2);
const suites = [];
for (const [name, sanitizer] of Object.entries(SANITIZERS)) {
  if (wanted.length === 0 || wanted.includes(name)) suites.push(await run(name, sanitizer));
}
close(suites);

function run(name, { flags, targets, skip, threads }) {
  console.error(`\n> ${name} sanitizer`);
  const refusal = refusalOf(flags);
  if (refusal !== undefined) return { passed: 0, failed: 0, skipped: 1, reasons: [`${name}: ${refusal}`], ok: true };
  const { args, env } = unstableCargo();
  const build = ['test', '--no-fail-fast', '--package', 'hostpool-allocator', '--target', hostTriple, ...targets];
  const tests = ['--', '--show-output', ...threads, ...skip.flatMap((test) => ['--skip', test])];
  return cargoTest('cargo', [...args, ...build, ...tests], {
    ...env,
    RUSTFLAGS: flags,
    // Other flags make cargo build everything anew.
    CARGO_TARGET_DIR: resolve(process.env.CARGO_TARGET_DIR ?? 'target', `${name}-sanitizer`),
    TSAN_OPTIONS: `suppressions=${resolve('scripts/thread-sanitizer.supp')}`,
  });
}
