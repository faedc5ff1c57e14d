import { PassThrough } from 'node:stream';
import { create, type DescField, type DescMessage, type DescMethod, ScalarType, toBinary } from '@bufbuild/protobuf';
import { reflect, type ReflectMessage } from '@bufbuild/protobuf/reflect';
import type { ClientDuplexStream } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { Gossip } from '../../../proto/gen/event_store/client/gossip_pb.js';
import { PersistentSubscriptions } from '../../../proto/gen/event_store/client/persistent_pb.js';
import { ServerFeatures } from '../../../proto/gen/event_store/client/server_features_pb.js';
import {
  AppendReq_OptionsSchema,
  BatchAppendReq_OptionsSchema,
  BatchAppendReqSchema,
  Streams,
} from '../../../proto/gen/event_store/client/streams_pb.js';
import { StreamIdentifierSchema, UUIDSchema } from '../../../proto/gen/event_store/client/values_pb.js';
import type { EncodedCall } from '../../../services/kernel/ports/encoded-calls.js';
import { fullAccess } from '../../../services/streams/eventstore/access.js';
import type { AppendServices } from '../../../services/streams/eventstore/append/append.js';
import { proposedEvent, writeTargetOf } from '../../../services/streams/eventstore/append/append-request.js';
import { openBatchStream } from '../../../services/streams/eventstore/append/batch-append.js';
import {
  type GroupCalls,
  forwardedAdministration,
  forwardedConsumeHandler,
} from '../../../services/streams/eventstore/groups/forwarded-calls.js';
import { storedForm } from '../../../services/streams/eventstore/recorded.js';
import { decodedRequest } from '../../../services/streams/eventstore/request-text.js';

type Path = readonly DescField[];

const STREAM_NAME = StreamIdentifierSchema.field.streamName;

/** The paths of all texts in a request; the protocol sends names of streams as bytes. */
const textsIn = (type: DescMessage, parents: Path = []): readonly Path[] =>
  type.fields.flatMap((field): readonly Path[] => {
    const path = [...parents, field];
    if (field.message !== undefined) return textsIn(field.message, path);
    return field.scalar === ScalarType.STRING || field === STREAM_NAME ? [path] : [];
  });

/** A text with a NUL, and the name of a stream with it. */
const TEXT = 'a\0b';
const NAMED = { streamName: Buffer.from(TEXT) };

/** Puts the text into a field of a message. */
const putText = (message: ReflectMessage, field: DescField): void => {
  if (field.fieldKind === 'list') message.get(field).add(TEXT);
  else if (field.fieldKind === 'map') message.get(field).set('type', TEXT);
  else message.set(field, field === STREAM_NAME ? Buffer.from(TEXT) : TEXT);
};

/** A new message, put into the field. */
const messageIn = (message: ReflectMessage, field: DescField): ReflectMessage => {
  const created = reflect(field.message!);
  if (field.fieldKind === 'list') message.get(field).add(created);
  else message.set(field, created);
  return created;
};

/** A request with a NUL in the text at the path, and no other field. */
const requestWith = (type: DescMessage, path: Path): Buffer => {
  const root = reflect(type);
  putText(path.slice(0, -1).reduce(messageIn, root), path.at(-1)!);
  return Buffer.from(toBinary(type, root.message));
};

const nameOf = (path: Path): string =>
  path
    .filter((field) => field !== STREAM_NAME)
    .map(({ name }) => name)
    .join('.');

/** Handlers of appends decode without this check; the functions that read their requests are tested one by one. */
const APPENDING: readonly DescMethod[] = [Streams.method.append, Streams.method.batchAppend];

const CASES = [Streams, PersistentSubscriptions, Gossip, ServerFeatures].flatMap(({ methods }) =>
  methods
    .filter((method) => !APPENDING.includes(method))
    .flatMap((method) => textsIn(method.input).map((path) => ({ method, path, field: nameOf(path) }))),
);

