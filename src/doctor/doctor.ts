import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type BudgetReading, HostAllocator, type HostReading, type WantedMemory } from '../../native/index.js';
import type { Allocator } from '../allocator/allocator.js';
import type { HostBufferEntry } from '../allocator/host-buffer.js';
import type { PagedPoolEntry } from '../allocator/pool.js';
import { container } from './container.js';
import { diagnose } from './diagnose.js';
import { type Finding, type Severity, worst } from './finding.js';
import type { JudgedWish, Look, StateLook, Wish } from './look.js';
import { bufferName, poolName, wanted } from './wanted.js';
import { count } from './words.js';

/** What was found, and when. */
export interface Diagnosis {
  readonly observedAt: Date;
  readonly hostname: string | undefined;
  readonly stateFile: string | undefined;
  readonly severity: Severity;
  readonly canMeet: boolean;
  readonly findings: readonly Finding[];
}

/** Looks at the host as this process sees it, and at what this process could not make. Disturbs neither. */
export class Doctor {
  constructor(private readonly allocator: Pick<Allocator, 'native' | 'settings' | 'stateFile' | 'pools' | 'buffers'>) {}

  /** What is found now; with a wish, whether that could be met beside all that is there. */
  async examine(wish?: Wish): Promise<Diagnosis> {
    const { native, settings, stateFile } = this.allocator;
    const figures = await figuresOf(native);
    const look: Look = {
      ...settings,
      ...figures,
      facts: await HostAllocator.gatherFacts(settings.hostRoot),
      wishes: figures.host === undefined ? [] : await this.#wishes(wish),
      state: this.#state(stateFile),
      stateDiskFree: stateFile === undefined ? undefined : await diskFree(dirname(stateFile)),
      container: container(),
    };
    return diagnosis(look, new Date(), stateFile);
  }

  async #wishes(wish: Wish | undefined): Promise<JudgedWish[]> {
    const { pools, buffers } = this.allocator;
    const paged = pools.list().filter((pool) => pool.kind === 'V4PagedHostPool');
    const judged = [
      ...paged.map((pool) => this.#judge(pool, poolName(pool.name), pool.requestedBytes)),
      ...buffers.list().map((buffer) => this.#judge(buffer, bufferName(buffer), buffer.requestedBytes)),
    ];
    const asked = wish === undefined ? [] : [this.#check({ ...wish, isHeld: false }, wanted(wish))];
    return Promise.all([...judged, ...asked]);
  }

  /** One that failed is asked about again: what was in its way may be gone. */
  #judge(entry: PagedPoolEntry | HostBufferEntry, name: string, bytes: number): Promise<JudgedWish> {
    const { memory, budget, rank } = entry.request;
    const wish = { name, memory, bytes, budget, rank };
    if (entry.life.state !== 'Failed')
      return Promise.resolve({ ...wish, isHeld: true, backing: entry.life.placement().actualBacking });
    const again = entry.kind === 'V4PagedHostPool' ? { pool: entry.request } : { buffer: entry.request };
    return this.#check({ ...wish, isHeld: false }, again);
  }

  async #check(wish: JudgedWish, wanted: WantedMemory): Promise<JudgedWish> {
    const { backing, failure } = await this.allocator.native.check(wanted);
    return { ...wish, backing: backing ?? undefined, failure: failure ?? undefined };
  }

  #state(file: string | undefined): StateLook {
    if (file === undefined) return { kind: 'NotKept' };
    const { pools, buffers } = this.allocator;
    const detail = `this process has it open; ${count(pools.list().length, 'pool')}, ${count(buffers.list().length, 'buffer')}`;
    return { kind: 'Open', folder: dirname(file), detail };
  }
}

/** What the figures of a look come to. */
export function diagnosis(look: Look, observedAt: Date, stateFile: string | undefined): Diagnosis {
  const findings = diagnose(look);
  const severity = worst(findings);
  return { observedAt, hostname: look.host?.hostname, stateFile, severity, canMeet: severity !== 'ERROR', findings };
}

/** The host's figures, or why there are none. */
export async function figuresOf(
  native: Pick<HostAllocator, 'readHost' | 'readBudgets'>,
): Promise<{ host: HostReading | undefined; unreadable?: string; budgets: BudgetReading[] }> {
  try {
    return { host: await native.readHost(), budgets: await native.readBudgets() };
  } catch (error) {
    return { host: undefined, unreadable: (error as Error).message, budgets: [] };
  }
}

/** Bytes that are free for this user below a folder; undefined when nobody says. */
export async function diskFree(folder: string): Promise<number | undefined> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  } catch {
    return undefined;
  }
}
