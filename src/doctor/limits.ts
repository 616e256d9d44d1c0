import { isHugetlb } from '../allocator/specification.js';
import { type Finding, ok, problem } from './finding.js';
import { type JudgedWish, type Look, namesOf } from './look.js';
import { act, processLimit, sysctl } from './steps.js';
import { limit, size } from './words.js';

/** Linux's default of vm.max_map_count (linux/mm.h), of which half is for pools and buffers. */
const USUAL_MAPPINGS = 65_530;
/** Descriptors that leave room for some hundreds of pools. */
const USUAL_DESCRIPTORS = 1024;

/** What one process may have of things other than bytes, and how far the kernel grants more bytes than there are. */
export function limitFindings(look: Look): Finding[] {
  return [descriptors(look), ...mappings(look), ...commit(look)];
}

function descriptors({ facts, wishes, container }: Look): Finding {
  const { soft, hard } = facts.process.descriptors;
  const detail = `RLIMIT_NOFILE is ${limit(soft)} (at most ${limit(hard)}): half of it is for pools and buffers on memfds, one each.`;
  const refused = namesOf(wishes, (wish) => systemErrno(wish) === 'EMFILE');
  const title = 'Open files';
  if (refused.length === 0 && (soft == null || soft >= USUAL_DESCRIPTORS))
    return ok('LIMITS', 'open-files', title, detail);
  const shared = wishes.filter(({ memory }) => memory.backing.startsWith('AnonymousShm')).length;
  const wanted = Math.max(65_536, 4 * shared);
  const steps = processLimit('LimitNOFILE', wanted, container);
  return problem('LIMITS', 'open-files', 'Few open files are allowed', detail, steps, refused);
}

function mappings({ facts, wishes }: Look): Finding[] {
  const { maxMapCount } = facts.settings;
  if (maxMapCount == null) return [];
  const detail = `vm.max_map_count is ${maxMapCount}: half of it is for pools and buffers; a LAYER_FIRST pool takes one for each layer.`;
  const refused = namesOf(wishes, (wish) => systemErrno(wish) === 'ENOMEM');
  if (refused.length === 0 && maxMapCount >= USUAL_MAPPINGS) return [ok('LIMITS', 'mappings', 'Mappings', detail)];
  const steps = [
    ...sysctl('vm.max_map_count', Math.max(262_144, 4 * maxMapCount)),
    act('Or use the layout PAGE_FIRST: one mapping a pool.'),
  ];
  return [problem('LIMITS', 'mappings', 'Few mappings are allowed', detail, steps, refused)];
}

/** Only vm.overcommit_memory=2 refuses what MemAvailable would hold (Documentation/mm/overcommit-accounting.rst). */
function commit({ facts, wishes }: Look): Finding[] {
  const { overcommitMemory: mode, commitLimit, committed } = facts.settings;
  if (mode == null) return [];
  if (mode !== 2 || commitLimit == null || committed == null)
    return [ok('LIMITS', 'overcommit', 'The commit limit does not apply', `vm.overcommit_memory is ${mode}.`)];
  const left = Math.max(0, commitLimit - committed);
  const ordinary = wishes.filter(({ memory, isHeld }) => !isHeld && !isHugetlb(memory.backing));
  const wanted = ordinary.reduce((sum, { bytes }) => sum + bytes, 0);
  const names = wanted > left ? ordinary.map(({ name }) => name) : [];
  const detail = `vm.overcommit_memory is 2: ${size(left)} of CommitLimit ${size(commitLimit)} are left on ordinary pages${names.length === 0 ? '' : `, and ${size(wanted)} are wished for`}.`;
  const steps = [
    ...sysctl('vm.overcommit_memory', 0),
    act('Or raise vm.overcommit_ratio, or use hugepages: they are not counted.'),
  ];
  return [problem('LIMITS', 'overcommit', 'The commit limit holds', detail, steps, names)];
}

/** The errno of a system call that refused a wish. */
function systemErrno({ failure }: JudgedWish): string | undefined {
  if (failure?.kind !== 'HostBufferAllocationFailed' || failure.reason !== 'System') return undefined;
  return failure.errnoName;
}
