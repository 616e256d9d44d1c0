// Makes a fresh clone runnable: installs what package-lock.json lists, builds the native addon, compiles the server.
// Plain Node without dependencies, since it runs before anything is installed. Each step is skipped when its inputs are
// what they were before it last succeeded and what it makes is there. One run at a time: others wait for it. Arguments name
// the steps to take (packages, addon, server); without any it takes all of them.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
process.chdir(root);
const wanted = process.argv.slice(2);

const LOCK = '.hostpool-prepare.lock';

checkMachine();
await takeLock();
process.on('exit', () => rmSync(LOCK, { force: true }));
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

await step({
  name: 'packages',
  stamp: 'node_modules/.hostpool-stamp',
  inputs: ['package-lock.json'],
  products: ['node_modules/.bin/napi', 'node_modules/.bin/tsc'],
  what: 'installing npm packages',
  action: install,
});
await step({
  name: 'addon',
  stamp: 'native/.stamp',
  inputs: [
    'Cargo.toml',
    'Cargo.lock',
    'crates/allocator/Cargo.toml',
    'crates/allocator/build.rs',
    'crates/allocator/src',
    'package.json',
    'package-lock.json',
    'scripts/prepare.mjs',
  ],
  products: [addonFile(), 'native/index.js', 'native/index.d.ts'],
  what: 'building the native addon (a minute or two the first time)',
  action: buildAddon,
  // cargo may write it while it builds.
  written: ['Cargo.lock'],
});
await step({
  name: 'server',
  stamp: 'dist/.stamp',
  inputs: [
    'src',
    'tsconfig.json',
    'tsconfig.build.json',
    'native/index.d.ts',
    'package-lock.json',
    'scripts/graphiql-assets.mjs',
    'scripts/prepare.mjs',
  ],
  products: ['dist/main.js', 'dist/graphiql/index.html'],
  what: 'compiling the server',
  action: compile,
});

/** Stops with one line when this machine cannot build or run hostpool. */
function checkMachine() {
  if (process.platform !== 'linux')
    fail(`hostpool needs Linux (it uses hugepages, memfd and NUMA calls); this is ${process.platform}.`);
  if (!['x64', 'arm64'].includes(process.arch))
    fail(`hostpool needs an x86-64 or arm64 processor; this is ${process.arch}.`);
  if (Number(process.versions.node.split('.')[0]) < 20)
    fail(`hostpool needs Node 20 or newer; this is ${process.versions.node}.`);
  checkRust(/^rust-version = "(.+)"$/m.exec(readFileSync('Cargo.toml', 'utf8'))?.[1] ?? '1.89');
}

function checkRust(rustVersion) {
  const cargo = spawnSync('cargo', ['--version'], { encoding: 'utf8' });
  if (cargo.status !== 0)
    fail(
      `hostpool needs Rust ${rustVersion} or newer, and cargo was not found: install it from https://rustup.rs and open a new shell.`,
    );
  const found = /^cargo (\d+\.\d+\.\d+)/.exec(cargo.stdout)?.[1];
  if (found !== undefined && isOlder(found, rustVersion))
    fail(`hostpool needs Rust ${rustVersion} or newer; this is ${found}: run \`rustup update\`.`);
}

function isOlder(found, rustVersion) {
  const [have, want] = [found, rustVersion].map((version) => version.split('.').map(Number));
  const at = want.findIndex((part, index) => part !== have[index]);
  return at !== -1 && have[at] < want[at];
}

/** Where the addon for this machine lies, as native/index.js looks for it. */
function addonFile() {
  return `native/hostpool.linux-${process.arch}-gnu.node`;
}

