import { describe, expect, it } from 'vitest';
import type { Failure, HostAllocator, LogicalHostPool, MemoryPlacement, V4PagedHostPool } from '../../native/index.js';
import { Activity } from '../../src/allocator/activity.js';
import { isFailure } from '../../src/allocator/failure.js';
import { type PoolEntry, poolState } from '../../src/allocator/pool.js';
import type { CreatePoolGroupRequest, PoolGroup } from '../../src/allocator/pool-group.js';
import { PoolGroups } from '../../src/allocator/pool-groups.js';
import { Pools } from '../../src/allocator/pools.js';
import { MAX_LIVE, Registry } from '../../src/allocator/registry.js';
import { Repeats } from '../../src/allocator/repeats.js';
import { State } from '../../src/allocator/state.js';

const prefaultFailed = { kind: 'HostBufferAllocationFailed', reason: 'PrefaultFailed' } as Failure;
const cancelled = { kind: 'HostBufferAllocationFailed', reason: 'Cancelled' } as Failure;

/** A pool of the addon whose prefault ends when the test says so, or as cancelled. */
class FakePool {
  closed = false;
  #end: (outcome: Failure | undefined) => void = () => undefined;
  #break: (bug: Error) => void = () => undefined;
  readonly #ended = new Promise<Failure | undefined>((resolve, reject) => {
    this.#end = resolve;
    this.#break = reject;
  });
  readonly requestedBytes = 4096;
  end = (outcome?: Failure) => this.#end(outcome);
  break = (bug: Error) => this.#break(bug);
  placement = () => ({ mappedBytes: 4096, mappings: 1, fellBack: false }) as MemoryPlacement;
  progress = () => ({ residentBytes: 0, totalBytes: 4096, done: false, threads: 1 });
  stats = () => ({ pageCount: 4 });
  prefault = () => this.#ended;
  cancel = () => this.#end(cancelled);
  close = async () => {
    this.cancel();
    this.closed = true;
    return 4096;
  };
}

class FakeAnchor {
  closed = false;
  close = () => {
    this.closed = true;
  };
}

/** The service over an addon that maps whatever it is asked for. */
function open() {
  const [pools, anchor] = [[new FakePool(), new FakePool(), new FakePool()], new FakeAnchor()];
  const mapped = {
    anchorPages: 4,
    anchor: anchor as unknown as LogicalHostPool,
    pools: pools as unknown as V4PagedHostPool[],
  };
  let mapping: () => Promise<typeof mapped | Failure> = async () => mapped;
  const native = { mapPoolGroup: () => mapping() } as unknown as HostAllocator;
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const state = new State(undefined);
  const deps = { native, log, now: () => new Date(), activity: new Activity(), state, repeats: new Repeats(state) };
  const registry = new Registry<PoolEntry>('pool', 'pool', deps);
  const service = new Pools(deps, registry);
  const groups = new PoolGroups(deps, service, registry);
  const mapAs = (how: typeof mapping) => {
    mapping = how;
  };
  return { pools, anchor, registry, service, groups, mapAs };
}

function request(more: Partial<CreatePoolGroupRequest> = {}): CreatePoolGroupRequest {
  const memory = { backing: 'Anonymous', onHugepageShortage: 'Fail', numaNode: -1, prefault: true } as const;
  const shape = { layerNum: 1, itemBytes: 1024, slotPageSize: 1, layout: 'LayerFirst', pagesPerAnchorPage: 1 } as const;
  const pools = ['a', 'b', 'c'].map((name) => ({ name, ...shape }));
  return { budget: 'host', memory, pools, anchorPages: 4, wait: true, ifExists: 'Error', ...more };
}

const nextTurn = () => new Promise(setImmediate);

