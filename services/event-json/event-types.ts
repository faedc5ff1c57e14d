import type { DescMessage } from '@bufbuild/protobuf';
import type { EventCodec } from '../kernel/aggregate.js';
import { UnknownEvent } from '../kernel/fault.js';
import { eventRegistry } from './readable.js';

/** An event type: the category of its streams, and the message that it is stored as. */
export type EventType = { readonly category: string; readonly message: DescMessage };

/** The codec of the events of each category. */
type Codecs = ReadonlyMap<string, EventCodec<unknown>>;

const isEventOf = (codec: EventCodec<unknown>, { name }: DescMessage): boolean => {
  try {
    codec.decode(name, new Uint8Array(), 1);
    return true;
  } catch (error) {
    return !(error instanceof UnknownEvent);
  }
};

/** Every event type that a release knows, by its codecs: each message that the codec of a category decodes. */
export const eventTypes = (codecs: Codecs): readonly EventType[] => {
  const messages = [...eventRegistry].filter((each) => each.kind === 'message');
  return [...codecs].flatMap(([category, codec]) =>
    messages.filter((message) => isEventOf(codec, message)).map((message) => ({ category, message })),
  );
};
