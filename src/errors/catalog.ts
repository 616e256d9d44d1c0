import type { FailureKind } from '../allocator/failure.js';
import { memoryDocs } from './catalog-memory.js';
import { poolDocs } from './catalog-pools.js';
import type { ErrorDocEntry } from './error-doc-entry.js';

/** One entry for each kind of failure. */
export const catalog: Record<FailureKind, ErrorDocEntry> = { ...poolDocs, ...memoryDocs };
