import { categoryOf, componentsOf, type StreamName } from '../../kernel/stream.js';
import { type Entity, reportedEntity } from './engine-report.js';
import { fieldsOf, numberIn, textIn } from './fields.js';
import { phaseName } from '../phases.js';

/**
 * The subject of an execution's event for consumers that filter and group: the same field names in every event. A field
 * that an event does not have is absent.
 */
export type FlatFields = {
  readonly project?: string;
  readonly domain?: string;
  /** The name of the execution; absent where the stream name has only its hash. */
  readonly execution?: string;
  readonly node?: string;
  /** The retry attempt of a task, from 0. */
  readonly attempt?: number;
  /** The phase of the execution, the node or the task after the event. */
  readonly phase?: string;
};

/** The fields that come from the event, not from the name of its stream. */
type OwnFields = Pick<FlatFields, 'node' | 'attempt' | 'phase'>;

const NODE = 2;
const ATTEMPT = 4;
const PHASE = 5;

const ofReport = (data: Uint8Array, entity: Entity): OwnFields => {
  const fields = fieldsOf(data, 0, data.length);
  const phase = phaseName(entity, numberIn(fields, PHASE));
  if (entity === 'workflow') return { phase };
  const node = textIn(fields, NODE);
  return entity === 'node' ? { node, phase } : { node, attempt: numberIn(fields, ATTEMPT), phase };
};

const EXPIRED_PHASE = 1;

const OTHERS: Readonly<Partial<Record<string, (data: Uint8Array) => OwnFields>>> = {
  ExecutionCreated: () => ({ phase: 'QUEUED' }),
  TerminationRequested: () => ({ phase: 'ABORTING' }),
  ExecutionExpired: (data) => ({
    phase: phaseName('workflow', numberIn(fieldsOf(data, 0, data.length), EXPIRED_PHASE)),
  }),
};

const ownFields = (type: string, data: Uint8Array): OwnFields => {
  try {
    const entity = reportedEntity(type, data);
    return entity === undefined ? (OTHERS[type]?.(data) ?? {}) : ofReport(data, entity);
  } catch {
    return {}; // decoding the event later reports the error
  }
};

const idFields = (stream: StreamName): FlatFields => {
  const [project, domain, execution] = componentsOf(stream);
  return {
    ...(project !== undefined && { project }),
    ...(domain !== undefined && { domain }),
    ...(execution !== undefined && { execution }),
  };
};

/**
 * The size of the cache of stream ids. Events of one stream arrive close together, so parsing each name once pays off.
 */
const MAX_KNOWN = 4_096;

const known = new Map<StreamName, FlatFields>();

const rememberedIds = (stream: StreamName): FlatFields => {
  const found = known.get(stream);
  if (found) return found;
  if (known.size >= MAX_KNOWN) known.clear();
  const made = idFields(stream);
  known.set(stream, made);
  return made;
};

type Recorded = { readonly stream: StreamName; readonly type: string; readonly data: Uint8Array };

/**
 * The flat fields of an event; empty when its stream is not an execution. When the data cannot be read, only the fields
 * from the stream name are present.
 */
export const flatFields = ({ stream, type, data }: Recorded): FlatFields =>
  categoryOf(stream) === 'execution' ? { ...rememberedIds(stream), ...ownFields(type, data) } : {};
