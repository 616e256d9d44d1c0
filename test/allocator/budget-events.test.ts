import { describe, expect, it, onTestFinished } from 'vitest';
import { type Allocator, createAllocator } from '../../src/allocator/allocator.js';
import type { BudgetEvent } from '../../src/allocator/budget-events.js';
import { isFailure, type Outcome } from '../../src/allocator/failure.js';
import { plainHost } from '../testkit/host-root.js';

/** How many events are kept. */
const KEPT = 10_000;
const log = { info: () => undefined, warn: () => undefined, error: () => undefined };

function openHost(): Allocator {
  const host = plainHost(2 ** 30);
  const allocator = createAllocator({ hostRoot: host.path, reserveBytes: 0, log });
  onTestFinished(async () => {
    await allocator.closeAll();
    host.remove();
  });
  return allocator;
}

function opened<T>(stream: Outcome<T>): T {
  if (isFailure(stream)) throw new Error(stream.message);
  return stream;
}

const watch = async (allocator: Allocator, budget?: string, { signal } = new AbortController()) =>
  opened(await allocator.budgetEvents.watch(budget, signal));

/** So many refusals, one after the other. */
async function refuse(allocator: Allocator, count: number, budget = 'host'): Promise<void> {
  const request = { budget, bytes: 2 ** 40, backing: 'Anonymous', numaNode: -1, holder: 'too large' } as const;
  for (let n = 0; n < count; n += 1) expect(isFailure(await allocator.reservations.reserve(request))).toBe(true);
}

async function take(events: AsyncIterableIterator<BudgetEvent>, count: number): Promise<BudgetEvent[]> {
  const taken = [];
  while (taken.length < count) taken.push((await events.next()).value);
  return taken;
}

describe('watching budgets', () => {
  it('begins with the call, not with what was before and not with the first look', async () => {
    const allocator = openHost();
    await refuse(allocator, 3);
    const watching = allocator.budgetEvents.watch('host', new AbortController().signal);
    const refusing = refuse(allocator, 2);
    const events = opened(await watching);
    await refusing;
    expect(await take(events, 2)).toMatchObject([
      { sequence: 4, missed: 0 },
      { sequence: 5, missed: 0 },
    ]);
    await events.return?.();
  });

  it('tells who reads too slowly how many are gone, once', async () => {
    const allocator = openHost();
    const [slow, prompt] = [await watch(allocator), await watch(allocator)];
    await refuse(allocator, 1);
    expect(await take(slow, 1)).toMatchObject([{ sequence: 1, missed: 0 }]);
    for (let n = 0; n < KEPT / 1000; n += 1) {
      await refuse(allocator, 1000);
      for (const { missed } of await take(prompt, 1000)) expect(missed).toBe(0);
    }
    await refuse(allocator, 50);
    const late = await take(slow, 150);
    expect(late[0]).toMatchObject({ sequence: 52, missed: 50 });
    expect(late.slice(1).map(({ sequence, missed }) => [sequence, missed])).toEqual(
      Array.from({ length: 149 }, (_, n) => [53 + n, 0]),
    );
    for (const events of [slow, prompt]) await events.return?.();
  });

  it('of one budget counts what is gone until there is an event of its own', async () => {
    const allocator = openHost();
    await allocator.budgets.create({ name: 'quiet', ranks: 1, ifExists: 'Error' });
    const events = await watch(allocator, 'quiet');
    await refuse(allocator, KEPT + 7);
    const next = take(events, 1);
    await refuse(allocator, 1, 'quiet');
    expect(await next).toMatchObject([{ budget: 'quiet', sequence: KEPT + 8 }]);
    expect((await next)[0]?.missed).toBeGreaterThanOrEqual(7);
    await events.return?.();
  });

  it('ends when its signal aborts', async () => {
    const aborting = new AbortController();
    const events = await watch(openHost(), undefined, aborting);
    const next = events.next();
    aborting.abort();
    expect(await next).toEqual({ value: undefined, done: true });
  });

  it('of a budget that is not there is refused by its name', async () => {
    const refused = await openHost().budgetEvents.watch('nobody', new AbortController().signal);
    expect(refused).toMatchObject({ kind: 'NotFound', id: 'nobody', message: 'There is no budget "nobody".' });
  });
});
