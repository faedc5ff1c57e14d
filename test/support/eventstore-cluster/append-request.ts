import type { ServerUnaryCall } from '@grpc/grpc-js';
import type {
  AppendReq_Options as AppendOptions,
  AppendReq_ProposedMessage as Message,
  BatchAppendReq_Options as Options,
} from '../../../proto/gen/event_store/client/streams_pb.js';
import type { Proposed } from './log-file.js';
import { invalidArgument, notLeader, notReady, streamDeleted, timedOut } from './refusals.js';
import type { Expected, Outcome } from './streams.js';
import { idBytes } from './wire.js';

/** The expectations that are not a revision, by the case of the option. */
const NAMES = { noStream: 'no-stream', any: 'any', streamExists: 'stream-exists' } as const;

/** The revision that the options expect the stream to have. @throws when they name none. */
export const expectedOf = (
  option: AppendOptions['expectedStreamRevision'] | Options['expectedStreamPosition'],
): Expected => {
  if (option.case === undefined) throw invalidArgument('an expected revision is needed');
  return option.case === 'revision' || option.case === 'streamPosition' ? option.value : NAMES[option.case];
};

/** The name of the stream that the options are about; empty without one. */
export const nameOf = (options: Pick<Options, 'streamIdentifier'> | undefined): string =>
  Buffer.from(options?.streamIdentifier?.streamName ?? []).toString();

/** Reads an event that is to be appended. @throws when it has no type. */
export const proposedOf = ({
  id,
  metadata,
  customMetadata,
  data,
}: Pick<Message, 'id' | 'metadata' | 'customMetadata' | 'data'>): Proposed => {
  const { type = '', 'content-type': contentType } = metadata;
  if (type === '') throw new Error("Value cannot be null or empty. (Parameter 'eventType')");
  return {
    id: idBytes(id),
    type,
    isJson: contentType === 'application/json',
    metadata: Buffer.from(customMetadata),
    data: Buffer.from(data),
  };
};

/** The size of the data of events, in bytes. */
export const bytesOf = (events: readonly Proposed[]): number => events.reduce((sum, { data }) => sum + data.length, 0);

/** True when the call may be served only by the leader. */
export const isLeaderWanted = ({ metadata }: Pick<ServerUnaryCall<Buffer, Buffer>, 'metadata'>): boolean =>
  String(metadata.get('requires-leader')[0] ?? '').toLowerCase() === 'true';

/** The error of a call with one append, for an outcome that is neither `written` nor `wrong-version`. */
export const refusalOf = (stream: string, outcome: Outcome): Error => {
  if (outcome.kind === 'not-leader') return notLeader(outcome.port);
  if (outcome.kind === 'deleted') return streamDeleted(stream);
  return outcome.kind === 'timeout' ? timedOut() : notReady();
};
