import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import type { EventStore } from '../../kernel/ports/event-store.js';
import { formatText, NEWEST_FORMAT } from '../../kernel/log-format.js';
import { setLogFormat } from '../../log-format/decider.js';
import { formatOf } from '../../reference/format-in-force.js';
import { openSessions } from '../../sessions/sessions.js';
import { lockDataDirectory } from '../../store/data-directory.js';
import { sqliteLogReader } from '../../store/log/sqlite-log-reader.js';
import type { Configuration } from '../../config/configuration.js';
import { openLogger } from '../../main/logger.js';
import { logKey, logSource, openOwnLog, openWritableLog } from '../../main/log/log-source.js';
import { openOwnPayloads } from '../../main/payloads.js';
import { OperatorError, forSetting } from '../../config/operator-errors.js';
import { printSummary } from '../summary.js';

/** The flags of `log format`. */
export type LogFormatFlags = { readonly to?: number };

const switched = async (store: EventStore, configuration: Configuration, format: number): Promise<void> => {
  const payloads = await openOwnPayloads(configuration);
  const sessions = openSessions({ store, payloads, now: Date.now, isShared: true });
  const outcome = await setLogFormat(format, sessions, { actor: '', commandId: randomUUID() });
  await payloads.close();
  if (outcome.kind === 'refused')
    throw new OperatorError(
      `--to: the log is written in ${formatText(outcome.refusal.inForce)} already; the format is never lowered, because the events written in it stay in the log`,
    );
};

const writable = async (configuration: Configuration): Promise<EventStore & { release(): void }> => {
  const { data, event_store: eventStore } = configuration;
  const directory = resolve(data);
  const isEmbedded = logSource({ directory, eventStore }).kind === 'embedded';
  if (isEmbedded) await (await sqliteLogReader({ directory })).close(); // throws without a log; the writer makes one
  const lock = isEmbedded ? await lockDataDirectory(directory) : undefined;
  const { store } = await openWritableLog(configuration, { directory, derived: [], logger: openLogger('warn') });
  return { ...store, release: () => lock?.release() };
};

const switchTo = async (configuration: Configuration, format: number): Promise<void> => {
  if (format < 1 || format > NEWEST_FORMAT)
    throw new OperatorError(`--to: this release writes the formats 1 to ${NEWEST_FORMAT}, not ${format}`);
  const store = await forSetting(logKey(configuration), () => writable(configuration));
  try {
    await switched(store, configuration, format);
  } finally {
    await store.close();
    store.release();
  }
};

/**
 * Prints the format that the log is written in and the newest that this release writes, as a JSON object. With `to`, it
 * switches the log to that format first. The format is `null` when it is newer and this release cannot read it.
 *
 * @throws {OperatorError} when the log cannot be used, or cannot be switched.
 */
export const logFormat = async (configuration: Configuration, { to }: LogFormatFlags): Promise<void> => {
  if (to !== undefined) await switchTo(configuration, to);
  const log = await openOwnLog(configuration);
  try {
    const format = await formatOf(log);
    printSummary({ format, newest: NEWEST_FORMAT });
  } finally {
    await log.close();
  }
};
