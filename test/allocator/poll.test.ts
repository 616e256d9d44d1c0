import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { type Look, poll } from '../../src/allocator/poll.js';

/** Longer than any test may take: whoever waits for it hangs. */
const FOREVER = 2 ** 30;
const done = { value: undefined, done: true };
const listeners = (signal: AbortSignal) => getEventListeners(signal, 'abort').length;

/** Answers with one look after the other, and counts them. */
function looking(looks: Look<number>[]) {
  const look = Object.assign(async () => looks[look.count++] ?? { values: [], last: false }, { count: 0 });
  return look;
}

describe('a poll', () => {
  it('ends with a look that throws, and lets go of its signal', async () => {
    const { signal } = new AbortController();
    const looks = poll(1, () => Promise.reject(new Error('unreadable')), signal);
    expect(listeners(signal)).toBe(1);
    await expect(looks.next()).rejects.toThrow('unreadable');
    expect(listeners(signal)).toBe(0);
    expect(await looks.next()).toEqual(done);
  });

  it('hands on the values of a look one by one, and looks again once they are taken', async () => {
    const look = looking([
      { values: [1, 2, 3], last: false },
      { values: [], last: false },
      { values: [4], last: false },
    ]);
    const looks = poll(1, look, new AbortController().signal);
    for (const value of [1, 2, 3]) expect([await looks.next(), look.count]).toEqual([{ value, done: false }, 1]);
    expect([await looks.next(), look.count]).toEqual([{ value: 4, done: false }, 3]);
    await looks.return?.();
  });

  it('looks again without a pause when there is more', async () => {
    const look = looking([
      { values: [1], last: false, more: true },
      { values: [], last: false, more: true },
      { values: [2], last: false },
    ]);
    const looks = poll(FOREVER, look, new AbortController().signal);
    expect([await looks.next(), await looks.next()]).toMatchObject([{ value: 1 }, { value: 2 }]);
    const paused = looks.next();
    await looks.return?.();
    expect([await paused, look.count]).toEqual([done, 3]);
  });

  it('ends after the values of a last look, and lets go of its signal with the last of them', async () => {
    const { signal } = new AbortController();
    const looks = poll(1, looking([{ values: [1, 2], last: true }]), signal);
    expect(await looks.next()).toEqual({ value: 1, done: false });
    expect(listeners(signal)).toBe(1);
    expect(await looks.next()).toEqual({ value: 2, done: false });
    expect(listeners(signal)).toBe(0);
    expect(await looks.next()).toEqual(done);
  });

  it('ends after a last look without values', async () => {
    const { signal } = new AbortController();
    const looks = poll(1, looking([{ values: [], last: true }]), signal);
    expect([await looks.next(), listeners(signal)]).toEqual([done, 0]);
  });

  it.each([
    ['returns it', (looks: AsyncIterableIterator<number>) => looks.return?.()],
    [
      'throws into it',
      (looks: AsyncIterableIterator<number>) => looks.throw?.(new Error('gone')).catch(() => undefined),
    ],
    ['aborts its signal', (_: unknown, aborting: AbortController) => aborting.abort()],
  ])('drops the values that wait when its consumer %s', async (_how, end) => {
    const aborting = new AbortController();
    const looks = poll(FOREVER, looking([{ values: [1, 2, 3], last: false }]), aborting.signal);
    await looks.next();
    await end(looks, aborting);
    expect([await looks.next(), listeners(aborting.signal)]).toEqual([done, 0]);
  });

  it('ends at once while it pauses, and while it looks', async () => {
    const aborting = new AbortController();
    const pausing = poll(FOREVER, looking([]), aborting.signal);
    let looked: (look: Look<number>) => void = () => undefined;
    const slow = new Promise<Look<number>>((resolve) => {
      looked = resolve;
    });
    const lookingStill = poll(FOREVER, () => slow, aborting.signal);
    const nexts = [pausing.next(), lookingStill.next()];
    await new Promise(setImmediate);
    aborting.abort();
    looked({ values: [1], last: false });
    expect(await Promise.all(nexts)).toEqual([done, done]);
  });

  it('whose signal has aborted before looks never', async () => {
    const look = looking([{ values: [1], last: false }]);
    expect([await poll(1, look, AbortSignal.abort()).next(), look.count]).toEqual([done, 0]);
  });
});
