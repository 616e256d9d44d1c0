import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { setPriority } from 'node:os';
import { createInterface } from 'node:readline';

/** A line that a client tells. Times in milliseconds since 1970. */
export type Told =
  | { readonly at: number; readonly event: 'granted' | 'faulted' | 'dropped' | 'released'; id: string; bytes: number }
  | { readonly at: number; readonly event: 'refused'; bytes: number }
  | { readonly at: number; readonly event: 'surprise'; answer: unknown };

/** A process that asks for memory, faults it in and gives it back, over and over. */
export interface Client {
  readonly pid: number;
  readonly told: Told[];
  /** When it was killed, in milliseconds since 1970. */
  killedAt: number | undefined;
  /** When it was found dead, in milliseconds since 1970. */
  diedAt: number | undefined;
  readonly exit: Promise<number | null>;
  /** Kills it with SIGKILL. */
  kill(): void;
  /** Has it give everything back and end. */
  stop(): void;
}

/** How to run one. */
export interface ClientOptions {
  /** The program. */
  readonly program: string;
  /** What runs it. */
  readonly command: string[];
  readonly url: string;
  readonly seed: number;
  readonly mebibytes: { readonly from: number; readonly to: number };
}

/** Builds the client, or finds that it is built; answers the program's path. */
export function buildClient(): string {
  const args = ['build', '-p', 'hostpool-allocator', '--example', 'over_commit_client', '--message-format=json'];
  const { status, stdout, stderr } = spawnSync('cargo', args, { encoding: 'utf8', maxBuffer: 2 ** 28 });
  if (status !== 0) throw new Error(`the client cannot be built: ${stderr}`);
  const artifacts = stdout.split('\n').filter((line) => line.startsWith('{'));
  const programs = artifacts.map((line) => JSON.parse(line)).filter(({ target }) => target?.kind?.includes('example'));
  return programs.at(-1).executable;
}

/** Starts one. It yields to the server: what is tested is the server's bookkeeping, not its share of the CPU. */
export function startClient({ program, command, url, seed, mebibytes: { from, to } }: ClientOptions): Client {
  const [first = '', ...rest] = [...command, program, url, String(seed), String(from), String(to)];
  const child = spawn(first, rest, { stdio: ['pipe', 'pipe', 'inherit'] });
  setPriority(child.pid as number, 10);
  const told: Told[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => told.push(JSON.parse(line)));
  const client: Client = {
    pid: child.pid as number,
    told,
    killedAt: undefined,
    diedAt: undefined,
    exit: ended(child),
    kill: () => {
      client.killedAt = Date.now();
      child.kill('SIGKILL');
    },
    stop: () => child.stdin.end(),
  };
  child.once('exit', () => {
    client.diedAt = Date.now();
  });
  return client;
}

/** 'close', not 'exit': by then every line has been read. */
async function ended(child: ChildProcess): Promise<number | null> {
  const [code] = await once(child, 'close');
  return code;
}
