import type { DoctorReport, ReportedFinding } from '../../src/cli/doctor-report.js';
import { type MainRun, runMain } from './server.js';

/** Runs the command as a process of its own, by `command` when it is not node itself that starts. */
export function runDoctor(args: string[], env: Record<string, string> = {}, command: string[] = []): Promise<MainRun> {
  return runMain(['doctor', ...args], { HOSTPOOL_RESERVE: '0', HOSTPOOL_PORT: '0', ...env }, command);
}

/** The same with --json: the exit code and what was found. */
export async function examine(
  args: string[],
  env: Record<string, string> = {},
  command: string[] = [],
): Promise<{ code: number | null; report: DoctorReport }> {
  const { code, out, err } = await runDoctor(['--json', ...args], env, command);
  if (out === '') throw new Error(`hostpool doctor ended with ${code}: ${err}`);
  return { code, report: JSON.parse(out) };
}

/** The one finding with that id. */
export function findingIn({ findings }: Pick<DoctorReport, 'findings'>, id: string): ReportedFinding {
  const found = findings.filter((finding) => finding.id === id);
  if (found.length !== 1 || found[0] === undefined)
    throw new Error(`${found.length} of ${id} in ${findings.map((finding) => finding.id)}`);
  return found[0];
}
