import { createRequire } from 'node:module';
import { type Logger, pino } from 'pino';
import type pretty from 'pino-pretty';

/** Loads the printer for terminals only where it is used: every thread would load its files. */
const loadPretty = (): typeof pretty => createRequire(import.meta.url)('pino-pretty') as typeof pretty;

/** Opens the logger on standard error: readable text on a terminal, JSON lines elsewhere. */
export const openLogger = (level: string): Logger =>
  process.stderr.isTTY
    ? pino({ level }, loadPretty()({ destination: 2, sync: true, ignore: 'pid,hostname' }))
    : pino({ level }, pino.destination({ dest: 2, sync: false }));
