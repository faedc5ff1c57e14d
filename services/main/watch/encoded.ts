import { fromBinary } from '@bufbuild/protobuf';
import type { WatchAnswer } from '../../../projections/execution-watch/answers.js';
import { WatchResponseSchema } from '../../../proto/gen/platformidl/eventlog/watch_pb.js';
import { writeJson } from '../../gateway/rest/json.js';
import type { SentAnswer, WatchFormat } from './messages.js';

/** Messages nested deeper than the library reads by default, as in the answers of the interface. */
const MAX_DEPTH = 200;

/** Encodes an answer in a format; JSON is one line. */
export const encodedAs = (format: WatchFormat, { bytes, ...rest }: WatchAnswer): SentAnswer => {
  if (format === 'protobuf') return { ...rest, data: bytes };
  const message = fromBinary(WatchResponseSchema, bytes, { recursionLimit: MAX_DEPTH });
  return { ...rest, data: writeJson(WatchResponseSchema, message, 'jsonName') };
};
