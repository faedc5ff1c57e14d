import { type Logger, pino } from 'pino';
import pretty from 'pino-pretty';

/** Logs go to standard error: for people on a terminal, as JSON lines anywhere else. */
export const openLogger = (level: string): Logger =>
  process.stderr.isTTY
    ? pino({ level }, pretty({ destination: 2, sync: true, ignore: 'pid,hostname' }))
    : pino({ level }, pino.destination({ dest: 2, sync: false }));
