import type { Logger } from 'pino';
import type { Allocator } from './allocator/allocator.js';
import type { HostpoolServer } from './server.js';

/** How long running creates may go on before they are cancelled, in milliseconds. */
const GRACE_MS = 10_000;

/** What is shut down. */
export interface Running {
  readonly server: HostpoolServer;
  readonly allocator: Allocator;
  readonly logger: Logger;
}

/** Two SIGINTs within this many milliseconds are one Ctrl-C: the terminal sends it to us and to npm, which passes it on. */
const SAME_KEY_MS = 200;

/** Shuts down in order at the first SIGTERM or SIGINT, and exits at once at the second. */
export function shutDownOnSignals(running: Running): void {
  let first: { signal: NodeJS.Signals; at: number } | undefined;
  const onSignal = (signal: NodeJS.Signals) => {
    const at = performance.now();
    if (first !== undefined) {
      if (signal === 'SIGINT' && first.signal === 'SIGINT' && at - first.at < SAME_KEY_MS) return;
      process.exit(1);
    }
    first = { signal, at };
    running.logger.info({ signal }, 'shutting down');
    void shutDown(running);
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
}

/** Refuses new operations, finishes running ones, stops listening, unmaps everything, and exits. */
async function shutDown({ server, allocator, logger }: Running): Promise<void> {
  try {
    server.beginDrain();
    await allocator.settle(GRACE_MS);
    await server.close();
    const releasedBytes = await allocator.closeAll();
    logger.info({ releasedBytes }, 'shut down');
    process.exit(0);
  } catch (err) {
    logger.error({ err }, 'shutting down broke');
    process.exit(1);
  }
}
