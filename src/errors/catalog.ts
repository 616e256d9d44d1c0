import type { FailureKind } from '../allocator/failure.js';
import { memoryDocs } from './catalog-memory.js';
import { poolDocs } from './catalog-pools.js';

/** What a code means, in an operator's words. */
export interface ErrorDocEntry {
  readonly messageTemplate: string;
  readonly meaning: string;
  readonly causes: string[];
  readonly remedies: string[];
}

/** One entry for each kind of failure. */
export const catalog: Record<FailureKind, ErrorDocEntry> = { ...poolDocs, ...memoryDocs };
