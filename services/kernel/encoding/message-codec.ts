import { type DescMessage, fromBinary, type MessageShape, toBinary } from '@bufbuild/protobuf';

import type { EventCodec } from '../aggregate.js';
import { CorruptEvent, UnknownEvent } from '../fault.js';
import { NEWEST_FORMAT } from '../log-format.js';
import type { Content } from '../ports/payload-store.js';

/** The schema version that this release writes, and the only one so far. */
const SCHEMA = 1;
const REF_TYPE = 'platformidl.eventlog.PayloadRef';

/** Storage form of one event type, and its contents that may be large. */
export type EventShape<Data> = {
  readonly encode: (data: Data) => Uint8Array;
  readonly decode: (bytes: Uint8Array) => Data;
  readonly contents: (data: Data) => readonly (Content | undefined)[];
  /** The encoding for logs of a format below `format`: another type, which the codec's `lifts` can read. */
  readonly before?: { readonly format: number; readonly type: string; readonly encode: (data: Data) => Uint8Array };
  /** The first log format that has this type. Logs of older formats must not get it. */
  readonly since?: number;
};

/**
 * Completes a payload reference. The payload store leaves a plain object, and the encoder needs a message with its type
 * name.
 */
const completeReference = (part: Content | undefined): void => {
  if (part?.content.case !== 'ref') return;
  const value = { ...part.content.value, $typeName: REF_TYPE };
  part.content = { case: 'ref', value };
};

/** Storage form of an event that is stored as the protobuf message of the same name. */
export const eventShape = <Desc extends DescMessage>(
  schema: Desc,
  contents: EventShape<MessageShape<Desc>>['contents'] = () => [],
): EventShape<MessageShape<Desc>> => ({
  encode: (data) => {
    contents(data).forEach(completeReference);
    return toBinary(schema, data);
  },
  decode: (bytes) => fromBinary(schema, bytes),
  contents,
});

/** The shape of an event type that only logs from a format on have. */
export const sinceFormat = <Data>(since: number, shape: EventShape<Data>): EventShape<Data> => ({ ...shape, since });

type AnyEvent = { readonly type: string; readonly data: unknown };

/** Storage form of each event type. */
export type Shapes<Event extends AnyEvent> = {
  readonly [Type in Event['type']]: EventShape<Extract<Event, { readonly type: Type }>['data']>;
};

/** Upcasters for the event types of older log formats: each reads the old bytes as an event of a current type. */
export type Upcasters<Event> = Readonly<Record<string, (bytes: Uint8Array) => Event>>;

/** Makes the codec of an aggregate from the storage forms of its event types. */
export const messageCodec = <Event extends AnyEvent>(
  shapes: Shapes<Event>,
  lifts: Upcasters<Event> = {},
): EventCodec<Event> => {
  const lifting = new Map(Object.entries(lifts));
  // A row takes exactly the data of its event type; the compiler cannot prove it.
  const rows = new Map(Object.entries(shapes) as [string, EventShape<unknown>][]);
  const rowOf = (type: string): EventShape<unknown> => {
    const row = rows.get(type);
    if (row === undefined) throw new UnknownEvent(`event type ${type} is unknown`);
    return row;
  };
  return {
    encode: ({ type, data }, format = NEWEST_FORMAT) => {
      const { encode, before, since = 1 } = rowOf(type);
      // Callers compare the format of the log with `since` before: processes of the previous release cannot read the
      // event.
      if (format < since) throw new Error(`a log of format ${format} must not get ${type}, which format ${since} has`);
      if (before && format < before.format) return { type: before.type, data: before.encode(data) };
      return { type, data: encode(data) };
    },
    decode: (type, bytes, schema) => {
      const lift = lifting.get(type);
      const row = lift ? undefined : rowOf(type);
      if (schema !== SCHEMA) throw new UnknownEvent(`schema ${schema} of ${type} is unknown`);
      try {
        return lift ? lift(bytes) : ({ type, data: row?.decode(bytes) } as Event);
      } catch (error) {
        throw new CorruptEvent(`${type} cannot be decoded`, error);
      }
    },
    contents: ({ type, data }) =>
      rowOf(type)
        .contents(data)
        .filter((part) => part !== undefined),
  };
};
