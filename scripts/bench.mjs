// Runs every benchmark: the crate's own, then through the addon, then over GraphQL.
import { spawnSync } from 'node:child_process';

const steps = [
  ['node', 'scripts/prepare.mjs'],
  ['cargo', 'bench', '--workspace'],
  ['node_modules/.bin/tsx', 'bench/addon.ts'],
  ['node_modules/.bin/tsx', 'bench/admission.ts'],
  ['node_modules/.bin/tsx', 'bench/graphql.ts'],
];

for (const [command, ...args] of steps) {
  console.error(`\n> ${command} ${args.join(' ')}`);
  const { status } = spawnSync(command, args, { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
