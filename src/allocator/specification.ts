import type { Backing, HostBufferSpec, Layout, MemoryWish, V4PagedPoolSpec } from '../../native/index.js';
import type { Repeatable } from './repeats.js';

/** What a create does when a live pool has that name: fail, or answer with a pool of the same specification. */
export type IfExists = 'Error' | 'Return';

/** What memory to map, and whether to fault it in. */
export interface MemoryRequest extends MemoryWish {
  prefault: boolean;
}

/** A pool of slots without bytes. */
export interface LogicalPoolRequest extends Repeatable {
  name: string;
  size: number;
  pageSize: number;
  layout: Layout;
  ifExists: IfExists;
}

/** A pool of slots with bytes behind them. */
export interface PagedPoolRequest extends Omit<V4PagedPoolSpec, 'memory'>, Repeatable {
  memory: MemoryRequest;
  wait: boolean;
  ifExists: IfExists;
}

/** One piece of host memory. */
export interface HostBufferRequest extends Omit<HostBufferSpec, 'memory'>, Repeatable {
  name?: string;
  memory: MemoryRequest;
  wait: boolean;
}

/** What was asked for, flat, under the names that callers know the fields by. Two equal ones make the same thing. */
export type Specification = Readonly<Record<string, string | number | boolean | undefined>>;

/** Without its size while that is not known: of a pool in a group that is to be the largest that fits. */
type MaybeSized<Request, Size extends keyof Request> = Omit<Request, Size> & Partial<Pick<Request, Size>>;

/** A logical pool's specification. */
export function logicalSpecification(request: MaybeSized<LogicalPoolRequest, 'size'>): Specification {
  const { size, pageSize, layout } = request;
  return { kind: 'Logical', size, pageSize, layout };
}

/** A V4 paged pool's specification. */
export function pagedSpecification(request: MaybeSized<PagedPoolRequest, 'numHostPages'>): Specification {
  const { layerNum, numHostPages, itemBytes, slotPageSize, layout, budget, rank, memory } = request;
  const shape = { layerNum, numHostPages, itemBytes, slotPageSize, layout, budget, rank };
  return { kind: 'V4Paged', ...shape, ...memorySpecification(memory) };
}

/** A host buffer's specification. */
export function bufferSpecification({ nbytes, budget, rank, memory }: HostBufferRequest): Specification {
  return { nbytes, budget, rank, ...memorySpecification(memory) };
}

/** The fields in which two specifications differ, of those that have a meaning for both. */
export function differences(left: Specification, right: Specification): string[] {
  const fields = new Set([...Object.keys(left), ...Object.keys(right)]);
  const isMeant = (field: string) => field !== HUGEPAGE_SIZE || (field in left && field in right);
  return [...fields].filter((field) => isMeant(field) && left[field] !== right[field]);
}

/** What makes it this request and no other: how it is waited for and named for repeats does not. */
export function identityOf<Request extends Repeatable>(request: Request): object {
  const { idempotencyKey: _key, wait: _wait, ...rest } = request as Request & { wait?: boolean };
  return rest;
}

const HUGEPAGE_SIZE = 'memory.hugepageSize';

/** The hugepage size when none is given, in bytes. */
export const DEFAULT_HUGEPAGE = 2 ** 21;

/** Whether a backing is on hugepages. */
export function isHugetlb(backing: Backing): boolean {
  return backing === 'AnonymousHugetlb' || backing === 'AnonymousShmHugetlb';
}

/** Without a hugepage size where the backing has none. */
function memorySpecification({ hugepageSize, numaNodes, ...memory }: MemoryRequest): Specification {
  const nodes = numaNodes === undefined ? undefined : [...new Set(numaNodes)].sort((a, b) => a - b).join();
  const fields = Object.entries({ ...memory, numaNodes: nodes });
  const flat = Object.fromEntries(fields.map(([field, value]) => [`memory.${field}`, value]));
  return isHugetlb(memory.backing) ? { ...flat, [HUGEPAGE_SIZE]: hugepageSize ?? DEFAULT_HUGEPAGE } : flat;
}
