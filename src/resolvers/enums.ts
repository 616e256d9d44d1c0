import type { Resolvers } from '../schema/generated/resolver-types.js';

/** How the schema spells what the service and the addon call otherwise. */
export const enums = {
  Backing: {
    ANONYMOUS: 'Anonymous',
    ANONYMOUS_HUGETLB: 'AnonymousHugetlb',
    ANONYMOUS_SHM: 'AnonymousShm',
    ANONYMOUS_SHM_HUGETLB: 'AnonymousShmHugetlb',
  },
  BudgetEventKind: {
    CHARGED: 'Charged',
    RELEASED: 'Released',
    EXPIRED: 'Expired',
    OWNER_DIED: 'OwnerDied',
    REFUSED: 'Refused',
  },
  ClaimantKind: { POOL: 'Pool', HOST_BUFFER: 'HostBuffer', RESERVATION: 'Reservation' },
  HostBufferFailure: {
    HUGEPAGES_EXHAUSTED: 'HugepagesExhausted',
    HUGEPAGE_SIZE_UNSUPPORTED: 'HugepageSizeUnsupported',
    NUMA_NODE_OFFLINE: 'NumaNodeOffline',
    NUMA_BIND_DENIED: 'NumaBindDenied',
    NUMA_NODE_EXHAUSTED: 'NumaNodeExhausted',
    HOST_MEMORY_EXHAUSTED: 'HostMemoryExhausted',
    CGROUP_LIMIT: 'CgroupLimit',
    PREFAULT_FAILED: 'PrefaultFailed',
    SIZE_OVERFLOW: 'SizeOverflow',
    CANCELLED: 'Cancelled',
    SYSTEM: 'System',
  },
  HugepageShortage: { FAIL: 'Fail', FALL_BACK: 'FallBack' },
  IfExists: { ERROR: 'Error', RETURN: 'Return' },
  Layout: { LAYER_FIRST: 'LayerFirst', PAGE_FIRST: 'PageFirst', PAGE_FIRST_DIRECT: 'PageFirstDirect' },
  MemoryLimit: {
    HOST_MEMORY: 'HostMemory',
    CGROUP: 'Cgroup',
    HUGEPAGES: 'Hugepages',
    NUMA_NODE: 'NumaNode',
    BUDGET_CAP: 'BudgetCap',
    RANK_SHARE: 'RankShare',
  },
  PoolKind: { LOGICAL: 'Logical', V4_PAGED: 'V4Paged' },
  PoolState: {
    ALLOCATING: 'Allocating',
    PREFAULTING: 'Prefaulting',
    READY: 'Ready',
    FAILED: 'Failed',
    DESTROYING: 'Destroying',
  },
  SaveFailure: { DISK_FULL: 'DiskFull', READ_ONLY: 'ReadOnly', IO: 'Io' },
  ReservationState: {
    HELD: 'Held',
    COMMITTED: 'Committed',
    RELEASED: 'Released',
    EXPIRED: 'Expired',
    OWNER_DIED: 'OwnerDied',
  },
} satisfies Partial<Resolvers>;
