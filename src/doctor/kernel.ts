import { type Finding, info, ok, problem } from './finding.js';
import { type Look, namesOf } from './look.js';
import { act, sysctl, sysfs } from './steps.js';

const SHMEM = '/sys/kernel/mm/transparent_hugepage/shmem_enabled';

/** Which kernel it is, and what it is able to do. */
export function kernelFindings(look: Look): Finding[] {
  return [release(look), populate(look), memfd(look), pidfd(look), ...transparent(look), ...unreadable(look)];
}

function release({ facts }: Look): Finding {
  const { release } = facts.settings;
  return ok('KERNEL', 'kernel', `Linux ${release ?? 'of an unknown release'}`, 'hostpool needs 5.14 or newer.');
}

function populate({ facts, wishes }: Look): Finding {
  const { populate } = facts.refused;
  if (populate == null)
    return ok('KERNEL', 'prefault', 'Memory can be faulted in ahead', 'MADV_POPULATE_WRITE is there.');
  return problem(
    'KERNEL',
    'prefault',
    'Memory cannot be faulted in ahead',
    `MADV_POPULATE_WRITE is refused with ${populate}: this kernel is older than 5.14, or a filter refuses it.`,
    [act('Run Linux 5.14 or newer.'), act('Until then wish for memory with prefault: false.')],
    namesOf(wishes, ({ memory }) => memory.prefault),
  );
}

function memfd({ facts, wishes }: Look): Finding {
  const { memfd } = facts.refused;
  if (memfd == null) return ok('KERNEL', 'memfd', 'Shared memory can be made', 'memfd_create works.');
  const noexec = facts.settings.memfdNoexec === 2;
  const why = noexec ? ' because vm.memfd_noexec is 2' : '';
  return problem(
    'KERNEL',
    'memfd',
    'Shared memory cannot be made',
    `memfd_create is refused with ${memfd}${why}: the backings ANONYMOUS_SHM and ANONYMOUS_SHM_HUGETLB need it.`,
    noexec ? sysctl('vm.memfd_noexec', 1) : [act('Allow memfd_create in the seccomp profile.')],
    namesOf(wishes, ({ memory }) => memory.backing.startsWith('AnonymousShm')),
  );
}

function pidfd({ facts }: Look): Finding {
  const { pidfd } = facts.refused;
  if (pidfd == null)
    return ok('KERNEL', 'pidfd', 'Processes can be watched', 'pidfd_open works: reservations end with their process.');
  return problem(
    'KERNEL',
    'pidfd',
    'Processes cannot be watched',
    `pidfd_open is refused with ${pidfd}: a reservation by pid would not end with its process.`,
    [act('Allow pidfd_open in the seccomp profile, or reserve with ttlSeconds and renew.')],
  );
}

/** Transparent hugepages make ordinary backings several times faster to fault in. */
function transparent({ facts, wishes }: Look): Finding[] {
  const { transparentHugepages: anonymous, transparentShmem: shared } = facts.settings;
  if (anonymous == null) return [];
  const modes = `enabled is ${anonymous}, shmem_enabled is ${shared ?? 'absent'}`;
  const sharesOrdinary = wishes.some(({ memory }) => memory.backing === 'AnonymousShm');
  if (shared !== 'never' && shared !== 'deny') return [ok('KERNEL', 'thp', 'Transparent hugepages', `${modes}.`)];
  const detail = `${modes}: memfds on ordinary pages are faulted in 4 KiB at a time${sharesOrdinary ? '' : ', should any be wished for'}.`;
  return [info('KERNEL', 'thp', 'No transparent hugepages for shared memory', detail, [sysfs(SHMEM, 'advise')])];
}

function unreadable({ facts }: Look): Finding[] {
  if (facts.unreadable.length === 0) return [];
  const title = 'Files of the kernel that cannot be used';
  const steps = [act('Look at them as the user that hostpool runs as.')];
  return [problem('KERNEL', 'kernel-files', title, `${facts.unreadable.join('; ')}.`, steps)];
}
