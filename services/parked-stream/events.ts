import {
  type ParkedStreamRetryRequested,
  ParkedStreamRetryRequestedSchema,
} from '../../proto/gen/platformidl/eventlog/parked_stream_pb.js';
import { eventShape, messageCodec, sinceFormat } from '../kernel/encoding/message-codec.js';
import { FORMAT_WITH_RETRIES } from '../kernel/log-format.js';
import { streamName } from '../kernel/stream.js';

/** The category of the one stream, `parkedStream-:retries`. */
export const PARKED_STREAM_CATEGORY = 'parkedStream';

/** The first component of a name is a project; it is empty here, so that no project has this stream. */
export const RETRIES_STREAM = streamName(PARKED_STREAM_CATEGORY, ['', 'retries']);

export type ParkedStreamEvent = {
  readonly type: 'ParkedStreamRetryRequested';
  readonly data: ParkedStreamRetryRequested;
};

export const parkedStreamCodec = messageCodec<ParkedStreamEvent>({
  ParkedStreamRetryRequested: sinceFormat(FORMAT_WITH_RETRIES, eventShape(ParkedStreamRetryRequestedSchema)),
});
