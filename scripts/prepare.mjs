// Makes a fresh clone runnable: installs what package-lock.json lists, builds the native addon, compiles the server.
// Plain Node without dependencies, since it runs before anything is installed. Each step is skipped when its inputs are
// what they were when it last succeeded. Arguments name the steps to take (packages, addon, server); without any it takes
// all of them.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
process.chdir(root);
const wanted = process.argv.slice(2);

checkMachine();
await step('packages', 'node_modules/.hostpool-stamp', ['package-lock.json'], 'installing npm packages', install);
await step(
  'addon',
  'native/.stamp',
  [
    'Cargo.toml',
    'Cargo.lock',
    'crates/allocator/Cargo.toml',
    'crates/allocator/build.rs',
    'crates/allocator/src',
    'package.json',
    'package-lock.json',
  ],
  'building the native addon (a minute or two the first time)',
  buildAddon,
);
await step(
  'server',
  'dist/.stamp',
  [
    'src',
    'tsconfig.json',
    'tsconfig.build.json',
    'native/index.d.ts',
    'scripts/graphiql-assets.mjs',
    'package-lock.json',
  ],
  'compiling the server',
  compile,
);

/** Stops with one line when this machine cannot build or run hostpool. */
function checkMachine() {
  if (process.platform !== 'linux')
    fail(`hostpool needs Linux (it uses hugepages, memfd and NUMA calls); this is ${process.platform}.`);
  if (!['x64', 'arm64'].includes(process.arch))
    fail(`hostpool needs an x86-64 or arm64 processor; this is ${process.arch}.`);
  if (Number(process.versions.node.split('.')[0]) < 20)
    fail(`hostpool needs Node 20 or newer; this is ${process.versions.node}.`);
  const rustVersion = /^rust-version = "(.+)"$/m.exec(readFileSync('Cargo.toml', 'utf8'))?.[1] ?? 'stable';
  const cargo = spawnSync('cargo', ['--version'], { encoding: 'utf8' });
  if (cargo.status !== 0)
    fail(
      `hostpool needs Rust ${rustVersion} or newer, and cargo was not found: install it from https://rustup.rs and open a new shell.`,
    );
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

async function compile() {
  rmSync('dist', { recursive: true, force: true });
  run('node_modules/.bin/tsc', ['-p', 'tsconfig.build.json']);
  for (const file of filesBelow('src').filter((name) => name.endsWith('.graphql')))
    cpSync(file, join('dist', relative('src', file)));
  const { writeGraphiqlAssets } = await import('./graphiql-assets.mjs');
  writeGraphiqlAssets('dist/graphiql');
}

/** Runs `action` unless the stamp says that it succeeded with these very inputs. */
async function step(name, stamp, inputs, what, action) {
  if (wanted.length > 0 && !wanted.includes(name)) return;
  const fingerprint = fingerprintOf(inputs);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === fingerprint) return;
  console.error(`hostpool: ${what}`);
  await action();
  writeFileSync(stamp, fingerprintOf(inputs));
}

function fingerprintOf(inputs) {
  const hash = createHash('sha256').update(process.version).update(process.arch);
  for (const file of inputs.flatMap(filesBelow)) hash.update(file).update('\0').update(readFileSync(file)).update('\0');
  return hash.digest('hex');
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
