import type { Backing, BudgetReading, HostFacts, HostReading } from '../../native/index.js';
import type { Failure } from '../allocator/failure.js';
import { isHugetlb, type MemoryRequest } from '../allocator/specification.js';

/** Memory that somebody wishes for, so far as this host has to do with it. */
export interface Wish {
  /** What people know it by, e.g. `pool "kv"`. */
  readonly name: string;
  readonly memory: MemoryRequest;
  readonly bytes: number;
  /** The budget it is charged to. */
  readonly budget: string;
  readonly rank?: number | undefined;
}

/** A wish, and what it comes to. */
export interface JudgedWish extends Wish {
  /** Its memory is there already. */
  readonly isHeld: boolean;
  /** The backing it has or would get; undefined when it is refused. */
  readonly backing?: Backing | undefined;
  readonly failure?: Failure | undefined;
}

/** Where what outlives the process is, and how it is. */
export type StateLook =
  | { readonly kind: 'Open'; readonly folder: string; readonly detail: string }
  | { readonly kind: 'Absent'; readonly folder: string }
  /** Another process has it, and was not asked. */
  | { readonly kind: 'InUse'; readonly folder: string }
  /** A start would be refused; the detail says what to do. */
  | { readonly kind: 'Refused'; readonly folder: string; readonly detail: string }
  | { readonly kind: 'NotKept' };

/** What runs this process, where that decides how its rights are changed. */
export type Container = 'docker' | 'podman' | 'kubernetes' | 'container';

/** Everything that findings are made from. */
export interface Look {
  readonly facts: HostFacts;
  /** What the host has; undefined when it cannot be read. */
  readonly host: HostReading | undefined;
  /** Why it cannot be. */
  readonly unreadable?: string | undefined;
  readonly hostRoot: string;
  /** HOSTPOOL_RESERVE. */
  readonly reserveBytes: number;
  /** `host` first; empty when the host cannot be read. */
  readonly budgets: readonly BudgetReading[];
  readonly wishes: readonly JudgedWish[];
  readonly state: StateLook;
  readonly container: Container | undefined;
  /** Bytes free on the file system of the state folder. */
  readonly stateDiskFree?: number | undefined;
  /** Why the port cannot be listened on; undefined when it can, or when this process listens on it. */
  readonly portTaken?: string | undefined;
}

/** The names of those wishes that a test holds for, of those whose memory is not there already. */
export function namesOf(wishes: readonly JudgedWish[], test: (wish: JudgedWish) => boolean): string[] {
  return wishes.filter((wish) => !wish.isHeld && test(wish)).map(({ name }) => name);
}

/** The nodes that memory is to be on; none for any. */
export function nodesOf({ numaNode, numaNodes }: MemoryRequest): readonly number[] {
  return numaNodes ?? (numaNode === -1 ? [] : [numaNode]);
}

/** Whether mbind is asked for it: interleaving over whichever nodes there are needs it too. */
export function isPlaced(memory: MemoryRequest): boolean {
  return nodesOf(memory).length > 0 || memory.numaPolicy === 'Interleave';
}

/** Whether its pages are locked: hugepages of a pool are never swapped, so that they are not. */
export function isLocked({ lockMemory, backing }: MemoryRequest): boolean {
  return lockMemory === true && !isHugetlb(backing);
}
