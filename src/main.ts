#!/usr/bin/env node
import type { Logger } from 'pino';
import { type Allocator, createAllocator } from './allocator/allocator.js';
import { doctorCommand } from './cli/doctor.js';
import { type Config, HELP, readConfig } from './config.js';
import { Doctor } from './doctor/doctor.js';
import { isWorthLogging } from './doctor/finding.js';
import { createLogger } from './http/logger.js';
import { createServer, type HostpoolServer } from './server.js';
import { shutDownOnSignals } from './shutdown.js';
import { VERSION } from './version.js';

/** Exit codes: 1 the host or the port is not to be had, 2 the settings are wrong. */
const FAILED = 1;
const BAD_SETTINGS = 2;

async function main(): Promise<void> {
  const [command, ...rest] = process.argv.slice(2);
  if (command === 'doctor') process.exitCode = await doctorCommand(rest);
  else await serve(process.argv.slice(2));
}

async function serve(args: string[]): Promise<void> {
  const outcome = readConfig(args);
  switch (outcome.kind) {
    case 'Help':
      return void process.stdout.write(HELP);
    case 'Version':
      return void process.stdout.write(`${VERSION}\n`);
    case 'Invalid':
      return stop(BAD_SETTINGS, outcome.problems);
    case 'Config':
      return run(outcome.config);
    default:
      return outcome satisfies never;
  }
}

async function run(config: Config): Promise<void> {
  const logger = createLogger(config);
  for (const name of config.withoutEffect) logger.warn({ variable: name }, 'this variable has no effect yet');
  const allocator = openHost(config, logger);
  if (allocator === undefined) return;
  logger.info({ stateFile: allocator.stateFile }, 'state opened');
  await allocator.restore();
  const doctor = new Doctor(allocator);
  await logFindings(doctor, logger);
  const server = await createServer({ allocator, doctor, logger, version: VERSION });
  shutDownOnSignals({ server, allocator, logger });
  await listen(server, config, logger);
}

/** What is worth a look before anything is asked; `hostpool doctor` tells more. What cannot be found out stops no start. */
async function logFindings(doctor: Doctor, logger: Logger): Promise<void> {
  try {
    const { findings } = await doctor.examine();
    for (const { id, severity, title, wishes } of findings.filter(isWorthLogging))
      logger.warn({ finding: id, severity, title, wishes }, 'hostpool doctor tells more');
  } catch (err) {
    logger.warn({ err }, 'the host could not be examined');
  }
}

function openHost(config: Config, log: Logger): Allocator | undefined {
  try {
    const { hostRoot, reserveBytes, stateDir } = config;
    return createAllocator({ hostRoot, reserveBytes, stateDir, log });
  } catch (error) {
    stop(FAILED, [(error as Error).message]);
    return undefined;
  }
}

async function listen({ app }: HostpoolServer, { address, port }: Config, logger: Logger): Promise<void> {
  try {
    const url = await app.listen({ host: address, port, listenTextResolver: (bound) => `bound to ${bound}` });
    const bound = new URL(url);
    logger.info({ address, port: Number(bound.port), url, version: VERSION }, 'listening');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE')
      stop(FAILED, [`port ${port} on ${address} is taken: set HOSTPOOL_PORT to another, or to 0`]);
    else stop(FAILED, [`cannot listen on ${address} port ${port}: ${message}`]);
  }
}

function stop(exitCode: number, problems: string[]): never {
  for (const problem of problems) process.stderr.write(`hostpool: ${problem}\n`);
  process.exit(exitCode);
}

await main();
