import type { MemoryPlacement } from '../../native/index.js';
import { DEFAULT_HUGEPAGE, isHugetlb, type MemoryRequest } from './specification.js';

/** The smallest ordinary page; a larger one is a multiple of it. */
export const ORDINARY_PAGE = 4096;

/** Bytes in one page of the backing asked for. */
export function pageBytes({ backing, hugepageSize }: Pick<MemoryRequest, 'backing' | 'hugepageSize'>): number {
  return isHugetlb(backing) ? (hugepageSize ?? DEFAULT_HUGEPAGE) : ORDINARY_PAGE;
}

/** The wish of memory that could not be had: without mappings. */
export function unmapped(memory: MemoryRequest): MemoryPlacement {
  const { backing, numaNode, numaPolicy = 'Bind', numaNodes, transparentHugepages = 'Default' } = memory;
  const nodes = numaNodes ?? (numaNode === -1 ? [] : [numaNode]);
  const numa = { numaNode, numaPolicy, numaNodes: nodes };
  const backings = { requestedBacking: backing, actualBacking: backing, fellBack: false };
  const placement = { ...backings, ...numa, transparentHugepages, locked: false };
  const alignment = pageBytes(memory);
  const none = { ...placement, mappedBytes: 0, mappings: 0, alignment };
  return isHugetlb(backing) ? { ...none, hugepageSize: alignment } : none;
}
