// Runs the tests of both languages and closes with one line that sums them up. Arguments go to vitest.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { CargoReader } from './cargo-reader.mjs';

const crate = await cargoTest('cargo', ['test', '--workspace', '--', '--show-output']);
const models = await cargoTest(process.execPath, ['scripts/models.mjs', 'test']);
const vitest = vitestRun(process.argv.slice(2));

const suites = [crate, models, vitest];
const sum = (figure) => suites.reduce((total, suite) => total + suite[figure], 0);
const [passed, failed, skipped] = ['passed', 'failed', 'skipped'].map(sum);
for (const reason of suites.flatMap((suite) => suite.reasons)) console.log(`skipped: ${reason}`);
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
process.exit(failed === 0 && suites.every((suite) => suite.ok) ? 0 : 1);

/**
 * A run of `cargo test`, its closing lines added up. A Rust test that cannot run here prints `SKIPPED: reason` and passes: what
 * passing tests print is asked for, looked through and not shown.
 */
async function cargoTest(command, args) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const totals = { passed: 0, failed: 0, skipped: 0, reasons: [] };
  const reader = new CargoReader(totals);
  for await (const line of createInterface({ input: child.stdout })) if (reader.read(line)) console.log(line);
  const code = child.exitCode ?? (await new Promise((resolve) => child.on('close', resolve)));
  // What does not compile has no closing line.
  if (code !== 0) totals.failed = Math.max(1, totals.failed);
  return { ...totals, ok: code === 0 };
}

/** `vitest run`, its totals and the reasons of its skips taken from our reporter. */
function vitestRun(args) {
  const directory = mkdtempSync(join(tmpdir(), 'hostpool-test-'));
  const file = join(directory, 'totals.json');
  const reporters = ['--reporter=default', '--reporter=./scripts/totals-reporter.mjs'];
  const env = { ...process.env, TEST_TOTALS_FILE: file };
  const { status } = spawnSync('node_modules/.bin/vitest', ['run', ...reporters, ...args], { stdio: 'inherit', env });
  try {
    return { ...JSON.parse(readFileSync(file, 'utf8')), ok: status === 0 };
  } catch {
    return { passed: 0, failed: 1, skipped: 0, reasons: [], ok: false };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
