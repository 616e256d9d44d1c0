import { AREAS, type Area, type Severity } from '../doctor/finding.js';
import type { DoctorReport, ReportedFinding } from './doctor-report.js';

/** How the text is to look. */
export interface TextStyle {
  /** Columns to fill; commands and lines for files are never broken. */
  readonly width: number;
  readonly colour: boolean;
}

const HEADINGS: Record<Area, string> = {
  KERNEL: 'Kernel',
  PERMISSIONS: 'Permissions',
  LIMITS: 'Limits',
  MEMORY: 'Memory',
  HUGEPAGES: 'Hugepages',
  NUMA: 'NUMA',
  STATE: 'State',
  WISHES: 'Wishes',
};

const MARKS: Record<Severity, string> = { OK: 'ok', INFO: 'info', WARNING: 'warn', ERROR: 'ERROR' };
/** Select Graphic Rendition (ECMA-48): green, cyan, yellow, red and bold. */
const COLOURS: Record<Severity, string> = { OK: '32', INFO: '36', WARNING: '33', ERROR: '1;31' };
const BOLD = '1';

const LEFT = 2;
const MARK_WIDTH = 7;
const GAP = 2;
/** The least that is left to a sentence, however long an id is. */
const LEAST_TEXT = 30;

/** The findings as people read them: area by area, in columns, with what to do below each. */
export function doctorText(report: DoctorReport, source: string, style: TextStyle): string {
  const idWidth = Math.max(0, ...report.findings.map(({ id }) => id.length));
  const areas = AREAS.filter((area) => report.findings.some((finding) => finding.area === area));
  const sections = areas.map((area) => {
    const findings = report.findings.filter((finding) => finding.area === area);
    return [
      paint(HEADINGS[area], BOLD, style),
      ...findings.flatMap((finding) => findingText(finding, idWidth, style)),
    ].join('\n');
  });
  return `${[heading(report, source, style), ...sections, summary(report, style)].join('\n\n')}\n`;
}

function heading({ hostname }: DoctorReport, source: string, style: TextStyle): string {
  const title = `hostpool doctor${hostname === null ? '' : `: ${hostname}`}`;
  return [paint(title, BOLD, style), ...wrap(source, style.width - LEFT).map((line) => indent(line, LEFT))].join('\n');
}

/** What is well takes a sentence; the rest a title, the figures, and what to do. */
function findingText(finding: ReportedFinding, idWidth: number, style: TextStyle): string[] {
  const { severity, id, title, detail, steps } = finding;
  const left = LEFT + MARK_WIDTH + idWidth + GAP;
  const room = Math.max(LEAST_TEXT, style.width - left);
  const text =
    severity === 'OK' ? wrap(`${title}. ${detail}`, room) : [...wrap(`${title}.`, room), ...wrap(detail, room)];
  const [first = '', ...rest] = text;
  const mark = paint(MARKS[severity].padEnd(MARK_WIDTH), COLOURS[severity], style);
  const head = `${' '.repeat(LEFT)}${mark}${id.padEnd(idWidth + GAP)}${first}`;
  const todo = steps.flatMap((step) => stepText(step, room));
  return [head, ...[...rest, ...todo].map((line) => indent(line, left))];
}

function stepText({ summary, command, file, line }: ReportedFinding['steps'][number], room: number): string[] {
  const inner = room - LEFT;
  const told = (text: string) => wrap(text, inner).map((part, index) => `${index === 0 ? '- ' : '  '}${part}`);
  if (command !== null) return [...told(`${summary}:`), `    ${command}`];
  if (line !== null) return [...told(`${summary}, in ${file ?? 'its settings'}:`), `    ${line}`];
  return told(summary);
}

function summary({ findings }: DoctorReport, style: TextStyle): string {
  const wishes = [...new Set(findings.flatMap(({ wishes }) => wishes))];
  const warnings = findings.filter(({ severity }) => severity === 'WARNING').length;
  const beside = warnings === 0 ? '' : ` ${warnings} ${warnings === 1 ? 'warning' : 'warnings'} beside.`;
  const verdict =
    wishes.length === 0 ? paint('All that is configured can be met.', COLOURS.OK, style) : blocked(wishes, style);
  return `${verdict}${beside}`;
}

function blocked(wishes: string[], style: TextStyle): string {
  return wrap(`Cannot be met: ${wishes.join(', ')}.`, style.width)
    .map((line) => paint(line, COLOURS.ERROR, style))
    .join('\n');
}

/** Lines of whole words, no longer than `width` unless one word is. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

function indent(line: string, columns: number): string {
  return `${' '.repeat(columns)}${line}`;
}

function paint(text: string, colour: string, { colour: isOn }: TextStyle): string {
  return isOn ? `\u001b[${colour}m${text}\u001b[0m` : text;
}

/** How to write to a stream: in colour on a terminal only, unless NO_COLOR is set (https://no-color.org). */
export function styleFor(stream: { isTTY?: boolean; columns?: number }, env: NodeJS.ProcessEnv): TextStyle {
  const width = Math.min(120, Math.max(60, stream.columns ?? 100));
  return { width, colour: stream.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb' };
}
