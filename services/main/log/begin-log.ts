import { metadataOfAny, type RecordedEvent } from '../../kernel/event.js';
import type { EventLog } from '../../kernel/ports/event-store.js';
import type { Sessions } from '../../kernel/ports/sessions.js';
import { NEWEST_FORMAT } from '../../kernel/log-format.js';
import { setLogFormat } from '../../log-format/decider.js';
import { isOfConfiguredProject, registerConfiguredProjects } from '../../project/configured.js';
import type { FormatInForce } from '../../reference/format-in-force.js';
import type { Configuration } from '../../config/configuration.js';
import { codecs } from '../models.js';

/** The services that beginning a log needs. */
export type LogToBegin = {
  readonly store: Pick<EventLog, 'readLog'>;
  readonly sessions: Sessions;
  readonly format: Pick<FormatInForce, 'refresh'>;
};

const FORMAT_COMMAND = 'the format of a new log';

/**
 * The state of a log before the start: `new` without an event of a control plane, `begun` with some or all of the
 * events that `beginLog` records and no other, `used` with others. Events of other programs, and those of an event
 * store itself, do not count.
 */
type LogState = 'new' | 'begun' | 'used';

/** True when `beginLog` has recorded the event. The format comes first: a log that lacks it is of an older release. */
const isOfBeginning = (event: RecordedEvent, isFirst: boolean): boolean => {
  const { commandId = '' } = metadataOfAny(event);
  return isFirst ? commandId === FORMAT_COMMAND : isOfConfiguredProject(commandId);
};

const stateOf = async (store: Pick<EventLog, 'readLog'>): Promise<LogState> => {
  let state: LogState = 'new';
  for await (const { events } of store.readLog({ after: 0n, filter: { categories: [...codecs.keys()] } }))
    for (const event of events) {
      if (!isOfBeginning(event, state === 'new')) return 'used';
      state = 'begun';
    }
  return state;
};

/** True when the log has no event of a control plane but those that `beginLog` records. */
export const isUnused = async (store: LogToBegin['store']): Promise<boolean> => (await stateOf(store)) !== 'used';

/**
 * Gives a log that no control plane has written yet the newest format and the configured projects. A start that has
 * failed or was killed meanwhile is continued by the next one.
 *
 * @returns true when it has recorded anything.
 */
export const beginLog = async (
  { projects }: Pick<Configuration, 'projects'>,
  { store, sessions, format }: LogToBegin,
): Promise<boolean> => {
  const state = await stateOf(store);
  if (state === 'used') return false;
  if (state === 'new') await setLogFormat(NEWEST_FORMAT, sessions, { actor: '', commandId: FORMAT_COMMAND });
  await format.refresh();
  const hasRegistered = await registerConfiguredProjects(projects, sessions);
  return state === 'new' || hasRegistered;
};
