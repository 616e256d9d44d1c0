/** How much a finding matters: `ERROR` only where something configured cannot be met. */
export type Severity = 'OK' | 'INFO' | 'WARNING' | 'ERROR';

/** What a finding is about. */
export type Area = 'KERNEL' | 'PERMISSIONS' | 'LIMITS' | 'MEMORY' | 'HUGEPAGES' | 'NUMA' | 'STATE' | 'WISHES';

/** Something to do: a command to run, a line to put into a file, or neither where words are all there is. */
export interface Step {
  readonly summary: string;
  readonly command?: string;
  readonly file?: string;
  readonly line?: string;
}

/** One thing that was found, and what to do about it. */
export interface Finding {
  /** Stable, in kebab case: docs/doctor.md has each. */
  readonly id: string;
  readonly area: Area;
  readonly severity: Severity;
  readonly title: string;
  /** The figures of this host. */
  readonly detail: string;
  readonly steps: readonly Step[];
  /** What is configured and cannot be met because of it. */
  readonly wishes: readonly string[];
}

/** Areas in the order they are told in. */
export const AREAS: readonly Area[] = [
  'KERNEL',
  'PERMISSIONS',
  'LIMITS',
  'MEMORY',
  'HUGEPAGES',
  'NUMA',
  'STATE',
  'WISHES',
];

/** Severities, the least first. */
export const SEVERITIES: readonly Severity[] = ['OK', 'INFO', 'WARNING', 'ERROR'];

/** The worst of some findings; `OK` of none. */
export function worst(findings: readonly Finding[]): Severity {
  const rank = Math.max(0, ...findings.map(({ severity }) => SEVERITIES.indexOf(severity)));
  return SEVERITIES[rank] ?? 'OK';
}

/** Whether operators should see it without asking. */
export function isWorthLogging({ severity }: Pick<Finding, 'severity'>): boolean {
  return severity === 'WARNING' || severity === 'ERROR';
}

/** The commands of a finding's steps. */
export function commandsOf({ steps }: Pick<Finding, 'steps'>): string[] {
  return steps.flatMap(({ command }) => command ?? []);
}

/** All is well. */
export function ok(area: Area, id: string, title: string, detail: string): Finding {
  return { id, area, severity: 'OK', title, detail, steps: [], wishes: [] };
}

/** Worth knowing, and nothing is wrong. */
export function info(area: Area, id: string, title: string, detail: string, steps: readonly Step[] = []): Finding {
  return { id, area, severity: 'INFO', title, detail, steps, wishes: [] };
}

/** Something that wishes may run into: an error as soon as one that is configured does. */
export function problem(
  area: Area,
  id: string,
  title: string,
  detail: string,
  steps: readonly Step[],
  wishes: readonly string[] = [],
): Finding {
  return { id, area, severity: wishes.length === 0 ? 'WARNING' : 'ERROR', title, detail, steps, wishes };
}
