import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { poll } from '../../src/allocator/poll.js';

describe('a poll', () => {
  it('ends with a look that throws, and lets go of its signal', async () => {
    const { signal } = new AbortController();
    const looks = poll(1, () => Promise.reject(new Error('unreadable')), signal);
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    await expect(looks.next()).rejects.toThrow('unreadable');
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    expect(await looks.next()).toEqual({ value: undefined, done: true });
  });
});
