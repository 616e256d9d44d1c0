import { describe, expect, it } from 'vitest';
import type { Failure } from '../../src/allocator/failure.js';
import { type Recorded, Records } from '../../src/allocator/records.js';
import type { Changes, State } from '../../src/allocator/state.js';

const full = { kind: 'StateNotSaved' } as Failure;
const answer = { operation: 'create', key: 'k', request: 'digest', result: '1' };
const thing = (number: number): Recorded => ({
  kind: 'Thing',
  number,
  name: 'kv',
  createdAt: new Date(0),
  request: {},
});

/** A state that is full while it is told to be, and what was saved. */
function open() {
  const saved: Changes[] = [];
  const disk = { isFull: false };
  const save = async (changes: Changes) => {
    if (disk.isFull) return full;
    saved.push(changes);
    return undefined;
  };
  return { saved, disk, records: new Records<Recorded>('Pool', { save } as unknown as State) };
}

const numbers = (entries: { number: number }[] | undefined) => entries?.map(({ number }) => number);

describe('what comes to nothing', () => {
  it('goes together with its answer, and what it replaced is kept again', async () => {
    const { saved, records } = open();
    const [old, first, second] = [thing(1), thing(2), thing(3)];
    records.adopt(old);
    await records.save([first, second], [old], answer);
    expect(await records.takeBack([first, second], [old], answer)).toBeUndefined();
    expect(saved).toHaveLength(2);
    expect(numbers(saved[1]?.drop)).toEqual([2, 3]);
    expect(numbers(saved[1]?.put)).toEqual([1]);
    expect(saved[1]?.dropAnswers).toEqual([answer]);
    expect(await records.drop(old)).toBeUndefined();
    expect(numbers(saved[2]?.drop)).toEqual([1]);
  });

  it('and cannot be saved goes with the next save, before what that keeps', async () => {
    const { saved, disk, records } = open();
    const [first, second] = [thing(1), thing(2)];
    await records.save([first], [], answer);
    disk.isFull = true;
    expect(await records.takeBack([first], [], answer)).toBe(full);
    expect(await records.drop(first), 'it is owed, not kept').toBeUndefined();
    disk.isFull = false;
    await records.save([second], [], answer);
    expect(numbers(saved[1]?.drop)).toEqual([1]);
    expect(numbers(saved[1]?.put)).toEqual([2]);
    expect(saved[1]?.dropAnswers).toEqual([answer]);
    await records.settle();
    expect(saved, 'nothing is owed any more').toHaveLength(2);
  });

  it('is not kept again for what has been replaced since', async () => {
    const { saved, disk, records } = open();
    const [old, failed, next] = [thing(1), thing(2), thing(3)];
    records.adopt(old);
    await records.save([failed], [old], undefined);
    disk.isFull = true;
    await records.takeBack([failed], [old], undefined);
    disk.isFull = false;
    await records.save([next], [old], undefined);
    expect(numbers(saved[1]?.put)).toEqual([3]);
    expect(numbers(saved[1]?.drop)).toEqual([2, 1]);
  });
});
