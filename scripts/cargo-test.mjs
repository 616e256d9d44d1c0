import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { CargoReader } from './cargo-reader.mjs';

/**
 * A run of `cargo test -- --show-output`, its closing lines added up. A Rust test that cannot run here prints `SKIPPED: reason`
 * and passes: what passing tests print is asked for, looked through and not shown.
 */
export async function cargoTest(command, args, env = process.env) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'], env });
  const totals = { passed: 0, failed: 0, skipped: 0, reasons: [] };
  const reader = new CargoReader(totals);
  for await (const line of createInterface({ input: child.stdout })) if (reader.read(line)) console.log(line);
  const code = child.exitCode ?? (await new Promise((resolve) => child.on('close', resolve)));
  // What does not compile has no closing line.
  if (code !== 0) totals.failed = Math.max(1, totals.failed);
  return { ...totals, ok: code === 0 };
}

/** Closes a run with the reasons of what was skipped and one line that sums all suites up, and ends the process. */
export function close(suites) {
  const sum = (figure) => suites.reduce((total, suite) => total + suite[figure], 0);
  const [passed, failed, skipped] = ['passed', 'failed', 'skipped'].map(sum);
  for (const reason of suites.flatMap((suite) => suite.reasons)) console.log(`skipped: ${reason}`);
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  process.exit(failed === 0 && suites.every((suite) => suite.ok) ? 0 : 1);
}
