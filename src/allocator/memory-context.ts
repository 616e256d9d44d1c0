import type { HostAllocator, Failure as NativeFailure } from '../../native/index.js';
import type { MemoryContext } from './failure.js';
import { pageBytes as pageBytesOf } from './placement.js';
import { isHugetlb, type MemoryRequest } from './specification.js';

/** What was asked for, as far as ways out depend on it. */
type AskedMemory = Pick<MemoryRequest, 'backing' | 'hugepageSize'> & Partial<MemoryRequest>;

/** A refusal of memory with what its ways out depend on: the page of its backing, and hugepages elsewhere. */
export async function withMemoryContext(
  native: Pick<HostAllocator, 'readHost'>,
  failure: NativeFailure,
  memory: AskedMemory,
): Promise<NativeFailure & MemoryContext> {
  const hugetlb = isHugetlb(memory.backing);
  const pageBytes = pageBytesOf(memory);
  if (failure.kind === 'BudgetExceeded') return { ...failure, pageBytes };
  if (!hugetlb || memory.onHugepageShortage === 'FallBack' || !isShortOnNode(failure)) return failure;
  const { hugepages } = await native.readHost();
  const usableBytes = hugepages.find(({ size }) => size === pageBytes)?.usableBytes ?? 0;
  return { ...failure, hugepagesShort: usableBytes < failure.mappedBytes };
}

type OfMemory = Extract<NativeFailure, { mappedBytes: number }>;

function isShortOnNode(failure: NativeFailure): failure is OfMemory {
  if (failure.kind === 'InsufficientHostMemory') return failure.limitedBy === 'NumaNode';
  return failure.kind === 'HostBufferAllocationFailed' && failure.reason === 'NumaNodeExhausted';
}
