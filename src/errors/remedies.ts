import type { Failure, FailureOf, MemoryContext } from '../allocator/failure.js';
import { bufferRemedies } from './buffer-remedies.js';
import { budgetRemedies, memoryRemedies } from './memory-remedies.js';
import { act, type Remedy, set } from './remedy.js';

/** What to do about this very failure, with its numbers filled in; most useful first, never empty. */
export function remediesFor(failure: Failure & MemoryContext): Remedy[] {
  switch (failure.kind) {
    case 'LogicalPoolSizeNotPageAligned':
      return aligned('size', failure, 'pool');
    case 'LogicalPoolAllocationNotPageAligned':
      return aligned('needSize', failure, 'request');
    case 'LogicalPoolFreeNotPageAligned':
      return freeRemedies(failure);
    case 'InsufficientHostMemory':
      return memoryRemedies(failure);
    case 'HostBufferAllocationFailed':
      return bufferRemedies(failure);
    case 'PoolExhausted':
      return exhaustedRemedies(failure);
    case 'DoubleFree':
      return [act('Give back each slot once, and only slots that allocateSlots handed out since the last clear.')];
    case 'SlotOutOfRange':
      return [act(`Give back slots from 0 to ${failure.size - 1} only; check that the pool id is the right one.`)];
    case 'PoolNotReady':
      return notReadyRemedies(failure);
    case 'NotFound':
      return [
        act(
          'List what exists with pools, hostBuffers, budgets or reservations; ids are good as long as what they name.',
        ),
      ];
    case 'NameTaken':
      return nameRemedies(failure);
    case 'InUse':
      return [
        act(
          `Give back the ${failure.attachments} that hold it first: what is charged to a budget, or attached to a pool.`,
        ),
      ];
    case 'BudgetExceeded':
      return budgetRemedies(failure);
    case 'BudgetAdmissionClosed':
      return [
        set('admissionClosed', 'false', `Open the budget ${failure.budget} with ${openBudget(failure.budget)}.`),
        act('Or wait: whoever closed it may be draining this host.'),
      ];
    case 'LeaseExpired':
      return [
        act('Reserve it again; until that is granted, nobody keeps this memory for you.'),
        act('Renew well before expiresAt, or tie the reservation to a pid instead of a time.'),
      ];
    case 'InvalidArgument':
      return [{ summary: `Correct ${failure.field}: the message says what it accepts.`, field: failure.field }];
    case 'StateNotSaved':
      return stateRemedies(failure);
    default:
      return failure satisfies never;
  }
}

type Misaligned = FailureOf<'LogicalPoolSizeNotPageAligned'> | FailureOf<'LogicalPoolAllocationNotPageAligned'>;

function aligned(field: string, { pageSize, alignedDown, alignedUp }: Misaligned, what: string): Remedy[] {
  const up = set(field, alignedUp, `Round up: the smallest larger ${what} in whole pages of ${pageSize}.`);
  const down = set(field, alignedDown, `Round down: the largest smaller ${what} in whole pages of ${pageSize}.`);
  // Near 2^53-1 there is no larger multiple, and alignedUp stops there.
  const ways = alignedUp % pageSize === 0 ? [up] : [];
  return alignedDown === 0 ? ways : [down, ...ways];
}

function freeRemedies({ length, pageSize }: FailureOf<'LogicalPoolFreeNotPageAligned'>): Remedy[] {
  const missing = pageSize - (length % pageSize);
  return [
    act(`Give back whole pages of ${pageSize}: ${missing} more slots, or ${length % pageSize} fewer.`),
    act('Give back the ranges that allocateSlots answered with: they are whole pages.'),
  ];
}

function exhaustedRemedies({ availableSlots }: FailureOf<'PoolExhausted'>): Remedy[] {
  const room = act('Give slots back with freeSlots, or make the pool larger.');
  if (availableSlots === 0) return [room];
  return [set('needSize', availableSlots, `Take at most the ${availableSlots} slots that are free now.`), room];
}

function notReadyRemedies({ state }: FailureOf<'PoolNotReady'>): Remedy[] {
  switch (state) {
    case 'Allocating':
    case 'Prefaulting':
      return [act('Follow poolProgress until it ends with READY, then try again.')];
    case 'Failed':
      return [act('Destroy the pool and create it again; the server log says why it failed.')];
    case 'Destroying':
    case 'Ready':
      return [act('Create the pool again: it is being destroyed.')];
    default:
      return state satisfies never;
  }
}

function stateRemedies({ reason, path }: FailureOf<'StateNotSaved'>): Remedy[] {
  const again = act('Then send it again: with the same idempotencyKey that cannot make anything twice.');
  switch (reason) {
    case 'DiskFull':
      return [act(`Free space on the file system of ${path}, or raise its quota.`), again];
    case 'ReadOnly':
      return [act(`Make the file system of ${path} writable: mount -o remount,rw.`), again];
    case 'Io':
      return [act(`Look at the disk behind ${path}: dmesg has what the kernel saw.`), again];
    default:
      return reason satisfies never;
  }
}

function nameRemedies({ name, differs }: FailureOf<'NameTaken'>): Remedy[] {
  const other = act(`Choose another name, or remove the one named ${JSON.stringify(name)} first.`);
  if (differs.length > 0) return [act(`Ask for the same ${differs.join(', ')} to share it.`), other];
  return [set('ifExists', 'RETURN', 'It is the same specification: ifExists RETURN answers with it.'), other];
}

function openBudget(budget: string): string {
  return `updateBudget(input: { name: ${JSON.stringify(budget)}, admissionClosed: false })`;
}
