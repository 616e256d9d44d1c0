import { AREAS, type Finding, SEVERITIES } from './finding.js';
import { hugepageFindings } from './hugepages.js';
import { kernelFindings } from './kernel.js';
import { limitFindings } from './limits.js';
import type { Look } from './look.js';
import { memoryFindings } from './memory.js';
import { numaFindings } from './numa.js';
import { permissionFindings } from './permissions.js';
import { stateFindings } from './state.js';
import { act } from './steps.js';
import { wishFindings } from './wishes.js';

/** The id of the one finding without which there is nothing to judge by. */
export const HOST_UNREADABLE = 'host-unreadable';

/** Everything that was found, area by area, the worst of each first. */
export function diagnose(look: Look): Finding[] {
  const ofHost = [
    ...hostFindings(look),
    ...kernelFindings(look),
    ...permissionFindings(look),
    ...limitFindings(look),
    ...memoryFindings(look),
    ...hugepageFindings(look),
    ...numaFindings(look),
    ...stateFindings(look),
  ];
  const blocked = new Set(ofHost.flatMap(({ wishes }) => wishes));
  return inOrder([...ofHost, ...wishFindings(look, blocked)]);
}

function hostFindings({ host, unreadable, hostRoot, wishes }: Look): Finding[] {
  if (host !== undefined) return [];
  const title = 'This host cannot be read';
  const detail = unreadable ?? 'It gave no reason.';
  const steps = [act(`Set HOSTPOOL_HOST_ROOT to a folder that holds proc/ and sys/; it is ${hostRoot}.`)];
  const names = ['HOSTPOOL_HOST_ROOT', ...wishes.map(({ name }) => name)];
  return [{ id: HOST_UNREADABLE, area: 'MEMORY', severity: 'ERROR', title, detail, steps, wishes: names }];
}

function inOrder(findings: Finding[]): Finding[] {
  const place = ({ area, severity }: Finding) => AREAS.indexOf(area) * SEVERITIES.length - SEVERITIES.indexOf(severity);
  return findings.toSorted((left, right) => place(left) - place(right));
}
