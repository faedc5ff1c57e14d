import type { StreamIdentifier } from '../../../../proto/gen/event_store/client/values_pb.js';
import { invalid } from '../../../kernel/rpc.js';
import type { StreamName } from '../../../kernel/stream.js';
import { streamOf } from '../stream-identifier.js';

/** The whole log, as the source of a group. */
export const ALL = '$all';

/** A group: its name, and the stream that it reads or {@link ALL}. */
export type GroupName = { readonly source: string; readonly group: string };

/** A choice between a stream and the whole log, in requests. */
type SourceOption =
  | { readonly case: 'streamIdentifier' | 'stream'; readonly value: StreamIdentifier }
  | { readonly case: 'all'; readonly value: unknown }
  | { readonly case: undefined; readonly value?: undefined };

const MAX_GROUP_BYTES = 512;

/**
 * Reads the source of a group.
 *
 * @throws {RpcError} INVALID_ARGUMENT when the name of the stream is invalid or `$all`.
 */
export const groupSourceOf = (option: SourceOption): string => {
  if (option.case === 'all') return ALL;
  const stream = streamOf(option.value);
  if (stream === ALL) throw invalid('options.stream_identifier', 'the whole log is chosen by options.all');
  return stream;
};

/**
 * Reads the name of a group, which may be empty.
 *
 * @throws {RpcError} INVALID_ARGUMENT when it is longer than 512 bytes.
 */
export const groupOf = (name: string): string => {
  if (Buffer.byteLength(name) > MAX_GROUP_BYTES)
    throw invalid('options.group_name', `longer than ${MAX_GROUP_BYTES} bytes`);
  return name;
};

/** The key of a group among all groups. Two names with the same key share their streams, so only one may exist. */
export const groupKeyOf = ({ source, group }: GroupName): string => `${source}::${group}`;

/** The category of the streams with the progress and the parked events of groups. */
export const GROUP_CATEGORY = '$persistentsubscription';

/** True for streams with the progress or the parked events of a group. */
export const isOfGroup = (stream: string): boolean => stream.startsWith(`${GROUP_CATEGORY}-`);

/** The stream with the settings of all groups. */
export const CONFIGURATION_STREAM = '$persistentSubscriptionConfig' as StreamName;

/** The stream with the progress of a group. */
export const checkpointStreamOf = (name: GroupName): StreamName =>
  `${GROUP_CATEGORY}-${groupKeyOf(name)}-checkpoint` as StreamName;

/** The stream with links to the parked events of a group. */
export const parkedStreamOf = (name: GroupName): StreamName =>
  `${GROUP_CATEGORY}-${groupKeyOf(name)}-parked` as StreamName;