const CONSUMING = CASES.filter(({ method }) => method === PersistentSubscriptions.method.read);
const ADMINISTERING = CASES.filter(({ method: { parent } }) => parent === PersistentSubscriptions).filter(
  (each) => !CONSUMING.includes(each),
);

const refusal = (field: string): unknown =>
  expect.objectContaining({
    code: 'INVALID_ARGUMENT',
    message: `invalid value for ${field}: it has a NUL character`,
  });

describe('a NUL in a text of a request on the EventStoreDB port', () => {
  it.each(CASES)('is refused in $field of $method.name', ({ method: { input }, path, field }) => {
    expect(() => decodedRequest(input, requestWith(input, path))).toThrow(refusal(field));
  });

  it.each(['type', 'content-type', 'other', 'oth\0er'])('is refused in the property %j of an appended event', (key) => {
    const metadata = { type: 'A', 'content-type': 'application/json', [key]: 'a\0b' };
    const event = { id: undefined, metadata, data: new Uint8Array(), customMetadata: new Uint8Array() };
    expect(() => proposedEvent(event, 0)).toThrow(
      refusal(`proposed_message.metadata${key.includes('\0') ? '' : `.${key}`}`),
    );
  });

  it('is refused in the id of an appended event', () => {
    const value = '01234567-89ab-cdef-0123-456789abcdef\0';
    const id = create(UUIDSchema, { value: { case: 'string', value } });
    const metadata = { type: 'A', 'content-type': 'application/json' };
    const event = { id, metadata, data: new Uint8Array(), customMetadata: new Uint8Array() };
    expect(() => proposedEvent(event, 0)).toThrow('proposed_message.id: a UUID is needed');
  });

  it.each([
    ['an append', create(AppendReq_OptionsSchema, { streamIdentifier: NAMED })],
    ['a batch append', create(BatchAppendReq_OptionsSchema, { streamIdentifier: NAMED })],
  ])('is refused in the name of the stream of %s', (_what, options) => {
    expect(() => writeTargetOf(options)).toThrow(refusal('options.stream_identifier'));
  });

  it('is refused in the id of a batch append', async () => {
    const correlationId = create(UUIDSchema, { value: { case: 'string', value: TEXT } });
    const take = openBatchStream({} as AppendServices);
    await expect(take(create(BatchAppendReqSchema, { correlationId }))).rejects.toEqual(refusal('correlation_id'));
  });

  describe('where the log is in an event store', () => {
    const sent: Buffer[] = [];
    const calls: GroupCalls = {
      callUnary: (_path, request) => Promise.resolve(request),
      open: () => {
        const answers = new PassThrough();
        const cancel = (): void => void answers.destroy(new Error('cancelled'));
        const write = (bytes: Buffer): boolean => sent.push(bytes) > 0;
        return Promise.resolve(
          Object.assign(answers, { cancel, write }) as unknown as ClientDuplexStream<Buffer, Buffer>,
        );
      },
    };

    it.each(ADMINISTERING)('is not forwarded in $field of $method.name', async ({ method, path, field }) => {
      const handlers = new Map(forwardedAdministration(calls, fullAccess));
      const answer = handlers.get(method)!(requestWith(method.input, path));
      await expect(answer).rejects.toEqual(refusal(field));
    });

    it.each(CONSUMING)('is not forwarded in $field of a consumer', async ({ method, path, field }) => {
      const requests = async function* () {
        yield requestWith(method.input, path);
        await Promise.resolve();
      };
      const call = { requests, disconnected: new AbortController().signal } as Partial<EncodedCall> as EncodedCall;
      const begun = new AbortController().signal;
      const consume = forwardedConsumeHandler(calls, storedForm, { begun, overdue: begun });
      await expect(consume(call)).rejects.toEqual(refusal(field));
      expect(sent).toEqual([]);
    });
  });
});