describe('a group of which one prefault fails', () => {
  it('stops the others, gives everything back and answers with that failure when it was waited for', async () => {
    const { pools, anchor, registry, groups } = open();
    const making = groups.create(request());
    await nextTurn();
    expect(registry.list().map(poolState)).toEqual(['Prefaulting', 'Prefaulting', 'Prefaulting', 'Ready']);
    pools[0]?.end();
    await nextTurn();
    pools[2]?.end(prefaultFailed);
    expect(await making).toEqual(prefaultFailed);
    expect(registry.list()).toEqual([]);
    expect(await pools[1]?.prefault(), 'a cancelled prefault gives its memory back by itself').toEqual(cancelled);
    expect([pools[0]?.closed, anchor.closed]).toEqual([true, true]);
    for (const name of ['a', 'b', 'c', 'a.anchor']) expect(registry.holderOf(name)).toBeUndefined();
  });

  it('keeps it as failed, and the others, when it was not waited for', async () => {
    const { pools, anchor, registry, groups } = open();
    const group = (await groups.create(request({ wait: false }))) as PoolGroup;
    expect(group.pools.map(poolState)).toEqual(['Prefaulting', 'Prefaulting', 'Prefaulting']);
    pools[1]?.end(prefaultFailed);
    pools[0]?.end();
    pools[2]?.end();
    await nextTurn();
    expect(registry.list().map(poolState)).toEqual(['Ready', 'Failed', 'Ready', 'Ready']);
    expect(registry.holderOf('b')).toBeUndefined();
    expect(registry.holderOf('a.anchor')).toBeDefined();
    expect([pools[0]?.closed, anchor.closed]).toEqual([false, false]);
  });

  it('gives everything back when it breaks', async () => {
    const { pools, registry, groups } = open();
    const making = groups.create(request());
    await nextTurn();
    pools[1]?.break(new Error('a bug'));
    await expect(making).rejects.toThrow('a bug');
    expect(registry.list()).toEqual([]);
    expect(registry.holderOf('a')).toBeUndefined();
  });

  it('because everything is being stopped is told so, and leaves nothing', async () => {
    const { registry, service, groups } = open();
    const making = groups.create(request());
    await nextTurn();
    service.cancelRunning();
    expect(await making).toEqual(cancelled);
    expect(registry.list()).toEqual([]);
  });

  it('is told to those who share it, who take nothing away', async () => {
    const { pools, groups } = open();
    const unwaited = (await groups.create(request({ wait: false }))) as PoolGroup;
    const sharing = groups.create(request({ ifExists: 'Return' }));
    await nextTurn();
    pools[1]?.end(prefaultFailed);
    pools[0]?.end();
    pools[2]?.end();
    expect(await sharing).toEqual(prefaultFailed);
    expect(unwaited.pools.map(poolState)).toEqual(['Ready', 'Failed', 'Ready']);
  });
});

describe('a group that could not be mapped', () => {
  it('gives its names back, and those who wait for it are told the same', async () => {
    const { registry, groups, mapAs } = open();
    mapAs(async () => prefaultFailed);
    const answers = await Promise.all([groups.create(request()), groups.create(request({ ifExists: 'Return' }))]);
    expect(answers).toMatchObject([prefaultFailed, prefaultFailed]);
    expect(registry.holderOf('a')).toBeUndefined();
    mapAs(async () => Promise.reject(new Error('a bug')));
    await expect(groups.create(request())).rejects.toThrow('a bug');
    expect(registry.holderOf('a.anchor')).toBeUndefined();
    expect(registry.list()).toEqual([]);
  });
});

describe('the names of a group', () => {
  it('are all taken before anything is mapped', async () => {
    const { pools, registry, groups, mapAs } = open();
    const taken: boolean[] = [];
    mapAs(async () => {
      for (const name of ['a', 'b', 'c', 'a.anchor']) taken.push(registry.holderOf(name) !== undefined);
      return prefaultFailed;
    });
    await groups.create(request());
    expect(taken).toEqual([true, true, true, true]);
    expect(pools.some(({ closed }) => closed)).toBe(false);
  });

  it('can be no more than there is room for', async () => {
    const { registry, groups } = open();
    const entry = () => ({ ...registry.newIdentity(), name: 'x', kind: 'LogicalHostPool', request: {} }) as PoolEntry;
    const make = () => registry.addOne(entry(), { keepFailed: false });
    const creation = { name: undefined, ifExists: 'Error', specification: {}, make } as const;
    await Promise.all(Array.from({ length: MAX_LIVE - 3 }, () => registry.create(creation)));
    const refused = await groups.create(request());
    expect(isFailure(refused) && refused).toMatchObject({ kind: 'InvalidArgument', field: 'pools' });
    expect(registry.list()).toHaveLength(MAX_LIVE - 3);
  });
});

describe('a group that is the most that fits', () => {
  it('is known by its sizes once they are decided, and not before', async () => {
    const { pools, registry, groups } = open();
    const making = groups.create(request({ anchorPages: undefined }));
    expect(registry.holderOf('a')?.specification.numHostPages).toBeUndefined();
    const other = await groups.create(request({ anchorPages: 4, ifExists: 'Return' }));
    expect(isFailure(other) && other).toMatchObject({ kind: 'NameTaken', name: 'a', differs: ['numHostPages'] });
    await nextTurn();
    expect(registry.holderOf('a')?.specification.numHostPages).toBe(4);
    expect(registry.holderOf('a.anchor')?.specification.size).toBe(4);
    for (const pool of pools) pool.end();
    const group = (await making) as PoolGroup;
    expect(await groups.create(request({ anchorPages: 4, ifExists: 'Return' }))).toEqual(group);
    expect(await groups.create(request({ anchorPages: undefined, ifExists: 'Return' }))).toEqual(group);
  });
});
