import {
  type ReadReq,
  ReadReq_Options_ReadDirection as Direction,
  type ReadReq_Options,
} from '../../../../proto/gen/event_store/client/streams_pb.js';
import { invalid, missing } from '../../../kernel/rpc.js';
import { type ReadFilter, readFilterOf } from './filter.js';
import { streamOf } from '../stream-identifier.js';
import type { StreamName } from '../../../kernel/stream.js';
import { type UuidForm, uuidFormOf } from '../uuid.js';

/** The start of a read: an end of the stream or log, or a revision or position. */
export type From = 'start' | 'end' | bigint;

/** A read of, or a subscription to, one stream or the whole log. */
export type ReadPlan = {
  /** `undefined` for the whole log. */
  readonly stream: StreamName | undefined;
  /** A read begins with the event there, in the log backwards with the one before; a subscription begins after it. */
  readonly from: From;
  readonly direction: 'forwards' | 'backwards';
  /** `undefined` for a subscription. */
  readonly count: number | undefined;
  readonly filter: ReadFilter | undefined;
  readonly form: UuidForm;
  /** The client supports the messages about the first and last revision of a stream. */
  readonly supportsRange: boolean;
};

/** The number that clients send for "the end" in fields that only hold a number. */
const END = 2n ** 64n - 1n;

/** Reads the revision or position at which a client wants to start. */
export const startOf = (place: bigint): From => (place === END ? 'end' : place);

const fromOf = ({ streamOption }: ReadReq_Options): From => {
  if (streamOption.case === 'stream') {
    const { revisionOption: option } = streamOption.value;
    return option.case === 'revision' ? startOf(option.value) : (option.case ?? 'start');
  }
  const option = streamOption.value?.allOption;
  return option?.case === 'position' ? startOf(option.value.commitPosition) : (option?.case ?? 'start');
};

const countOf = ({ countOption }: ReadReq_Options): number | undefined => {
  if (countOption.case === 'subscription') return undefined;
  if (countOption.case === 'count') return Number(countOption.value);
  throw invalid('options', 'one of count and subscription is needed');
};

const assertCombination = ({ streamOption, countOption, filterOption, readDirection }: ReadReq_Options): void => {
  if (streamOption.case === undefined) throw invalid('options', 'one of stream and all is needed');
  if (filterOption.case === undefined) throw invalid('options', 'one of filter and no_filter is needed');
  if (filterOption.case === 'filter' && streamOption.case === 'stream')
    throw invalid('options.filter', 'one stream is read whole');
  if (!Object.hasOwn(Direction, readDirection))
    throw invalid('options.read_direction', `${readDirection} is no direction`);
  if (countOption.case === 'subscription' && readDirection === Direction.Backwards)
    throw invalid('options.read_direction', 'a subscription goes forwards');
};

/**
 * Converts a read request to a plan.
 *
 * @throws {RpcError} INVALID_ARGUMENT with the field that is missing or invalid.
 */
export const readPlan = ({ options }: ReadReq): ReadPlan => {
  if (options === undefined) throw missing('options');
  assertCombination(options);
  const { streamOption, filterOption, uuidOption, controlOption, readDirection } = options;
  const count = countOf(options);
  return {
    stream: streamOption.case === 'stream' ? streamOf(streamOption.value.streamIdentifier) : undefined,
    from: fromOf(options),
    direction: readDirection === Direction.Backwards ? 'backwards' : 'forwards',
    count,
    filter: filterOption.case === 'filter' ? readFilterOf(filterOption.value, count === undefined) : undefined,
    form: uuidFormOf(uuidOption),
    supportsRange: (controlOption?.compatibility ?? 0) >= 1,
  };
};
