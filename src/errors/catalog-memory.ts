import type { FailureKind } from '../allocator/failure.js';
import type { ErrorDocEntry } from './error-doc-entry.js';

type MemoryFailure = Extract<
  FailureKind,
  'InsufficientHostMemory' | 'HostBufferAllocationFailed' | 'BudgetExceeded' | 'BudgetAdmissionClosed' | 'LeaseExpired'
>;

/** Failures of memory and budgets. */
export const memoryDocs: Record<MemoryFailure, ErrorDocEntry> = {
  InsufficientHostMemory: {
    messageTemplate:
      'Not enough host memory for V4 paged pool {pool_name}. Requesting {requested_bytes/1e9:.2f} GB but only have {available_bytes/1e9:.2f} GB free.',
    meaning:
      'The pool would take more than may still be promised, so it was refused before anything was mapped. What other pools were promised but have not faulted in yet counts as taken, and the reserve is never given out.',
    causes: [
      'The host page count was sized for the whole machine, and other jobs share it.',
      'Most memory sits in the hugepage pool, which ordinary pools cannot use.',
      'A container limit is lower than the machine.',
    ],
    remedies: [
      'Create it with maxNumHostPages.',
      'Look at limitedBy: it says which limit to raise.',
      'Use a HUGETLB backing when hugepages are idle.',
      'Destroy pools that are not used.',
    ],
  },
  HostBufferAllocationFailed: {
    messageTemplate:
      'UMBPHostMemAllocator.alloc({nbytes} bytes) failed (requested_backing=UMBPHostBufferBacking.{backing}, numa_node={numa_node}).',
    meaning:
      'The memory was admitted, or needs no budget, but could not be mapped, bound to its node or faulted in. `reason` says which; nothing was left behind.',
    causes: [
      'Too few hugepages of that size are free, once each mapping is rounded up to whole ones.',
      'The NUMA node does not exist on this machine, or has too little free memory.',
      'A container may not bind memory to nodes.',
      'The create was cancelled by a destroy or a shutdown.',
    ],
    remedies: [
      'Reserve hugepages at boot, with room to spare: they are hard to find later.',
      'Bind to a node in host.numaNodes, or to none (-1).',
      'Allow FALL_BACK where ordinary pages will do.',
    ],
  },
  BudgetExceeded: {
    messageTemplate:
      'Budget {budget} exceeded: requesting {requested_bytes} bytes but only {available_bytes} bytes available.',
    meaning:
      "The buffer or reservation would take more than the budget's cap, the rank's share or (for a reservation) the host still leaves, so nothing was charged. limitedBy names which.",
    causes: [
      'Pools, buffers and reservations hold the budget.',
      'The cap is lower than what the host has.',
      'The rank has used up its even part, whatever the other ranks have left.',
    ],
    remedies: [
      'Ask for at most availableBytes, in whole pages of the backing.',
      'Give back what is not used.',
      'Raise the limit in limitedBy.',
    ],
  },
  BudgetAdmissionClosed: {
    messageTemplate: 'Budget {budget} is closed to new charges.',
    meaning:
      'An operator has closed the budget, or host, which closes all. What exists goes on; nothing new is admitted.',
    causes: ['The host is being drained for maintenance.', 'A job is being ended.'],
    remedies: ['Go to another host.', 'Open the budget that is named: updateBudget with admissionClosed: false.'],
  },
  LeaseExpired: {
    messageTemplate: 'Reservation {id} has ended: it {was released | was not renewed in time | lost its process}.',
    meaning: 'The reservation has ended, so its memory is no longer counted and may be promised to others already.',
    causes: [
      'It was not renewed before expiresAt.',
      'The process it was tied to has died.',
      'It was released before it was committed or renewed.',
    ],
    remedies: ['Reserve it again before mapping anything.', 'Renew at a third of the time to live.'],
  },
};
