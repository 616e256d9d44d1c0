import { describe, expect, it, vi } from 'vitest';
import { Activity } from '../../src/allocator/activity.js';
import { closeAll, settle } from '../../src/allocator/closing.js';

const never = () => new Promise<never>(() => undefined);
const nothing = { cancelRunning: () => undefined, closeAll: async () => 0 };

describe('settling', () => {
  it('ends although something never does, and has asked it to stop', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const activity = new Activity();
    void activity.track(never);
    const cancelRunning = vi.fn();
    const settling = settle(activity, [{ ...nothing, cancelRunning }], 10_000);
    await vi.advanceTimersByTimeAsync(9_000);
    expect(cancelRunning).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(60_000);
    await settling;
    expect(cancelRunning).toHaveBeenCalled();
    vi.useRealTimers();
  });

  it('starts nothing more', async () => {
    const activity = new Activity();
    await settle(activity, [], 0);
    expect(activity.closed).toBe(true);
    await expect(activity.track(async () => 1)).rejects.toThrow('shutting down');
  });
});

describe('closing all', () => {
  it('closes what was still being made when it began', async () => {
    const activity = new Activity();
    const open: number[] = [];
    let finish: () => void = () => undefined;
    const making = activity.track(async () => {
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      open.push(4096);
    });
    const holder = { ...nothing, closeAll: async () => open.splice(0).reduce((sum, bytes) => sum + bytes, 0) };
    const closing = closeAll(activity, [holder]);
    finish();
    await making;
    expect(await closing).toBe(4096);
    expect(open).toEqual([]);
  });
});
