import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';

/** A process that does nothing. */
export interface IdleProcess {
  readonly pid: number;
  /** Kills it with SIGKILL and waits until it is gone. */
  kill(): Promise<void>;
}

/** Starts a process that lives until it is killed, at the latest when the test ends. */
export async function idleProcess(): Promise<IdleProcess> {
  const child: ChildProcess = spawn('sleep', ['600'], { stdio: 'ignore' });
  const gone = once(child, 'exit');
  await once(child, 'spawn');
  const kill = async () => {
    child.kill('SIGKILL');
    await gone;
  };
  onTestFinished(kill);
  return { pid: child.pid as number, kill };
}