/** Waits until no other run of this script is at work in this folder. A lock whose process has ended is taken over. */
async function takeLock() {
  for (let told = false; ; told = true) {
    try {
      return writeFileSync(LOCK, String(process.pid), { flag: 'wx' });
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    const holder = lockHolder();
    if (holder !== undefined && !isRunning(holder)) dropLock(holder);
    else if (!told) console.error(`hostpool: waiting for another build here${holder ? ` (process ${holder})` : ''}`);
    await delay(100);
  }
}

/** Takes away a lock, unless someone else has it by now. */
function dropLock(holder) {
  if (lockHolder() === holder) rmSync(LOCK, { force: true });
}

/** The process that has the lock; undefined when it is gone, or just being written. */
function lockHolder() {
  try {
    return Number(readFileSync(LOCK, 'utf8')) || undefined;
  } catch {
    return undefined;
  }
}

function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function install() {
  run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error']);
}

function buildAddon() {
  mkdirSync('native', { recursive: true });
  run('node_modules/.bin/napi', [
    'build',
    '--platform',
    '--release',
    '--esm',
    '--no-const-enum',
    '--manifest-path',
    'crates/allocator/Cargo.toml',
    '--features',
    'napi',
    '--output-dir',
    'native',
  ]);
}

/** Compiles beside dist and changes places, so that what runs from dist never sees half of it. */
async function compile() {
  const fresh = '.dist-new';
  const old = '.dist-old';
  for (const folder of [fresh, old]) rmSync(folder, { recursive: true, force: true });
  run('node_modules/.bin/tsc', ['-p', 'tsconfig.build.json', '--outDir', fresh]);
  for (const file of filesBelow('src').filter((name) => name.endsWith('.graphql')))
    cpSync(file, join(fresh, relative('src', file)));
  const { writeGraphiqlAssets } = await import('./graphiql-assets.mjs');
  writeGraphiqlAssets(join(fresh, 'graphiql'));
  if (existsSync('dist')) renameSync('dist', old);
  renameSync(fresh, 'dist');
  rmSync(old, { recursive: true, force: true });
}

/**
 * Runs `action` unless the stamp says that it succeeded with these very inputs. The inputs are looked at before, so that
 * one that is edited meanwhile counts as new; only those that the action itself writes are looked at again.
 */
async function step({ name, stamp, inputs, products, what, action, written = [] }) {
  if (wanted.length > 0 && !wanted.includes(name)) return;
  const before = digestsOf(inputs);
  const isMade = products.every((product) => existsSync(product));
  if (isMade && existsSync(stamp) && readFileSync(stamp, 'utf8') === fingerprintOf(before)) return;
  console.error(`hostpool: ${what}`);
  if (existsSync(stamp)) unlinkSync(stamp);
  await action();
  const missing = products.filter((product) => !existsSync(product));
  if (missing.length > 0) fail(`${what} went through, but made no ${missing.join(', ')}.`);
  writeFileSync(stamp, fingerprintOf({ ...before, ...digestsOf(written) }));
}

/** The files at or below some paths, each with the digest of its text. */
function digestsOf(paths) {
  const digest = (file) => createHash('sha256').update(readFileSync(file)).digest('hex');
  return Object.fromEntries(paths.flatMap(filesBelow).map((file) => [file, digest(file)]));
}

function fingerprintOf(digests) {
  const lines = Object.entries(digests).map(([file, digest]) => `${file} ${digest}\n`);
  return createHash('sha256')
    .update(`${process.version} ${process.arch}\n`)
    .update(lines.sort().join(''))
    .digest('hex');
}

/** The files at or below a path, sorted; none when it does not exist. */
function filesBelow(path) {
  if (!existsSync(path)) return [];
  let names;
  try {
    names = readdirSync(path, { withFileTypes: true });
  } catch (error) {
    if (error.code === 'ENOTDIR') return [path];
    throw error;
  }
  return names
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => (entry.isDirectory() ? filesBelow(join(path, entry.name)) : [join(path, entry.name)]));
}

function run(command, args) {
  const { status, error } = spawnSync(command, args, { stdio: ['ignore', 2, 2] });
  if (status !== 0)
    fail(`\`${command} ${args.join(' ')}\` failed${error ? `: ${error.message}` : ''}; its output is above.`);
}

function fail(message) {
  console.error(`hostpool: ${message}`);
  process.exit(1);
}
