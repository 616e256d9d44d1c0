// How schema types map to the types that the service hands to resolvers.
const native = '../../../native/index.js';
const allocator = '../../allocator';
const failures = [
  'LogicalPoolSizeNotPageAligned',
  'LogicalPoolAllocationNotPageAligned',
  'LogicalPoolFreeNotPageAligned',
  'InsufficientHostMemory',
  'HostBufferAllocationFailed',
  'PoolExhausted',
  'DoubleFree',
  'SlotOutOfRange',
  'PoolNotReady',
  'NotFound',
  'NameTaken',
  'InUse',
  'BudgetExceeded',
  'BudgetAdmissionClosed',
  'InvalidArgument',
];
const failureMappers = Object.fromEntries(
  failures.map((name) => [name, `${allocator}/failure.js#FailureOf<'${name}'>`]),
);

const resultMappers = Object.fromEntries(
  [
    'AllocateHostBuffer',
    'AllocateSlots',
    'Budget',
    'ClearPool',
    'CreateLogicalHostPool',
    'CreateV4PagedPool',
    'DestroyPool',
    'FreeHostBuffer',
    'FreeSlots',
    'PlanV4PagedPool',
  ].map((name) => [`${name}Result`, `../../resolvers/results.js#${name}Outcome`]),
);

export const codegenConfig = {
  useTypeImports: true,
  emitLegacyCommonJSImports: false,
  importExtension: '.js',
  enumsAsTypes: true,
  avoidOptionals: { field: true, defaultValue: true },
  maybeValue: 'T | null | undefined',
  scalars: { Bytes: 'number', Count: 'number', DateTime: 'Date', ID: 'string' },
  strictScalars: true,
  enumValues: {
    Backing: `${native}#Backing`,
    HostBufferFailure: `${native}#HostBufferFailure`,
    HugepageShortage: `${native}#OnHugepageShortage`,
    IfExists: `${allocator}/specification.js#IfExists`,
    Layout: `${native}#Layout`,
    MemoryLimit: `${native}#MemoryLimit`,
    PoolKind: `${allocator}/pool.js#PoolKind`,
    PoolState: `${allocator}/lifecycle.js#PoolState`,
  },
  contextType: '../../resolvers/context.js#RequestContext',
  mappers: {
    ...failureMappers,
    ...resultMappers,
    Remedy: '../../errors/remedy.js#Remedy as RemedyModel',
    Budget: `${allocator}/budgets.js#Budget as BudgetModel`,
    Host: `${allocator}/host.js#Host as HostModel`,
    HostBuffer: `${allocator}/host-buffer.js#HostBufferEntry`,
    LogicalHostPool: `${allocator}/pool.js#LogicalPoolEntry`,
    V4PagedHostPool: `${allocator}/pool.js#PagedPoolEntry`,
    Pool: `${allocator}/pool.js#PoolEntry`,
    PoolCleared: `${allocator}/pool.js#PoolCleared as PoolClearedModel`,
    PoolDestroyed: `${allocator}/pool.js#PoolDestroyed as PoolDestroyedModel`,
    HostBufferFreed: `${allocator}/host-buffer.js#HostBufferFreed as HostBufferFreedModel`,
    SlotAllocation: `${allocator}/slots.js#SlotAllocation as SlotAllocationModel`,
    SlotsFreed: `${allocator}/slots.js#SlotsFreed as SlotsFreedModel`,
    V4PagedPoolPlan: `${allocator}/pool.js#PagedPoolPlan`,
    MemoryPlacement: `${native}#MemoryPlacement as MemoryPlacementModel`,
    Prefault: `${native}#PrefaultProgress`,
    HugepagePool: `${native}#HugepagePool as HugepagePoolModel`,
    NumaNode: `${native}#NumaNode as NumaNodeModel`,
    CgroupMemory: `${native}#CgroupMemory as CgroupMemoryModel`,
  },
};
