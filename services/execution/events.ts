import { type DescMessage, fromBinary, type MessageShape, toBinary } from '@bufbuild/protobuf';

import type { Content as ContentMessage } from '../../proto/gen/platformidl/eventlog/content_pb.js';
import {
  type ExecutionCreated,
  ExecutionCreatedSchema,
  type ExecutionExpired,
  ExecutionExpiredSchema,
  type ExecutionStateChanged,
  ExecutionStateChangedSchema,
  type ExecutionTagged,
  ExecutionTaggedSchema,
  type TerminationRequested,
  TerminationRequestedSchema,
} from '../../proto/gen/platformidl/eventlog/execution_pb.js';
import type { EventCodec } from '../kernel/aggregate.js';
import { CorruptEvent, UnknownEvent } from '../kernel/fault.js';
import type { Content } from '../kernel/payload-store.js';
import { decodeReport, encodeReport, type EngineReport, refMessage } from './engine-report.js';

export type { EngineReport, Entity, Instant, TaskId } from './engine-report.js';

/** The category of the streams, `execution-{project}:{domain}:{name}`. */
export const EXECUTION_CATEGORY = 'execution';

/** What happens to an execution, its nodes and its tasks. */
export type ExecutionEvent =
  | { readonly type: 'ExecutionCreated'; readonly data: ExecutionCreated }
  | { readonly type: 'EngineReported'; readonly data: EngineReport }
  | { readonly type: 'TerminationRequested'; readonly data: TerminationRequested }
  | { readonly type: 'ExecutionExpired'; readonly data: ExecutionExpired }
  | { readonly type: 'ExecutionStateChanged'; readonly data: ExecutionStateChanged }
  | { readonly type: 'ExecutionTagged'; readonly data: ExecutionTagged };

type EventType = ExecutionEvent['type'];
type DataOf<Type extends EventType> = Extract<ExecutionEvent, { readonly type: Type }>['data'];

/** How the data of one type of event is stored, and which of its parts may be large. */
type Shape<Data> = {
  readonly encode: (data: Data) => Uint8Array;
  readonly decode: (bytes: Uint8Array) => Data;
  readonly contents: (data: Data) => readonly (Content | undefined)[];
};

/** What moves a part to the payload store leaves a plain reference, which only a message can be encoded with. */
const settle = (part: ContentMessage | undefined): void => {
  if (part?.content.case === 'ref') part.content = { case: 'ref', value: refMessage(part.content.value) };
};

const message = <Desc extends DescMessage>(
  schema: Desc,
  contents: (data: MessageShape<Desc>) => readonly (ContentMessage | undefined)[] = () => [],
): Shape<MessageShape<Desc>> => ({
  encode: (data) => {
    contents(data).forEach(settle);
    return toBinary(schema, data);
  },
  decode: (bytes) => fromBinary(schema, bytes),
  contents,
});

const shapes: { readonly [Type in EventType]: Shape<DataOf<Type>> } = {
  ExecutionCreated: message(ExecutionCreatedSchema, ({ inputs, userInputs }) => [inputs, userInputs]),
  EngineReported: {
    encode: encodeReport,
    decode: decodeReport,
    contents: (report) => [report.message, report.closed],
  },
  TerminationRequested: message(TerminationRequestedSchema),
  ExecutionExpired: message(ExecutionExpiredSchema, ({ closed }) => [closed]),
  ExecutionStateChanged: message(ExecutionStateChangedSchema),
  ExecutionTagged: message(ExecutionTaggedSchema),
};

const SCHEMA = 1;

/** The table's row for a type takes exactly the data of that type; the compiler cannot follow. */
const shapeOf = (type: EventType): Shape<unknown> => shapes[type] as Shape<unknown>;

const decode = (type: string, bytes: Uint8Array, schema: number): ExecutionEvent => {
  if (!Object.hasOwn(shapes, type) || schema !== SCHEMA) throw new UnknownEvent(`${type} of schema ${schema}`);
  try {
    return { type, data: shapeOf(type as EventType).decode(bytes) } as ExecutionEvent;
  } catch (error) {
    throw new CorruptEvent(`${type} cannot be decoded`, error);
  }
};

export const executionCodec: EventCodec<ExecutionEvent> = {
  encode: ({ type, data }) => ({ type, data: shapeOf(type).encode(data) }),
  decode,
  contents: ({ type, data }) =>
    shapeOf(type)
      .contents(data)
      .filter((part) => part !== undefined),
};
