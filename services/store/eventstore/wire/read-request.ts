import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { type Direction, type Filter, FORWARDS, STREAM_NAME } from '@eventstore/db-client';
import {
  type ReadReq_Options_AllOptionsSchema,
  type ReadReq_Options_FilterOptionsSchema,
  ReadReq_Options_ReadDirection,
  type ReadReq_Options_StreamOptionsSchema,
  type ReadReq_OptionsSchema,
  ReadReqSchema,
} from '../../../../proto/gen/event_store/client/streams_pb.js';

const { Forwards, Backwards } = ReadReq_Options_ReadDirection;

type Options = MessageInitShape<typeof ReadReq_OptionsSchema>;
type AllOptions = MessageInitShape<typeof ReadReq_Options_AllOptionsSchema>;
type StreamOptions = MessageInitShape<typeof ReadReq_Options_StreamOptionsSchema>;
type FilterOptions = MessageInitShape<typeof ReadReq_Options_FilterOptionsSchema>;

/** The parameters of a read or a subscription. */
export type ReadParameters = {
  /** The whole log by default. */
  readonly stream?: string;
  /** A revision of the stream, or a position in the log. */
  readonly from: 'start' | 'end' | bigint;
  readonly direction?: Direction;
  /** All events by default; unused for a subscription. */
  readonly count?: number | bigint | undefined;
  readonly isSubscription?: boolean;
  /** A subscription that ends when its events are not taken in time, before the node drops it for that. */
  readonly isLive?: boolean;
  readonly filter?: Filter | undefined;
  readonly requiresLeader?: boolean | undefined;
};

const end = (from: 'start' | 'end') => ({ case: from, value: {} }) as const;

const allOption = (from: ReadParameters['from']): NonNullable<AllOptions['allOption']> => {
  if (from === 'start' || from === 'end') return end(from);
  return { case: 'position', value: { commitPosition: from, preparePosition: from } };
};

const revisionOption = (from: ReadParameters['from']): NonNullable<StreamOptions['revisionOption']> => {
  if (from === 'start' || from === 'end') return end(from);
  return { case: 'revision', value: from };
};

const streamOption = ({ stream, from }: ReadParameters): NonNullable<Options['streamOption']> =>
  stream === undefined
    ? { case: 'all', value: { allOption: allOption(from) } }
    : {
        case: 'stream',
        value: { streamIdentifier: { streamName: Buffer.from(stream) }, revisionOption: revisionOption(from) },
      };

const expression = (filter: Filter): NonNullable<FilterOptions['filter']> => {
  const value = 'regex' in filter ? { regex: filter.regex } : { prefix: [...filter.prefixes] };
  return { case: filter.filterOn === STREAM_NAME ? 'streamIdentifier' : 'eventType', value };
};

const filterOption = (filter: Filter | undefined): NonNullable<Options['filterOption']> => {
  if (filter === undefined) return { case: 'noFilter', value: {} };
  const { maxSearchWindow: max, checkpointInterval } = filter;
  const window = max === undefined ? ({ case: 'count', value: {} } as const) : ({ case: 'max', value: max } as const);
  const value = { filter: expression(filter), window, checkpointIntervalMultiplier: checkpointInterval };
  return { case: 'filter', value };
};

/** Encodes the request of a read or subscription. */
export const encodedReadRequest = (parameters: ReadParameters): Buffer => {
  const { direction = FORWARDS, count = Number.MAX_SAFE_INTEGER, isSubscription = false, filter } = parameters;
  const options: Options = {
    streamOption: streamOption(parameters),
    readDirection: direction === FORWARDS ? Forwards : Backwards,
    countOption: isSubscription ? { case: 'subscription', value: {} } : { case: 'count', value: BigInt(count) },
    filterOption: filterOption(filter),
    uuidOption: { content: { case: 'string', value: {} } },
  };
  return Buffer.from(toBinary(ReadReqSchema, create(ReadReqSchema, { options })));
};
