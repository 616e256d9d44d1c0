import { describe, expect, it } from 'vitest';
import type { DoctorReport, ReportedFinding } from '../../src/cli/doctor-report.js';
import { doctorText, styleFor, wrap } from '../../src/cli/doctor-text.js';

const COMMAND = 'echo 32768 | sudo tee /sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages';

function finding(changed: Partial<ReportedFinding>): ReportedFinding {
  const detail = 'A sentence with the figures of this host that is long enough to be broken at every width. '
    .repeat(3)
    .trim();
  const base = { id: 'memory', area: 'MEMORY', severity: 'OK', title: 'A title', detail } as const;
  return { ...base, steps: [], commands: [], wishes: [], ...changed };
}

const step = { summary: 'Now, on the host', command: COMMAND, file: null, line: null };
const line = {
  summary: 'At each boot',
  command: null,
  file: '/etc/default/grub',
  line: 'GRUB_CMDLINE_LINUX="hugepages=1:32768"',
};
const words = {
  summary: 'Or do without: a step of words alone, which is broken like any other text',
  command: null,
  file: null,
  line: null,
};

const report: DoctorReport = {
  observedAt: '2026-01-01T00:00:00.000Z',
  hostname: 'gpu-7',
  stateFile: null,
  severity: 'ERROR',
  canMeet: false,
  findings: [
    finding({}),
    finding({ id: 'a-rather-long-id', severity: 'INFO' }),
    finding({ id: 'reserve', severity: 'WARNING', steps: [words] }),
    finding({
      id: 'wish',
      area: 'WISHES',
      severity: 'ERROR',
      steps: [step, line],
      commands: [COMMAND],
      wishes: ['pool "kv"'],
    }),
  ],
};

const textOf = (width: number, colour = false) => doctorText(report, 'As this process sees it.', { width, colour });

describe('the text of hostpool doctor', () => {
  it.each([60, 80, 100, 120])('keeps within %i columns, but for what is to be copied', (width) => {
    const copied = [COMMAND, line.line];
    const lines = textOf(width).split('\n');
    const long = lines.filter((text) => text.length > width && !copied.includes(text.trim()));
    expect(long).toEqual([]);
    for (const whole of copied) expect(lines.map((text) => text.trim())).toContain(whole);
  });

  it('has one column for severities, one for ids, and one for what is said', () => {
    const lines = textOf(80).split('\n');
    const heads = lines.filter((text) => /^ {2}(ok|info|warn|ERROR) /.test(text));
    expect(heads.map((text) => text.slice(2, 9).trim())).toEqual(['ok', 'info', 'warn', 'ERROR']);
    expect(heads.map((text) => text.slice(9, 27).trim())).toEqual(['memory', 'a-rather-long-id', 'reserve', 'wish']);
    expect(heads.every((text) => text.slice(27).startsWith('A title.'))).toBe(true);
    const below = lines.filter((text) => text.startsWith('     '));
    expect(below.length).toBeGreaterThan(8);
    expect(below.every((text) => text.startsWith(' '.repeat(27)))).toBe(true);
  });

  it('says which wishes cannot be met, and how many warnings are beside', () => {
    expect(textOf(80)).toMatch(/\n\nCannot be met: pool "kv"\. 1 warning beside\.\n$/);
    const met = { ...report, findings: [finding({})] };
    expect(doctorText(met, '', { width: 80, colour: false })).toMatch(/\n\nAll that is configured can be met\.\n$/);
  });

  it('is in colour only when it is to be', () => {
    expect(textOf(80)).not.toContain('\u001b');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters
    expect(textOf(80, true).replaceAll(/\u001b\[[\d;]*m/g, '')).toBe(textOf(80));
    expect(textOf(80, true)).toContain('\u001b[1;31mERROR');
  });
});

describe('the style of a stream', () => {
  it('has colour on a terminal, unless NO_COLOR or a dumb terminal says otherwise', () => {
    expect(styleFor({ isTTY: true, columns: 80 }, {})).toEqual({ width: 80, colour: true });
    expect(styleFor({ isTTY: true, columns: 80 }, { NO_COLOR: '1' }).colour).toBe(false);
    expect(styleFor({ isTTY: true, columns: 80 }, { TERM: 'dumb' }).colour).toBe(false);
    expect(styleFor({}, {})).toEqual({ width: 100, colour: false });
  });

  it('has a width that can be read', () => {
    expect(styleFor({ columns: 20 }, {}).width).toBe(60);
    expect(styleFor({ columns: 400 }, {}).width).toBe(120);
  });
});

it('a word that is longer than a line has one to itself', () => {
  expect(wrap('a bb cccccccc d', 4)).toEqual(['a bb', 'cccccccc', 'd']);
});
