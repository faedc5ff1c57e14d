import type {
  AppendReq_Options as AppendOptions,
  AppendReq_ProposedMessage as Proposed,
  BatchAppendReq_Options as BatchOptions,
  DeleteReq_Options as DeleteOptions,
  TombstoneReq_Options as TombstoneOptions,
} from '../../../../proto/gen/event_store/client/streams_pb.js';
import { MAX_APPEND_BYTES } from '../../../kernel/ports/event-store.js';
import type { NewEvent } from '../../../kernel/event.js';
import { AppendTooLarge } from '../../../kernel/fault.js';
import { invalid, missing, RpcError } from '../../../kernel/rpc.js';
import type { StreamName } from '../../../kernel/stream.js';
import { metadataFor } from '../event-metadata.js';
import { assertPropertiesWithoutNul } from '../request-text.js';
import { streamOf } from '../stream-identifier.js';
import { uuidBytes } from '../uuid.js';

/** The condition of a write: the stream may be in any state, must not exist, must exist, or must be at a revision. */
export type Expected = 'any' | 'no-stream' | 'stream-exists' | bigint;

/** The stream of a write, and the revision that it is conditional on. */
export type WriteTarget = { readonly stream: StreamName; readonly expected: Expected };

/** A requested append; without events it only checks the expected revision. */
export type AppendRequest = WriteTarget & { readonly events: readonly NewEvent[] };

const EXPECTED = { noStream: 'no-stream', any: 'any', streamExists: 'stream-exists' } as const;

type ExpectedCase = AppendOptions['expectedStreamRevision'] | BatchOptions['expectedStreamPosition'];

const expectedOf = (option: ExpectedCase, field: string): Expected => {
  if (option.case === undefined) throw missing(`options.${field}`);
  return option.case === 'revision' || option.case === 'streamPosition' ? option.value : EXPECTED[option.case];
};

/**
 * Reads the target of an append or a deletion.
 *
 * @throws {RpcError} INVALID_ARGUMENT with the field that is missing or invalid.
 */
export const writeTargetOf = (
  options: AppendOptions | BatchOptions | DeleteOptions | TombstoneOptions | undefined,
): WriteTarget => {
  if (options === undefined) throw missing('options');
  const stream = streamOf(options.streamIdentifier);
  return 'expectedStreamPosition' in options
    ? { stream, expected: expectedOf(options.expectedStreamPosition, 'expected_stream_position') }
    : { stream, expected: expectedOf(options.expectedStreamRevision, 'expected_stream_revision') };
};

const MAX_TYPE_BYTES = 1_024;

/** The properties that each proposed event must have. */
export const REQUIRED_PROPERTIES = ['type', 'content-type'] as const;

/** A proposed event lacks a required property. */
export class PropertyMissing extends RpcError {
  constructor(key: string) {
    super('INVALID_ARGUMENT', `missing proposed_message.metadata.${key}`);
    this.name = 'PropertyMissing';
  }
}

const propertyOf = (metadata: Proposed['metadata'], key: (typeof REQUIRED_PROPERTIES)[number]): string => {
  const value = metadata[key];
  if (value === undefined || value === '') throw new PropertyMissing(key);
  return value;
};

/**
 * Converts a proposed event to an event for the log.
 *
 * @throws {RpcError} INVALID_ARGUMENT with the field that is missing or invalid.
 */
export const proposedEvent = (
  { id, metadata, customMetadata, data }: Pick<Proposed, 'id' | 'metadata' | 'customMetadata' | 'data'>,
  recordedAtMs: number,
): NewEvent => {
  const type = propertyOf(metadata, 'type');
  const isJson = propertyOf(metadata, 'content-type') === 'application/json';
  if (Buffer.byteLength(type) > MAX_TYPE_BYTES)
    throw invalid('proposed_message.metadata.type', `longer than ${MAX_TYPE_BYTES} bytes`);
  // No log takes a NUL character (`checkAppend`); the error here names the field.
  assertPropertiesWithoutNul('proposed_message.metadata', metadata);
  return {
    id: uuidBytes('proposed_message.id', id),
    type,
    data,
    metadata: metadataFor({ custom: customMetadata, isJson, recordedAtMs }),
  };
};

/**
 * Collects the events of an append that arrives in several messages.
 *
 * @throws {AppendTooLarge} by `events()`, when the events have more than `MAX_APPEND_BYTES` in all.
 */
export const gathering = (): { add: (event: NewEvent) => void; events: () => readonly NewEvent[] } => {
  let events: NewEvent[] = [];
  let bytes = 0;
  return {
    add: (event) => {
      bytes += event.data.length + event.id.length + Buffer.byteLength(event.metadata) + Buffer.byteLength(event.type);
      if (bytes <= MAX_APPEND_BYTES) events.push(event);
      else events = []; // releases the memory while the rest arrives
    },
    events: () => {
      if (bytes > MAX_APPEND_BYTES)
        throw new AppendTooLarge(`an append of ${bytes} bytes is above ${MAX_APPEND_BYTES}`);
      return events;
    },
  };
};
