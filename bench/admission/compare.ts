import { readFileSync } from 'node:fs';

const WARM_ROUNDS = 2;
const ROUNDS = 5;
/** Reads of sockets come in bunches: that part may differ. Walking the charges would multiply it. */
const READS_MAY_GROW_TO = 1.2;

/** A way to have decisions made, with so many charges live beside them. */
export interface Door {
  readonly live: number;
  /** The process that decides. */
  readonly pid: number;
  /** Has decisions made one after the other for a moment. */
  decide(): Promise<Decisions>;
  close(): Promise<void>;
}

/** How many decisions were made, and in what time. */
export interface Decisions {
  readonly count: number;
  readonly seconds: number;
}

interface Figures {
  readonly door: Door;
  readonly perSecond: number[];
  decisions: number;
  reads: number;
}

/**
 * Lets the doors take turns and prints the median rates, each beside the first's. Throws when a decision behind a later door
 * takes more reads of files than behind the first.
 */
export async function compare(name: string, doors: Door[]): Promise<void> {
  const all = doors.map((door): Figures => ({ door, perSecond: [], decisions: 0, reads: 0 }));
  for (let round = 0; round < WARM_ROUNDS + ROUNDS; round += 1) {
    for (const figures of all) await measure(figures, round >= WARM_ROUNDS);
  }
  const [smallest] = all;
  if (smallest === undefined) return;
  console.log(row('admission', 'live', 'decisions/s', 'time', 'reads/decision'));
  for (const figures of all) {
    const time = (median(smallest.perSecond) / median(figures.perSecond)).toFixed(2);
    const rate = median(figures.perSecond).toFixed(0);
    console.log(row(name, String(figures.door.live), rate, time, readsPerDecision(figures).toFixed(1)));
  }
  for (const figures of all) checkReads(name, figures, readsPerDecision(smallest));
}

async function measure(figures: Figures, counts: boolean): Promise<void> {
  const before = readsOf(figures.door.pid);
  const { count, seconds } = await figures.door.decide();
  if (!counts) return;
  figures.reads += readsOf(figures.door.pid) - before;
  figures.decisions += count;
  figures.perSecond.push(count / seconds);
}

function checkReads(name: string, figures: Figures, few: number): void {
  const reads = readsPerDecision(figures);
  if (reads <= few * READS_MAY_GROW_TO) return;
  const { live } = figures.door;
  throw new Error(
    `${name}: ${reads.toFixed(1)} reads a decision with ${live} live charges, ${few.toFixed(1)} with few`,
  );
}

function readsPerDecision({ reads, decisions }: Figures): number {
  return reads / decisions;
}

/** How often a process has asked the kernel to read (syscr, proc(5)). */
function readsOf(pid: number): number {
  return Number(/^syscr: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);
}

function median(values: number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function row(name: string, live: string, rate: string, time: string, reads: string): string {
  return name.padEnd(12) + live.padStart(8) + rate.padStart(14) + time.padStart(8) + reads.padStart(18);
}
