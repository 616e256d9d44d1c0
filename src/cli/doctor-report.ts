import type { Diagnosis } from '../doctor/doctor.js';
import { commandsOf, type Finding } from '../doctor/finding.js';

/** What was found, as the contract spells it: the same from a server that runs and from this process. */
export interface DoctorReport {
  readonly observedAt: string;
  readonly hostname: string | null;
  readonly stateFile: string | null;
  readonly severity: Finding['severity'];
  readonly canMeet: boolean;
  readonly findings: readonly ReportedFinding[];
}

/** A finding with its commands by themselves. */
export interface ReportedFinding extends Omit<Finding, 'steps'> {
  readonly steps: readonly { summary: string; command: string | null; file: string | null; line: string | null }[];
  readonly commands: readonly string[];
}

/** A diagnosis of this process as a server would answer with it. */
export function reportOf({ observedAt, hostname, stateFile, severity, canMeet, findings }: Diagnosis): DoctorReport {
  return {
    observedAt: observedAt.toISOString(),
    hostname: hostname ?? null,
    stateFile: stateFile ?? null,
    severity,
    canMeet,
    findings: findings.map(reportedFinding),
  };
}

function reportedFinding(finding: Finding): ReportedFinding {
  const { id, area, severity, title, detail, wishes } = finding;
  const steps = finding.steps.map(({ summary, command = null, file = null, line = null }) => ({
    summary,
    command,
    file,
    line,
  }));
  return { id, area, severity, title, detail, steps, commands: commandsOf(finding), wishes };
}
