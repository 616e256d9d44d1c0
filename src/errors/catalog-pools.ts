import type { FailureKind } from '../allocator/failure.js';
import type { ErrorDocEntry } from './error-doc-entry.js';

type PoolFailure = Exclude<
  FailureKind,
  'InsufficientHostMemory' | 'HostBufferAllocationFailed' | 'BudgetExceeded' | 'BudgetAdmissionClosed' | 'LeaseExpired'
>;

/** Failures of slots, names, ids and arguments. */
export const poolDocs: Record<PoolFailure, ErrorDocEntry> = {
  LogicalPoolSizeNotPageAligned: {
    messageTemplate: 'LogicalHostPool size must be page-aligned, got size={size}, page_size={page_size}',
    meaning: 'A logical pool is counted in whole pages, and the size asked for leaves part of a page over.',
    causes: [
      'The size was computed from tokens or bytes and never rounded to pages.',
      'The page size was changed after the size had been worked out for the old one.',
    ],
    remedies: ['Create it with alignedDown or alignedUp.', 'Round where the size is computed, to the same page size.'],
  },
  LogicalPoolAllocationNotPageAligned: {
    messageTemplate:
      'LogicalHostPool allocation must be page-aligned, got need_size={need_size}, page_size={page_size}',
    meaning: 'A logical pool hands out whole pages and does not round a request by itself; nothing was handed out.',
    causes: ['The caller asked for tokens, not for pages.', 'The caller assumes another page size than the pool has.'],
    remedies: ['Ask for alignedUp slots.', "Read the pool's pageSize and round the request up to it."],
  },
  LogicalPoolFreeNotPageAligned: {
    messageTemplate: 'LogicalHostPool free must be page-aligned, got len(indices)={len}, page_size={page_size}',
    meaning: 'The slots given back do not make whole pages, so a page would be half free; nothing was given back.',
    causes: ['Part of an allocation was given back.', 'Slots were lost or added while the list was kept.'],
    remedies: ['Give back the ranges that allocateSlots answered with.', 'Give back every slot of each page together.'],
  },
  PoolExhausted: {
    messageTemplate: 'Not enough free slots: need {need_size}, but only {available_slots} are free.',
    meaning: 'Fewer slots are free than were asked for. That is ordinary when a cache is full; nothing was handed out.',
    causes: ['The cache has filled up and nothing was evicted.', 'Slots were taken and never given back.'],
    remedies: ['Evict, give the slots back and ask again.', 'Ask for at most availableSlots.', 'Make the pool larger.'],
  },
  DoubleFree: {
    messageTemplate: 'Double-free detected: slots not currently allocated: [{slot, slot, …}].',
    meaning: 'Some slots given back were free already, or were named twice; nothing was given back.',
    causes: [
      'Two owners believe that they hold the same slots.',
      'The pool was cleared or made anew since they were taken.',
      'A retry repeated a free that had gone through.',
    ],
    remedies: ['Find the second owner: the slots are listed.', 'Drop slot lists when their pool is cleared.'],
  },
  SlotOutOfRange: {
    messageTemplate: 'Slot {slot} is out of range: the pool has slots 0 to {size - 1}.',
    meaning: 'A slot number is not one of the pool; nothing was given back.',
    causes: ['The slots belong to another pool.', 'Slot numbers were scaled or shifted on the way.'],
    remedies: ['Check the pool id beside the slots.', 'Give back slots exactly as they were handed out.'],
  },
  PoolNotReady: {
    messageTemplate: 'Pool {name} is {state}, not READY.',
    meaning: 'The pool is still being faulted in, has failed, or is being destroyed, so its slots cannot be used.',
    causes: [
      'It was created with wait: false and is used too early.',
      'Its prefault failed after the create answered.',
    ],
    remedies: ['Follow poolProgress until READY.', 'Destroy a FAILED pool and create it again.'],
  },
  NotFound: {
    messageTemplate: 'There is no {thing} {id}.',
    meaning: 'No pool, buffer, budget or reservation has that id or name.',
    causes: ['It was destroyed.', 'The server was restarted: ids end with the process.', 'A misspelt budget name.'],
    remedies: [
      'Look it up with pools, hostBuffers, budgets or reservations.',
      'Find pools by name, which you choose, after a restart.',
    ],
  },
  NameTaken: {
    messageTemplate: 'A {thing} named {name} exists already{ with another …}.',
    meaning:
      'A live pool or buffer, or a budget, has that name; names are unique so that a restarted job finds what is its.',
    causes: ['The job ran before and its pool is still there.', 'Two jobs use the same name.'],
    remedies: [
      'Use ifExists: RETURN to share a pool or budget of the same specification.',
      'Put the job into the name.',
    ],
  },
  InUse: {
    messageTemplate: 'The {thing} {name} is in use by {attachments} {holders}.',
    meaning: 'Something still holds it: pools, buffers or reservations a budget, other processes a pool or buffer.',
    causes: ['A job whose budget is to be removed still runs.', 'An engine is still running on the pool.'],
    remedies: [
      'Look for the budget in pools, hostBuffers and reservations, give those back, then remove it.',
      'Close it with updateBudget(input: { admissionClosed: true }) so that nothing new comes meanwhile.',
    ],
  },
  StateNotSaved: {
    messageTemplate: 'The change could not be saved in {path}: {detail}. Nothing was changed.',
    meaning: 'A change is acknowledged only once it is on disk. This one could not be put there, so it was undone.',
    causes: ['The file system of the state folder is full.', 'It was mounted read-only, or the disk fails.'],
    remedies: [
      'Free space, or make the file system writable, and send it again.',
      'Move HOSTPOOL_STATE_DIR to another disk.',
    ],
  },
  InvalidArgument: {
    messageTemplate: '{what is accepted, and what was given}',
    meaning: 'An argument is outside what the field accepts; `field` names it. Nothing was done.',
    causes: [
      'A size, count or page size of zero, below zero, with a fraction, or too large.',
      'A product of sizes that does not fit 2^53-1 bytes.',
      'A name that is empty, too long, or holds control characters.',
    ],
    remedies: ['Change the field that is named; the message says what it accepts.'],
  },
};
