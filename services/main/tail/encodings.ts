import { toBinary } from '@bufbuild/protobuf';
import { type TailResponse, TailResponseSchema } from '../../../proto/gen/platformidl/eventlog/tail_pb.js';
import { frameOf } from '../../kernel/encoding/grpc-frame.js';
import { encodedEvent } from '../../gateway/rest/server-sent-events.js';
import type { RecordedEvent } from '../../kernel/event.js';
import { CorruptEvent, UnknownEvent } from '../../kernel/fault.js';
import type { PayloadStore } from '../../kernel/ports/payload-store.js';
import { categoryOf } from '../../kernel/stream.js';
import { checkpointAnswer, tailEventAnswer } from '../../streams/tail/answers.js';
import { encodeOnce } from '../../streams/tail/encode-once.js';
import type { TailEncoding } from '../../streams/tail/tail.js';
import { eventLine } from '../../event-json/event-line.js';
import { readable, wholeEventEncoder } from '../../event-json/readable.js';
import { codecs } from '../models.js';

/** The encodings of tails: Server-Sent Events, or gRPC messages with events as JSON or as protobuf. */
export type TailForm = 'events' | 'json' | 'protobuf';

const messageOf = (answer: TailResponse): Uint8Array => frameOf(toBinary(TailResponseSchema, answer));

const NOTHING = new Uint8Array();

/**
 * False in streams of other writers, whose events are no messages of the control plane. Those of a category that only a
 * newer release has cannot be told from them: events appended through port 2113 have the metadata of a control plane
 * too.
 */
const isMessage = ({ stream }: RecordedEvent): boolean => codecs.has(categoryOf(stream));

const orAsStored =
  ({ data }: RecordedEvent) =>
  (error: unknown): Uint8Array => {
    if (error instanceof UnknownEvent || error instanceof CorruptEvent) return data;
    throw error;
  };

/**
 * Makes the encodings of tails. In protobuf, events of other writers and of unknown categories have no bytes, so that
 * they are left out. Any other event that this release cannot decode is sent as it is stored; in JSON, all of these are
 * sent, in base64. A tail that ended there would end there again each time it resumes.
 */
export const tailEncodings = (payloads: PayloadStore): Readonly<Record<TailForm, TailEncoding>> => {
  const dataOf = readable(payloads);
  const whole = wholeEventEncoder(payloads);
  const checkpoint = (position: bigint): Uint8Array => messageOf(checkpointAnswer(position));
  return {
    events: {
      name: 'events',
      event: encodeOnce(async (event) => {
        const line = await eventLine(event, dataOf);
        return encodedEvent({ id: event.position.toString(), type: 'event', data: line.trimEnd() });
      }),
      checkpoint: (position) => {
        const data = JSON.stringify({ position: Number(position) });
        return encodedEvent({ id: position.toString(), type: 'checkpoint', data });
      },
    },
    json: {
      name: 'json',
      event: encodeOnce(async (event) => {
        const value = (await eventLine(event, dataOf)).trimEnd();
        return messageOf(tailEventAnswer(event, { case: 'json', value }));
      }),
      checkpoint,
    },
    protobuf: {
      name: 'protobuf',
      event: encodeOnce(async (event) => {
        if (!isMessage(event)) return NOTHING;
        const value = await whole.message(event).catch(orAsStored(event));
        return messageOf(tailEventAnswer(event, { case: 'message', value }));
      }),
      checkpoint,
    },
  };
};
