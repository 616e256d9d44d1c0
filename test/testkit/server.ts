import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished, vi } from 'vitest';
import { type Answer, post } from './graphql.js';

/** The compiled entry point, as `npm start` runs it. */
export const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/** One line of the server's log. */
export interface LogLine extends Record<string, unknown> {
  level: string;
  msg: string;
}

/** A server process of its own. */
export interface TestServer {
  readonly url: string;
  readonly pid: number;
  readonly child: ChildProcess;
  readonly log: LogLine[];
  readonly exit: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /** Sends an operation; answers status and body. */
  send(query: string, variables?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** Sends an operation that must have no top-level errors; answers its data. */
  // biome-ignore lint/suspicious/noExplicitAny: answers are as dynamic as the queries that tests write
  data(query: string, variables?: unknown): Promise<any>;
  /** As `data`, for an operation of one field: answers what that field is. */
  // biome-ignore lint/suspicious/noExplicitAny: as dynamic as the data
  only(query: string, variables?: unknown): Promise<any>;
  /** Sends SIGTERM and waits for the exit. */
  stop(): Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

/** Starts a server on a free port, with these HOSTPOOL_* variables; by `command` when it is not node itself that starts. */
export async function startServer(env: Record<string, string> = {}, command: string[] = []): Promise<TestServer> {
  const child = spawnMain([], { HOSTPOOL_PORT: '0', HOSTPOOL_RESERVE: '0', ...env }, command);
  const log: LogLine[] = [];
  createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => log.push(JSON.parse(line)));
  let stderr = '';
  child.stderr?.on('data', (chunk) => {
    stderr += chunk;
  });
  // 'close', not 'exit': by then every line of the log has been read.
  const exit = once(child, 'close').then(([code, signal]) => ({ code, signal }));
  const ended = exit.then(({ code }) => {
    throw new Error(`the server ended with ${code}: ${stderr}`);
  });
  const listens = vi.waitFor(
    () => {
      const listening = log.find(({ msg }) => msg === 'listening');
      if (listening === undefined) throw new Error(`not listening yet: ${stderr}`);
      return String(listening.url);
    },
    { timeout: 20_000, interval: 20 },
  );
  ended.catch(() => undefined);
  const url = await Promise.race([listens, ended]);
  const send: TestServer['send'] = (query, variables, headers) => post(`${url}/graphql`, { query, variables }, headers);
  const data: TestServer['data'] = async (query, variables) => {
    const { body } = await send(query, variables);
    if (body.errors !== undefined) throw new Error(`unexpected errors: ${JSON.stringify(body.errors)}`);
    return body.data;
  };
  return {
    url,
    pid: child.pid as number,
    child,
    log,
    exit,
    send,
    data,
    only: async (query, variables) => Object.values(await data(query, variables))[0],
    stop: () => {
      child.kill('SIGTERM');
      return exit;
    },
  };
}

/** Starts a server that ends with the test. */
export async function startServerForTest(
  env: Record<string, string> = {},
  command: string[] = [],
): Promise<TestServer> {
  const server = await startServer(env, command);
  onTestFinished(async () => {
    server.child.kill('SIGKILL');
    await server.exit;
  });
  return server;
}

/** What a run of the entry point came to. */
export interface MainRun {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs the entry point to its end, as `spawnMain` starts it. */
export async function runMain(
  args: string[],
  env: Record<string, string> = {},
  command: string[] = [],
): Promise<MainRun> {
  const child = spawnMain(args, env, command);
  let [out, err] = ['', ''];
  child.stdout?.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    err += chunk;
  });
  const [code] = await once(child, 'close');
  return { code, out, err };
}

/** A new, empty folder for what outlives a server. */
export function stateFolder(): string {
  return mkdtempSync(join(tmpdir(), 'hostpool-state-'));
}

/**
 * Starts the entry point with only these variables beside the machine's own, and without any of the caller's; with a state
 * of its own, unless they say where that is.
 */
export function spawnMain(args: string[], env: Record<string, string>, command: string[] = []): ChildProcess {
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('HOSTPOOL_')));
  const [program = process.execPath, ...rest] = [...command, process.execPath, MAIN, ...args];
  const state = 'HOSTPOOL_STATE_DIR' in env || 'XDG_STATE_HOME' in env ? undefined : stateFolder();
  const own = state === undefined ? {} : { HOSTPOOL_STATE_DIR: state };
  const child = spawn(program, rest, { env: { ...inherited, ...own, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  if (state !== undefined) child.once('close', () => rmSync(state, { recursive: true, force: true }));
  return child;
}
