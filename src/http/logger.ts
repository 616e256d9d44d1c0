import { type Logger, pino } from 'pino';
import type { Config } from '../config.js';

/** The process's log: one JSON object a line on standard output, with the level's name and an ISO time. */
export function createLogger({ logLevel }: Pick<Config, 'logLevel'>): Logger {
  return pino({
    level: logLevel,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
  });
}
