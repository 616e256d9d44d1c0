import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** A server process for a bench. */
export interface BenchServer {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts `command` and waits for its log to say where it listens. Logs what `npm start` would. */
export async function spawnServer(command: string, args: string[]): Promise<BenchServer> {
  const state = mkdtempSync(join(tmpdir(), 'hostpool-bench-'));
  const child = spawn(command, args, {
    env: {
      ...process.env,
      HOSTPOOL_PORT: '0',
      HOSTPOOL_LOG_LEVEL: 'info',
      HOSTPOOL_RESERVE: '0',
      HOSTPOOL_STATE_DIR: state,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = await listening(child);
  return {
    url,
    pid: child.pid as number,
    stop: async () => {
      child.kill('SIGTERM');
      await once(child, 'exit');
      rmSync(state, { recursive: true });
    },
  };
}

async function listening({ stdout }: ChildProcess): Promise<string> {
  if (stdout === null) throw new Error('the server has no standard output');
  for await (const line of createInterface({ input: stdout })) {
    const { msg, url } = JSON.parse(line);
    if (msg !== 'listening') continue;
    stdout.resume();
    return url;
  }
  throw new Error('the server did not start');
}
