import type { EventLog } from '../../kernel/ports/event-store.js';
import type { Sessions } from '../../kernel/ports/sessions.js';
import { NEWEST_FORMAT } from '../../kernel/log-format.js';
import { setLogFormat } from '../../log-format/decider.js';
import { registerConfiguredProjects } from '../../project/configured.js';
import type { FormatInForce } from '../../reference/format-in-force.js';
import type { Configuration } from '../../config/configuration.js';
import { codecs } from '../models.js';

/** The services that beginning a log needs. */
export type LogToBegin = {
  readonly store: Pick<EventLog, 'readLog'>;
  readonly sessions: Sessions;
  readonly format: Pick<FormatInForce, 'refresh'>;
};

/**
 * True when a control plane has written the log. Events of other programs, and those of an event store itself, do not
 * count.
 */
const isBegun = async (store: Pick<EventLog, 'readLog'>): Promise<boolean> => {
  const ours = { after: 0n, limit: 1, filter: { categories: [...codecs.keys()] } };
  for await (const { events } of store.readLog(ours)) if (events.length > 0) return true;
  return false;
};

/**
 * Gives a log that no control plane has written yet the configured projects and the newest format.
 *
 * @returns true when there was no event of a control plane.
 */
export const beginLog = async (
  { projects }: Pick<Configuration, 'projects'>,
  { store, sessions, format }: LogToBegin,
): Promise<boolean> => {
  if (await isBegun(store)) return false;
  await registerConfiguredProjects(projects, sessions);
  await setLogFormat(NEWEST_FORMAT, sessions, { actor: '', commandId: 'the format of a new log' });
  await format.refresh();
  return true;
};
