import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Failure, MemoryPlacement } from '../../native/index.js';
import { type Allocator, createAllocator } from '../../src/allocator/allocator.js';
import { isFailure } from '../../src/allocator/failure.js';
import { type Mapping, MemoryLife } from '../../src/allocator/lifecycle.js';
import { MAX_FAILED, MAX_LIVE, type Registered, Registry } from '../../src/allocator/registry.js';
import { State } from '../../src/allocator/state.js';
import { plainHost } from '../testkit/host-root.js';

const log = pino({ level: 'silent' });
const failure = { kind: 'HostBufferAllocationFailed', reason: 'PrefaultFailed' } as Failure;

/** A mapping whose prefault ends as given, and whose close takes until `unmap` resolves. */
function mapping(prefaulted: Failure | undefined, unmap: Promise<unknown> = Promise.resolve()): Mapping {
  return {
    placement: () => ({ mappedBytes: 4096, mappings: 1, actualBacking: 'Anonymous' }) as MemoryPlacement,
    progress: () => ({ residentBytes: 0, totalBytes: 4096, done: false, threads: 0 }),
    prefault: async () => prefaulted,
    cancel: () => undefined,
    close: async () => {
      await unmap;
      return 4096;
    },
  };
}

async function add(registry: Registry<Registered>, life: MemoryLife<Mapping>, keepFailed = false): Promise<Registered> {
  const entry = { ...registry.newIdentity(), kind: 'Thing', name: undefined, request: {}, life };
  const make = () => registry.addOne(entry, { keepFailed });
  return (await registry.create({ name: undefined, ifExists: 'Error', specification: {}, make })) as Registered;
}

const newRegistry = () =>
  new Registry<Registered>('pool', 'pool', { log, now: () => new Date(), state: new State(undefined) });

describe('failed entries', () => {
  it('let go of the addon, keep their figures, and the oldest go when there are too many', async () => {
    const registry = newRegistry();
    const lives = Array.from({ length: MAX_FAILED + 2 }, () => new MemoryLife(mapping(failure), true));
    const entries = await Promise.all(lives.map((life) => add(registry, life, true)));
    await Promise.all(lives.map((life) => life.settled));
    await new Promise(setImmediate);
    expect(registry.list().map(({ id }) => id)).toEqual(entries.slice(2).map(({ id }) => id));
    expect(lives.at(-1)).toMatchObject({ state: 'Failed', mapped: undefined });
    expect(lives.at(-1)?.placement()).toMatchObject({ mappedBytes: 0, actualBacking: 'Anonymous' });
    expect(lives.at(-1)?.progress()).toMatchObject({ totalBytes: 4096 });
  });

  it('are gone when their maker was told', async () => {
    const registry = newRegistry();
    const life = new MemoryLife(mapping(failure), true);
    await add(registry, life);
    await life.settled;
    await new Promise(setImmediate);
    expect(registry.list()).toEqual([]);
  });
});

describe('removing all', () => {
  it('waits for what is being removed already', async () => {
    const registry = newRegistry();
    let unmapped: () => void = () => undefined;
    const unmap = new Promise<void>((resolve) => {
      unmapped = resolve;
    });
    const entry = await add(registry, new MemoryLife(mapping(undefined, unmap), false));
    const order: string[] = [];
    void registry.remove(entry).then(() => order.push('removed'));
    const removing = registry.unmapAll().then(() => order.push('all removed'));
    await new Promise(setImmediate);
    expect(order).toEqual([]);
    unmapped();
    await removing;
    expect(order).toEqual(['removed', 'all removed']);
  });
});

describe('at most 10,000 live', () => {
  async function openHost(): Promise<Allocator> {
    const host = plainHost(2 ** 30);
    const allocator = createAllocator({ hostRoot: host.path, reserveBytes: 0, log });
    onTestFinished(async () => {
      await allocator.closeAll();
      host.remove();
    });
    return allocator;
  }

  it('pools', async () => {
    const { pools } = await openHost();
    const make = (n: number) =>
      pools.createLogical({ name: `p${n}`, size: 8, pageSize: 8, layout: 'LayerFirst', ifExists: 'Error' });
    const made = await Promise.all(Array.from({ length: MAX_LIVE + 10 }, (_, n) => make(n)));
    const refused = made.filter(isFailure);
    expect(refused).toHaveLength(10);
    expect(refused[0]).toMatchObject({
      kind: 'InvalidArgument',
      field: 'name',
      message: expect.stringContaining('At most 10000 pools'),
    });
    await pools.destroy(pools.list()[0]?.id ?? '');
    expect(await make(MAX_LIVE + 10)).toMatchObject({ kind: 'LogicalHostPool' });
  });

  it('buffers', async () => {
    const { buffers } = await openHost();
    const memory = { backing: 'Anonymous', onHugepageShortage: 'Fail', numaNode: -1, prefault: false } as const;
    const make = () => buffers.allocate({ nbytes: 1, budget: 'host', wait: true, memory });
    const made = await Promise.all(Array.from({ length: MAX_LIVE + 10 }, make));
    const refused = made.filter(isFailure);
    expect(refused).toHaveLength(10);
    expect(refused[0]).toMatchObject({
      kind: 'InvalidArgument',
      field: 'name',
      message: expect.stringContaining('At most 10000 host buffers'),
    });
  });
});
