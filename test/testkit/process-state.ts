import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { TestServer } from './server.js';

/** What a server holds: it must be the same before and after anything that was refused or given back. */
export interface ProcessState {
  /** Bytes in mappings that only pools and buffers make: memfds and hugetlb. */
  readonly sharedMappedBytes: number;
  readonly memfds: number;
  readonly chargedBytes: number;
  readonly pools: number;
  readonly buffers: number;
}

/** Reads it from /proc and from the budget. */
export async function processState(server: TestServer): Promise<ProcessState> {
  const { budget, pools, hostBuffers } = await server.data(
    '{ budget { chargedBytes } pools { id } hostBuffers { id } }',
  );
  return {
    sharedMappedBytes: mappedBytes(server.pid, /memfd:|anon_hugepage|\/dev\/zero/),
    memfds: descriptors(server.pid).filter((target) => target.includes('memfd:')).length,
    chargedBytes: budget.chargedBytes,
    pools: pools.length,
    buffers: hostBuffers.length,
  };
}

/** Bytes of a process's mappings whose line in /proc/PID/maps matches. */
export function mappedBytes(pid: number, pattern: RegExp): number {
  const lines = readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n');
  return lines.filter((line) => pattern.test(line)).reduce((sum, line) => sum + sizeOf(line), 0);
}

/** Bytes of all of a process's mappings. */
export function virtualBytes(pid: number): number {
  return mappedBytes(pid, /^[0-9a-f]/);
}

/** What a process's descriptors point to. */
export function descriptors(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`, { withFileTypes: true }).flatMap(({ name }) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${name}`)];
    } catch {
      return []; // closed between the two looks
    }
  });
}

function sizeOf(line: string): number {
  const [from = '0', to = '0'] = (line.split(' ', 1)[0] ?? '').split('-');
  return Number(BigInt(`0x${to}`) - BigInt(`0x${from}`));
}
