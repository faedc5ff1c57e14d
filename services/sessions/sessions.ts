import type { Aggregate } from '../kernel/aggregate.js';
import type { RecordedEvent } from '../kernel/event.js';
import type { Acknowledged, Sessions } from '../kernel/sessions.js';
import type { StreamName } from '../kernel/stream.js';
import { admission, ADMISSION_LIMITS, type AdmissionLimits } from './admission.js';
import { prefixOf, rememberAcknowledged } from './acknowledged.js';
import type { SessionServices } from './live.js';
import { openSession, type Session } from './session.js';

const MAX_CACHED_BYTES = 64 * 1024 * 1024;
/** The cache is weighed after at least so many commands, and no sooner than it has sessions: weighing looks at each. */
const WEIGH_EVERY = 1_024;

type AnySession = Session<unknown, unknown, unknown>;

/** Drops the least recently used sessions that wait for nothing, until the cache is within its bound. */
const shrink = (sessions: Map<StreamName, AnySession>, maxBytes: number): void => {
  let bytes = 0;
  for (const session of sessions.values()) bytes += session.size();
  for (const [stream, session] of sessions) {
    if (bytes <= maxBytes) return;
    if (!session.isIdle()) continue;
    bytes -= session.size();
    sessions.delete(stream);
  }
};

/** The live streams of a process, as those who open them have them. */
export type OpenSessions = Sessions & {
  readonly acknowledged: Acknowledged;
  /** Tells the live stream, if it is one, of an event that somebody has recorded. */
  observe(event: RecordedEvent): void;
};

/**
 * Opens the live streams of this process. Where the log is not shared, one per event store: they take what they have
 * appended for granted.
 */
export const openSessions = (
  services: SessionServices & { readonly maxCachedBytes?: number; readonly admits?: AdmissionLimits },
): OpenSessions => {
  const maxBytes = services.maxCachedBytes ?? MAX_CACHED_BYTES;
  const sessions = new Map<StreamName, AnySession>();
  const acknowledged = rememberAcknowledged();
  const admits = admission(services.admits ?? ADMISSION_LIMITS);
  let commands = 0;

  const open = <S, C, E, R>(aggregate: Aggregate<S, C, E, R>, stream: StreamName): Session<S, C, R> => {
    const prefix = prefixOf(stream);
    const onDurable = ({ position }: { position: bigint }): void => acknowledged.note(stream, prefix, position);
    return openSession({ aggregate, stream, services, onDurable });
  };

  const sessionOf = <S, C, E, R>(aggregate: Aggregate<S, C, E, R>, stream: StreamName): Session<S, C, R> => {
    // A stream has one category and so one aggregate: what is cached under its name has these types.
    const known = sessions.get(stream) as Session<S, C, R> | undefined;
    const session = known ?? open(aggregate, stream);
    sessions.delete(stream);
    sessions.set(stream, session);
    commands += 1;
    if (commands > Math.max(WEIGH_EVERY, sessions.size)) {
      commands = 0;
      shrink(sessions, maxBytes);
    }
    return session;
  };

  return {
    acknowledged,
    // Looked up by name first: most streams are of no concern to this process.
    observe: (event) => sessions.get(event.stream)?.observe(event),
    handle: (aggregate, stream, command, context) => {
      const refused = admits.refusal(aggregate.urgencyOf?.(command) ?? 'progress');
      return refused ? Promise.reject(refused) : admits.count(sessionOf(aggregate, stream).handle(command, context));
    },
    read: (aggregate, stream, look) => sessionOf(aggregate, stream).read(look),
  };
};
