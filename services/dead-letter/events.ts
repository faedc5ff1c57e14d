import {
  type DeadLetterRecorded,
  DeadLetterRecordedSchema,
  type DeadLetterRetryRequested,
  DeadLetterRetryRequestedSchema,
  type DeadLetterSettled,
  DeadLetterSettledSchema,
  type DeadLetterSkipped,
  DeadLetterSkippedSchema,
} from '../../proto/gen/platformidl/eventlog/dead_letter_pb.js';
import { eventShape, messageCodec, sinceFormat } from '../kernel/encoding/message-codec.js';
import { FORMAT_WITH_DEAD_LETTERS } from '../kernel/log-format.js';
import { type StreamName, streamName } from '../kernel/stream.js';

/** The category of the streams, `deadLetter-:{reactor}`. */
export const DEAD_LETTER_CATEGORY = 'deadLetter';

export type DeadLetterEvent =
  | { readonly type: 'DeadLetterRecorded'; readonly data: DeadLetterRecorded }
  | { readonly type: 'DeadLetterRetryRequested'; readonly data: DeadLetterRetryRequested }
  | { readonly type: 'DeadLetterSkipped'; readonly data: DeadLetterSkipped }
  | { readonly type: 'DeadLetterSettled'; readonly data: DeadLetterSettled };

/** The first component of a name is a project; it is empty here, so that no project is taken for a reactor. */
export const deadLetterStream = (reactor: string): StreamName => streamName(DEAD_LETTER_CATEGORY, ['', reactor]);

export const deadLetterCodec = messageCodec<DeadLetterEvent>({
  DeadLetterRecorded: sinceFormat(FORMAT_WITH_DEAD_LETTERS, eventShape(DeadLetterRecordedSchema)),
  DeadLetterRetryRequested: sinceFormat(FORMAT_WITH_DEAD_LETTERS, eventShape(DeadLetterRetryRequestedSchema)),
  DeadLetterSkipped: sinceFormat(FORMAT_WITH_DEAD_LETTERS, eventShape(DeadLetterSkippedSchema)),
  DeadLetterSettled: sinceFormat(FORMAT_WITH_DEAD_LETTERS, eventShape(DeadLetterSettledSchema)),
});
