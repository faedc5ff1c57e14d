import { type LogFormatSet, LogFormatSetSchema } from '../../proto/gen/platformidl/eventlog/log_format_pb.js';
import { eventShape, messageCodec } from '../kernel/encoding/message-codec.js';
import { streamName } from '../kernel/stream.js';

/** The category of the one stream, `log-format`. */
export const LOG_CATEGORY = 'log';

export const LOG_FORMAT_STREAM = streamName(LOG_CATEGORY, ['format']);

export type LogFormatEvent = { readonly type: 'LogFormatSet'; readonly data: LogFormatSet };

export const logFormatCodec = messageCodec<LogFormatEvent>({ LogFormatSet: eventShape(LogFormatSetSchema) });
