import { readFileSync, writeFileSync } from 'node:fs';

const FILE = '/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages';

/** The number of 2 MiB hugepages the kernel holds. */
export function hugepageCount(): number {
  return Number(readFileSync(FILE, 'utf8'));
}

/** Hugepages of 2 MiB that no one has faulted in. */
export function freeHugepages(): number {
  return Number(readFileSync('/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages', 'utf8'));
}

/**
 * Adds hugepages to those the kernel holds. Answers how to put the number back, or why they cannot be had: not root,
 * or no room.
 */
export function addHugepages(wanted: number): { restore: () => void } | { reason: string } {
  const before = hugepageCount();
  try {
    writeFileSync(FILE, String(before + wanted));
  } catch (error) {
    return { reason: `hugepages cannot be reserved here: ${(error as Error).message}` };
  }
  const restore = () => writeFileSync(FILE, String(before));
  // The write succeeds even when the kernel finds fewer: read it back.
  if (hugepageCount() >= before + wanted) return { restore };
  restore();
  return { reason: `the kernel found no ${wanted} free hugepages` };
}
