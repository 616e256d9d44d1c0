// Runs the tests of both languages and closes with one line that sums them up. Arguments go to vitest.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cargoTest, close } from './cargo-test.mjs';

const crate = await cargoTest('cargo', ['test', '--workspace', '--', '--show-output']);
const models = await cargoTest(process.execPath, ['scripts/models.mjs', 'test']);
const vitest = vitestRun(process.argv.slice(2));

close([crate, models, vitest]);

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
