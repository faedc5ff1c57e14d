import { type DescMessage, fromBinary, type MessageShape, toBinary } from '@bufbuild/protobuf';

import type { EventCodec } from '../aggregate.js';
import { CorruptEvent, UnknownEvent } from '../fault.js';
import { NEWEST_FORMAT } from '../log-format.js';
import type { Content } from '../ports/payload-store.js';

/** The shape that this release writes, and the only one there has been. */
const SCHEMA = 1;
const REF_TYPE = 'platformidl.eventlog.PayloadRef';

/** How one type of event is stored, and which of its parts may be large. */
export type EventShape<Data> = {
  readonly encode: (data: Data) => Uint8Array;
  readonly decode: (bytes: Uint8Array) => Data;
  readonly contents: (data: Data) => readonly (Content | undefined)[];
  /** How it is written in logs of a format below this one, in a type that the codec lifts. */
  readonly before?: { readonly format: number; readonly type: string; readonly encode: (data: Data) => Uint8Array };
};

/** What moves a part to the payload store leaves a plain reference, which only a message can be encoded with. */
const settle = (part: Content | undefined): void => {
  if (part?.content.case !== 'ref') return;
  const value = { ...part.content.value, $typeName: REF_TYPE };
  part.content = { case: 'ref', value };
};

/** An event that is stored as the message of its name. */
export const eventShape = <Desc extends DescMessage>(
  schema: Desc,
  contents: EventShape<MessageShape<Desc>>['contents'] = () => [],
): EventShape<MessageShape<Desc>> => ({
  encode: (data) => {
    contents(data).forEach(settle);
    return toBinary(schema, data);
  },
  decode: (bytes) => fromBinary(schema, bytes),
  contents,
});

type AnyEvent = { readonly type: string; readonly data: unknown };

/** The shape of each type of event. */
export type Shapes<Event extends AnyEvent> = {
  readonly [Type in Event['type']]: EventShape<Extract<Event, { readonly type: Type }>['data']>;
};

/** Stored types that are not written any more: each is read as an event of today. */
export type Lifts<Event> = Readonly<Record<string, (bytes: Uint8Array) => Event>>;

/** The codec of an aggregate, one row for each type of event. */
export const messageCodec = <Event extends AnyEvent>(
  shapes: Shapes<Event>,
  lifts: Lifts<Event> = {},
): EventCodec<Event> => {
  // The row of a type takes exactly the data of that type; the compiler cannot follow.
  const lifting = new Map(Object.entries(lifts));
  const rows = new Map(Object.entries(shapes) as [string, EventShape<unknown>][]);
  const rowOf = (type: string): EventShape<unknown> => {
    const row = rows.get(type);
    if (row === undefined) throw new UnknownEvent(`event type ${type} is unknown`);
    return row;
  };
  return {
    encode: ({ type, data }, format = NEWEST_FORMAT) => {
      const { encode, before } = rowOf(type);
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
