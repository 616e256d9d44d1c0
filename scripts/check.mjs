// Format, lint, types, generated code and clippy; then, unless --static is given, the tests of both languages.
import { spawnSync } from 'node:child_process';

const steps = [
  ['node', 'scripts/prepare.mjs'],
  ['node_modules/.bin/biome', 'check', '--error-on-warnings', '.'],
  // Fails where a merge left its markers.
  ['bash', '-c', "! git grep -nE '^(<<<<<<<|>>>>>>>) ' -- ."],
  ['node', 'scripts/codegen.mjs', '--check'],
  ['node_modules/.bin/tsc', '-p', 'tsconfig.json'],
  ['cargo', 'fmt', '--all', '--check'],
  ['cargo', 'clippy', '--workspace', '--all-targets', '--all-features', '--', '-D', 'warnings'],
  ['node', 'scripts/models.mjs', 'clippy'],
  ...(process.argv.includes('--static') ? [] : [['node', 'scripts/test.mjs']]),
];

for (const [command, ...args] of steps) {
  console.error(`\n> ${command} ${args.join(' ')}`);
  const { status } = spawnSync(command, args, { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
