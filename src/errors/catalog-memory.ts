import type { FailureKind } from '../allocator/failure.js';
import type { ErrorDocEntry } from './catalog.js';

type MemoryFailure = Extract<
  FailureKind,
  'InsufficientHostMemory' | 'HostBufferAllocationFailed' | 'BudgetExceeded' | 'BudgetAdmissionClosed'
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
    messageTemplate: '{requested_bytes} bytes asked of budget {budget}, {available_bytes} available',
    meaning:
      "The buffer would take more than its budget's cap or its rank's share still leaves, so it was refused before anything was mapped.",
    causes: ['Other pools and buffers hold the budget.', 'The cap is lower than what the host has.'],
    remedies: ['Ask for at most availableBytes.', 'Free buffers that are not used.', 'Raise the limit in limitedBy.'],
  },
  BudgetAdmissionClosed: {
    messageTemplate: 'budget {budget} admits nothing new',
    meaning: 'An operator has closed the budget. What exists goes on; nothing new is admitted.',
    causes: ['The host is being drained for maintenance.'],
    remedies: ['Go to another host.', 'Open it with setHostBudget(input: { admissionClosed: false }).'],
  },
};
