import { fromBinary } from '@bufbuild/protobuf';
import type { WatchAnswer } from '../../../projections/execution-watch/answers.js';
import { WatchResponse_Kind as Kind, WatchResponseSchema } from '../../../proto/gen/platformidl/eventlog/watch_pb.js';
import { ANSWER_DEPTH } from '../../kernel/encoding/answer-depth.js';
import { frameOf } from '../../kernel/encoding/grpc-frame.js';
import { encodedEvent } from '../../gateway/rest/server-sent-events.js';
import { writeJson } from '../../gateway/rest/json.js';
import type { EncodeAnswer } from '../../../projections/execution-watch/thread-messages.js';

const eventOf = ({ kind, position, isWhole, bytes }: WatchAnswer): Buffer => {
  const message = fromBinary(WatchResponseSchema, bytes, { recursionLimit: ANSWER_DEPTH });
  return encodedEvent({
    // An incomplete answer has no id, so that a client does not resume in the middle of a state.
    ...(isWhole && { id: position.toString() }),
    type: Kind[kind].toLowerCase(),
    data: writeJson(WatchResponseSchema, message, 'jsonName'),
  });
};

/** Encodes an answer as it is sent. */
export const encodedAnswer: EncodeAnswer = (form, answer) => {
  const { kind, position, stream } = answer;
  const data = form === 'messages' ? frameOf(answer.bytes) : eventOf(answer);
  // The bytes are copied, because a message to another thread would contain the whole memory pool of the buffer.
  return { kind, position, data: new Uint8Array(data), ...(stream !== undefined && { stream }) };
};
