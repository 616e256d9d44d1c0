import { describe, expect, it } from 'vitest';
import { readDoctorArguments } from '../../src/cli/doctor-arguments.js';

describe('the arguments of hostpool doctor', () => {
  it('need not be there', () => {
    expect(readDoctorArguments([])).toEqual({ kind: 'Doctor', json: false, local: false, wish: undefined });
  });

  it('describe memory that is not configured', () => {
    const args =
      '--backing ANONYMOUS_SHM_HUGETLB --hugepage-size 1GiB --bytes 64GiB --numa-node 1 --lock-memory --json';
    expect(readDoctorArguments(args.split(' '))).toMatchObject({
      json: true,
      wish: {
        bytes: 64 * 2 ** 30,
        memory: { backing: 'AnonymousShmHugetlb', hugepageSize: 2 ** 30, numaNode: 1, lockMemory: true },
      },
    });
  });

  it('take a size of hugepages alone for a wish of them, and any other for ordinary pages', () => {
    const backing = (...args: string[]) => {
      const asked = readDoctorArguments(args);
      return asked.kind === 'Doctor' ? asked.wish?.memory.backing : asked;
    };
    expect(backing('--hugepage-size', '2MiB')).toBe('AnonymousShmHugetlb');
    expect(backing('--bytes', '1GiB')).toBe('AnonymousShm');
    expect(backing('--numa-node=-1')).toBe('AnonymousShm');
    expect(backing('--lock-memory')).toBe('AnonymousShm');
  });

  it('are refused all at once, each with what it accepts', () => {
    const asked = readDoctorArguments([
      '--backing',
      'HUGE',
      '--bytes',
      '0',
      '--numa-node',
      'one',
      '--hugepage-size',
      'big',
    ]);
    expect(asked).toMatchObject({
      kind: 'Invalid',
      problems: [
        expect.stringContaining('ANONYMOUS_SHM_HUGETLB'),
        expect.stringContaining('--bytes'),
        expect.stringContaining('--hugepage-size'),
        expect.stringContaining('--numa-node'),
      ],
    });
  });

  it.each([['--fix'], ['now'], ['--bytes']])('are refused when they are unknown or lack a value: %s', (arg) => {
    expect(readDoctorArguments([arg])).toMatchObject({ kind: 'Invalid', problems: [expect.stringContaining(arg)] });
  });

  it('ask for help', () => {
    expect(readDoctorArguments(['-h'])).toEqual({ kind: 'Help' });
  });
});
