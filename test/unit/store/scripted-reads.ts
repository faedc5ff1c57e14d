import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { ReadRespSchema } from '../../../proto/gen/event_store/client/streams_pb.js';
import type { NodeClient } from '../../../services/store/eventstore/nodes/node-client.js';
import type { NodeConnection } from '../../../services/store/eventstore/nodes/connection.js';
import type { CallListener } from '../../../services/store/eventstore/wire/call.js';

type Content = NonNullable<MessageInitShape<typeof ReadRespSchema>['content']>;

/** The answers of a node to one read, and the error that ends the read; without one, it ends normally. */
export type ScriptedRead = { readonly answers: readonly Buffer[]; readonly error?: Error };

/** The answer with an event at a position, in a stream of the category `counted`. */
export const eventAt = (position: bigint): Buffer => {
  const event = {
    id: { value: { case: 'string', value: '00112233-4455-6677-8899-aabbccddeeff' } },
    streamIdentifier: { streamName: Buffer.from('counted-a') },
    streamRevision: position,
    commitPosition: position,
    preparePosition: position,
    metadata: { type: 'Counted' },
    customMetadata: Buffer.from('{}'),
  } as const;
  const content: Content = { case: 'event', value: { event, position: { case: 'commitPosition', value: position } } };
  return Buffer.from(toBinary(ReadRespSchema, create(ReadRespSchema, { content })));
};

/** A connection to a node that answers one read after another as given. */
export const scriptedConnection = (reads: readonly ScriptedRead[]): NodeConnection => {
  const remaining = [...reads];
  const open = (_method: string, _requiresLeader: boolean, { onMessages, onEnd }: CallListener) => {
    const { answers, error } = remaining.shift() ?? { answers: [], error: new Error('no further read was expected') };
    const answer = (): void => {
      if (answers.length > 0) onMessages(answers);
      onEnd(error);
    };
    return {
      write: () => undefined,
      end: () => setImmediate(answer),
      pause: () => undefined,
      resume: () => undefined,
      cancel: () => undefined,
    };
  };
  return {
    client: () => Promise.resolve({ open } as unknown as NodeClient),
    abandon: () => undefined,
    close: () => Promise.resolve(),
  };
};
