// Fuzzes: npm run fuzz -- [target] [seconds]; without a target all of them, which share the seconds (60). Builds the targets of
// crates/allocator/fuzz as cargo-fuzz does, with coverage and AddressSanitizer. An input that fails is left in
// crates/allocator/fuzz/artifacts: make a test of it. Inputs that led further are kept in crates/allocator/fuzz/corpus.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { hostTriple, unstableCargo } from './toolchain.mjs';

const folder = resolve('crates/allocator/fuzz');
const built = resolve(process.env.CARGO_TARGET_DIR ?? 'target', 'fuzz');
const known = readdirSync(join(folder, 'fuzz_targets')).map((file) => file.replace(/\.rs$/, ''));
const isNumber = (argument) => /^\d+$/.test(argument);
const targets = process.argv.slice(2).filter((argument) => !isNumber(argument));
const seconds = Number(process.argv.slice(2).find(isNumber) ?? 60);
const unknown = targets.find((target) => !known.includes(target));
if (unknown !== undefined) {
  console.error(`no target ${unknown}; there are ${known.join(', ')}`);
  process.exit(2);
}

const wanted = targets.length > 0 ? targets : known;
const passed = build() ? wanted.filter(fuzz).length : 0;
console.log(`${passed} passed, ${wanted.length - passed} failed`);
process.exit(passed === wanted.length ? 0 : 1);

function build() {
  const coverage = [
    '-Cpasses=sancov-module',
    ...['level=4', 'inline-8bit-counters', 'pc-table', 'trace-compares', 'stack-depth'].map(
      (option) => `-Cllvm-args=-sanitizer-coverage-${option}`,
    ),
    '-Cllvm-args=-simplifycfg-branch-fold-threshold=0',
    '-Ccodegen-units=1',
  ];
  const flags = ['--cfg fuzzing', '-Zsanitizer=address', '-Cdebug-assertions', ...coverage].join(' ');
  const { args, env } = unstableCargo();
  const command = [...args, 'build', '--release', '--target', hostTriple, '--manifest-path', `${folder}/Cargo.toml`];
  const options = { stdio: 'inherit', env: { ...env, RUSTFLAGS: flags, CARGO_TARGET_DIR: built } };
  return spawnSync('cargo', command, options).status === 0;
}

/** Runs a target for its part of the time, beginning with what was found before and with its seeds. */
function fuzz(target) {
  const corpus = join(folder, 'corpus', target);
  const artifacts = join(folder, 'artifacts', target);
  for (const path of [corpus, artifacts]) mkdirSync(path, { recursive: true });
  const seeds = [join(folder, 'seeds', target)].filter(existsSync);
  const part = Math.ceil(seconds / wanted.length);
  console.error(`\n> ${target} for ${part} seconds`);
  const options = [
    `-max_total_time=${part}`,
    `-artifact_prefix=${artifacts}/`,
    '-timeout=10',
    '-verbosity=0',
    '-print_funcs=0',
  ];
  const program = join(built, hostTriple, 'release', target);
  return spawnSync(program, [...options, '-print_final_stats=1', corpus, ...seeds], { stdio: 'inherit' }).status === 0;
}
