import { type Logger, pino } from 'pino';
import pretty from 'pino-pretty';

/** Opens the logger on standard error: readable text on a terminal, JSON lines elsewhere. */
export const openLogger = (level: string): Logger =>
  process.stderr.isTTY
    ? pino({ level }, pretty({ destination: 2, sync: true, ignore: 'pid,hostname' }))
    : pino({ level }, pino.destination({ dest: 2, sync: false }));
