import type { DescMessage } from '@bufbuild/protobuf';
import { UnknownEvent } from '../../kernel/fault.js';
import { codecs } from '../models.js';
import { eventRegistry } from './readable.js';

/** An event type: the category of its streams, and the message that it is stored as. */
export type EventType = { readonly category: string; readonly message: DescMessage };

const isEventOf = (category: string, { name }: DescMessage): boolean => {
  try {
    codecs.get(category)?.decode(name, new Uint8Array(), 1);
    return true;
  } catch (error) {
    return !(error instanceof UnknownEvent);
  }
};

/** Every event type that this release knows: each message that the codec of a category decodes. */
export const eventTypes = (): readonly EventType[] => {
  const messages = [...eventRegistry].filter((each) => each.kind === 'message');
  return [...codecs.keys()].flatMap((category) =>
    messages.filter((message) => isEventOf(category, message)).map((message) => ({ category, message })),
  );
};
