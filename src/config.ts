import { createHash } from 'node:crypto';
import { BlockList, isIP } from 'node:net';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { suggestionList } from 'graphql/jsutils/suggestionList.js';
import { z } from 'zod';
import { parseBytes } from './quantity.js';

/** How the process is set up. */
export interface Config {
  /** The loopback address to listen on. */
  readonly address: string;
  /** The port to listen on; 0 picks one. */
  readonly port: number;
  /** The folder below which proc/ and sys/ are read. */
  readonly hostRoot: string;
  /** Host memory that is never promised. */
  readonly reserveBytes: number;
  readonly logLevel: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';
  /** The folder of what outlives the process. */
  readonly stateDir: string;
  /** Variables that are set but have no effect in this version. */
  readonly withoutEffect: string[];
}

/** What the environment and the arguments come to. */
export type ConfigOutcome =
  | { readonly kind: 'Config'; readonly config: Config }
  | { readonly kind: 'Help' }
  | { readonly kind: 'Version' }
  | { readonly kind: 'Invalid'; readonly problems: string[] };

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

const RESERVED = ['HOSTPOOL_ENGINE_SOCKET', 'HOSTPOOL_MEMORY_DIR'];

const shape = {
  HOSTPOOL_ADDRESS: z
    .string()
    .default('127.0.0.1')
    .refine(isLoopback, {
      error: ({ input }) =>
        `must be a loopback address (127.0.0.1, ::1, localhost), got ${JSON.stringify(input)}: hostpool has no access control yet, so it does not listen beyond this machine`,
    }),
  HOSTPOOL_PORT: z
    .string()
    .regex(/^\d{1,5}$/, 'must be a whole number from 0 to 65535; 0 picks a free port')
    .transform(Number)
    .refine((port) => port <= 65_535, 'must be a whole number from 0 to 65535; 0 picks a free port')
    .default(4400),
  HOSTPOOL_HOST_ROOT: z.string().startsWith('/', 'must be an absolute path').default('/'),
  HOSTPOOL_STATE_DIR: z.string().startsWith('/', 'must be an absolute path').optional(),
  HOSTPOOL_RESERVE: z
    .string()
    .transform(parseBytes)
    .refine((bytes) => Number.isSafeInteger(bytes) && bytes >= 0, 'must be bytes, e.g. 10GiB, 512MB or 0')
    .default(10 * 2 ** 30),
  HOSTPOOL_LOG_LEVEL: z
    .enum(
      ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
      'must be trace, debug, info, warn, error, fatal or silent',
    )
    .default('info'),
};

/** Reads the HOSTPOOL_* variables and the arguments. Every problem is listed, not only the first. */
export function readConfig(args: string[], env: NodeJS.ProcessEnv = process.env): ConfigOutcome {
  if (args.includes('--help') || args.includes('-h')) return { kind: 'Help' };
  if (args.includes('--version')) return { kind: 'Version' };
  // An empty variable is an unset one: compose files and unit files write them so.
  const set = Object.fromEntries(Object.entries(env).filter(([name, value]) => name.startsWith('HOSTPOOL_') && value));
  const parsed = z.object(shape).safeParse(set);
  const problems = [
    ...args.map((arg) => `${arg}: unknown argument; settings are HOSTPOOL_* variables, see --help`),
    ...Object.keys(set).flatMap(unknownVariable),
    ...(parsed.error?.issues ?? []).map(({ path, message }) => `${path.join('.')}: ${message}`),
  ];
  if (parsed.data === undefined || problems.length > 0) return { kind: 'Invalid', problems };
  return { kind: 'Config', config: toConfig(parsed.data, set, env) };
}

function toConfig(data: z.infer<z.ZodObject<typeof shape>>, set: NodeJS.ProcessEnv, env: NodeJS.ProcessEnv): Config {
  return {
    address: data.HOSTPOOL_ADDRESS,
    port: data.HOSTPOOL_PORT,
    hostRoot: data.HOSTPOOL_HOST_ROOT,
    reserveBytes: data.HOSTPOOL_RESERVE,
    logLevel: data.HOSTPOOL_LOG_LEVEL,
    stateDir: data.HOSTPOOL_STATE_DIR ?? defaultStateDir(data.HOSTPOOL_HOST_ROOT, env),
    withoutEffect: RESERVED.filter((name) => name in set),
  };
}

/** A folder of the user's (XDG base directories). What is kept of one host means nothing on another: each root has its own. */
function defaultStateDir(hostRoot: string, env: NodeJS.ProcessEnv): string {
  const base = env.XDG_STATE_HOME?.startsWith('/') ? env.XDG_STATE_HOME : join(homedir(), '.local', 'state');
  const ours = join(base, 'hostpool');
  if (resolve(hostRoot) === '/') return ours;
  return join(ours, 'host-roots', createHash('sha256').update(resolve(hostRoot)).digest('hex').slice(0, 16));
}

function unknownVariable(name: string): string[] {
  if (Object.hasOwn(shape, name) || RESERVED.includes(name)) return [];
  const [nearest] = suggestionList(name, Object.keys(shape));
  return [`${name}: unknown variable${nearest === undefined ? ', see --help' : `; did you mean ${nearest}?`}`];
}

function isLoopback(address: string): boolean {
  if (address === 'localhost') return true;
  const family = isIP(address);
  return family !== 0 && loopback.check(address, family === 4 ? 'ipv4' : 'ipv6');
}

/** What --help prints. */
export const HELP = `hostpool: a per-host broker for LLM key/value cache memory, over GraphQL.

Usage: npm start, with settings in the environment:

  HOSTPOOL_ADDRESS    address to listen on; loopback only, for now      (127.0.0.1)
  HOSTPOOL_PORT       port to listen on; 0 picks one and logs it        (4400)
  HOSTPOOL_HOST_ROOT  folder below which proc/ and sys/ are read        (/)
  HOSTPOOL_RESERVE    host memory never promised, e.g. 10GiB or 512MB   (10GiB)
  HOSTPOOL_STATE_DIR  folder of what outlives the process               ($XDG_STATE_HOME/hostpool, ~/.local/state/hostpool)
  HOSTPOOL_LOG_LEVEL  trace, debug, info, warn, error, fatal or silent (info)

Options: --help, --version

hostpool doctor tells what this host can do and what is in the way, with the commands that change it: hostpool doctor --help.

GraphQL is served at /graphql (POST, GET for queries, graphql-ws) and /graphql/stream (server-sent events), a page to try
it at /, and /healthz and /readyz for probes. SIGTERM or SIGINT shuts down in order; a second one exits at once.
`;
