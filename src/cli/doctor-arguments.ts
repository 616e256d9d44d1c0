import { parseArgs } from 'node:util';
import type { MemoryRequest } from '../allocator/specification.js';
import { parseBytes } from '../quantity.js';
import { enums } from '../resolvers/enums.js';

/** What `hostpool doctor` was asked. */
export interface DoctorArguments {
  readonly kind: 'Doctor';
  readonly json: boolean;
  /** Look with the rights of this process, also where a hostpool runs. */
  readonly local: boolean;
  readonly wish: { readonly memory: MemoryRequest; readonly bytes: number | undefined } | undefined;
}

/** What the arguments come to. */
export type DoctorOutcome =
  | DoctorArguments
  | { readonly kind: 'Help' }
  | { readonly kind: 'Invalid'; readonly problems: string[] };

const BACKINGS = enums.Backing;

const OPTIONS = {
  json: { type: 'boolean', default: false },
  local: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
  backing: { type: 'string' },
  'hugepage-size': { type: 'string' },
  bytes: { type: 'string' },
  'numa-node': { type: 'string' },
  'lock-memory': { type: 'boolean', default: false },
} as const;

/** Reads the arguments behind `doctor`. Every problem is listed. */
export function readDoctorArguments(args: string[]): DoctorOutcome {
  try {
    const { values } = parseArgs({ args, options: OPTIONS, strict: true, allowPositionals: false });
    return values.help ? { kind: 'Help' } : checked(values);
  } catch (error) {
    return { kind: 'Invalid', problems: [(error as Error).message.split('. ', 1).join('')] };
  }
}

type Values = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>['values'];

function checked(values: Values): DoctorOutcome {
  const { json = false, local = false, backing, bytes, 'hugepage-size': hugepage, 'numa-node': node } = values;
  const problems = [
    backing === undefined || Object.hasOwn(BACKINGS, backing)
      ? []
      : [`--backing must be one of ${Object.keys(BACKINGS).join(', ')}`],
    bytes === undefined || isBytes(bytes) ? [] : [`--bytes must be above 0, e.g. 64GiB, got ${JSON.stringify(bytes)}`],
    hugepage === undefined || isBytes(hugepage)
      ? []
      : [`--hugepage-size must be e.g. 2MiB or 1GiB, got ${JSON.stringify(hugepage)}`],
    node === undefined || isNode(node)
      ? []
      : [`--numa-node must be the number of a node, or -1 for any, got ${JSON.stringify(node)}`],
  ].flat();
  if (problems.length > 0) return { kind: 'Invalid', problems };
  return { kind: 'Doctor', json, local, wish: wishOf(values) };
}

/** Undefined when nothing is wished. A size of hugepages alone is a wish for them. */
function wishOf(values: Values): DoctorArguments['wish'] {
  const { backing, bytes, 'hugepage-size': hugepage, 'numa-node': node, 'lock-memory': lockMemory = false } = values;
  if ([backing, bytes, hugepage, node].every((value) => value === undefined) && !lockMemory) return undefined;
  const usual = hugepage === undefined ? 'ANONYMOUS_SHM' : 'ANONYMOUS_SHM_HUGETLB';
  const memory: MemoryRequest = {
    backing: BACKINGS[(backing ?? usual) as keyof typeof BACKINGS],
    hugepageSize: hugepage === undefined ? undefined : parseBytes(hugepage),
    onHugepageShortage: 'Fail',
    numaNode: Number(node ?? -1),
    prefault: true,
    lockMemory,
  };
  return { memory, bytes: bytes === undefined ? undefined : parseBytes(bytes) };
}

function isBytes(text: string): boolean {
  const bytes = parseBytes(text);
  return Number.isSafeInteger(bytes) && bytes > 0;
}

function isNode(text: string): boolean {
  return /^(-1|\d{1,9})$/.test(text);
}

/** What `hostpool doctor --help` prints. */
export const DOCTOR_HELP = `hostpool doctor: what this host can do for hostpool, what is in the way, and the commands that change it.

Usage: npx hostpool doctor [options], with the same HOSTPOOL_* variables as the server

It asks the hostpool that runs with these settings, or else looks with the rights of this process: run it as the user, and
in the container or unit, that hostpool runs in. Nothing is changed.

  --json                 findings as JSON, as { doctor { … } } gives them
  --local                look with the rights of this process, also where a hostpool runs

Memory that is not configured, and whether it could be had:

  --bytes SIZE           how much, e.g. 64GiB                            (one page)
  --backing BACKING      ANONYMOUS, ANONYMOUS_HUGETLB, ANONYMOUS_SHM or ANONYMOUS_SHM_HUGETLB
                                                                         (ANONYMOUS_SHM; with a hugepage size its HUGETLB)
  --hugepage-size SIZE   e.g. 2MiB or 1GiB                               (2MiB)
  --numa-node NODE       bound to this node                              (-1: any)
  --lock-memory          locked, so that it is never swapped out

Exit codes: 0 nothing is in the way; 1 something that is configured, or was asked about, cannot be met; 2 the host could not
be looked at, or the arguments or settings are wrong.
`;
