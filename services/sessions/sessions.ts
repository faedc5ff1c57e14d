import type { Aggregate } from '../kernel/aggregate.js';
import type { RecordedEvent } from '../kernel/event.js';
import { NewerLogFormat } from '../kernel/fault.js';
import { NEWEST_FORMAT, newerFormatText } from '../kernel/log-format.js';
import type { Acknowledged, Sessions } from '../kernel/ports/sessions.js';
import type { StreamName } from '../kernel/stream.js';
import { type Admission, admission, ADMISSION_LIMITS, type AdmissionLimits } from './admission.js';
import { prefixOf, rememberAcknowledged } from './acknowledged.js';
import { type SessionServices, StreamSession } from './stream-session.js';
import { sessionCache } from './session-cache.js';

const MAX_CACHED_BYTES = 64 * 1024 * 1024;
/** The default memory limit is reached first, unless nearly all states are empty. */
const MAX_CACHED = 50_000;
/**
 * Maximum number of cached sessions of streams that are over, such as those of ended executions and of registered
 * versions. They are kept because engines and clients repeat their last requests.
 */
const MAX_CACHED_OVER = 1_000;

/** The session of a stream of any aggregate. */
type AnySession = Pick<
  StreamSession<unknown, unknown, unknown, unknown>,
  'observe' | 'resume' | 'size' | 'isIdle' | 'isOver'
>;

/** The live streams of a process, with the operations that only their owner uses. */
export type OpenSessions = Sessions & {
  readonly acknowledged: Acknowledged;
  /** For commands that wait before they are handled here. */
  readonly admission: Admission;
  /** Gives an event that any process has recorded to its stream, if that stream is live. */
  observe(event: RecordedEvent): void;
  /** Lets a stream that was parked be read again by the next command or read. */
  resume(stream: StreamName): void;
  /** The number of cached live streams and their memory, in bytes. */
  cached(): { readonly sessions: number; readonly bytes: number };
};

/**
 * Opens the live streams of this process. Where the log is not shared, open them only once per event store: they rely
 * on being the only writer.
 */
export const openSessions = (
  services: SessionServices & { readonly maxCachedBytes?: number; readonly admits?: AdmissionLimits },
): OpenSessions => {
  const cache = sessionCache<AnySession>({
    bytes: services.maxCachedBytes ?? MAX_CACHED_BYTES,
    sessions: MAX_CACHED,
    over: MAX_CACHED_OVER,
  });
  const acknowledged = rememberAcknowledged();
  const admits = admission(services.admits ?? ADMISSION_LIMITS);

  const open = <S, C, E, R>(aggregate: Aggregate<S, C, E, R>, stream: StreamName): StreamSession<S, C, E, R> => {
    const prefix = prefixOf(stream);
    const onDurable = ({ position }: { position: bigint }): void => acknowledged.note(stream, prefix, position);
    return new StreamSession({ aggregate, stream, services, onDurable });
  };

  const sessionOf = <S, C, E, R>(aggregate: Aggregate<S, C, E, R>, stream: StreamName): StreamSession<S, C, E, R> =>
    // A stream has one category and so one aggregate: what is cached under its name has these types.
    cache.use(stream, () => open(aggregate, stream)) as StreamSession<S, C, E, R>;

  /** Measures the session after each use, which may have made it larger or over. */
  const weighedAfter = <Answer>(stream: StreamName, answer: Promise<Answer>): Promise<Answer> => {
    const weigh = (): void => cache.weigh(stream);
    answer.then(weigh, weigh);
    return answer;
  };

  return {
    acknowledged,
    admission: admits,
    cached: () => cache.kept(),
    // Looks the name up first: most streams are not live in this process.
    observe: (event) => {
      const session = cache.peek(event.stream);
      if (session === undefined) return;
      session.observe(event);
      cache.weigh(event.stream);
    },
    resume: (stream) => cache.peek(stream)?.resume(),
    handle: (aggregate, stream, command, context) => {
      const format = services.format?.() ?? NEWEST_FORMAT;
      if (format > NEWEST_FORMAT) return Promise.reject(new NewerLogFormat(newerFormatText(format)));
      const refused = admits.refusal(aggregate.urgencyOf?.(command) ?? 'progress');
      if (refused) return Promise.reject(refused);
      return admits.count(weighedAfter(stream, sessionOf(aggregate, stream).handle(command, context)));
    },
    read: (aggregate, stream, select) => weighedAfter(stream, sessionOf(aggregate, stream).read(select)),
    readKnown: (aggregate, stream, select) => weighedAfter(stream, sessionOf(aggregate, stream).readKnown(select)),
  };
};
