import { readFileSync, writeFileSync } from 'node:fs';
import { onTestFinished } from 'vitest';

const FILE = '/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages';

/**
 * So many more hugepages of 2 MiB until the test ends. Answers why there are none, if so. The kernel takes a number that it
 * cannot meet without a word: it is read back.
 */
export function moreHugepages(count: number): string | undefined {
  try {
    const before = Number(readFileSync(FILE, 'utf8'));
    onTestFinished(() => writeFileSync(FILE, String(before)));
    writeFileSync(FILE, String(before + count));
    const got = Number(readFileSync(FILE, 'utf8')) - before;
    return got === count ? undefined : `the kernel made ${got} of ${count} hugepages`;
  } catch (error) {
    return `hugepages cannot be set up: ${(error as Error).message}`;
  }
}
