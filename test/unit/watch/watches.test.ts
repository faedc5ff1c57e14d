import { create, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import type { SentAnswer, WatchMessage, WatchReply } from '../../../projections/execution-watch/thread-messages.js';
import { topicOf, subjectOf } from '../../../projections/execution-watch/watch-request.js';
import { openWatches } from '../../../projections/execution-watch/watches.js';
import { executions } from '../../../projections/executions/projection.js';
import { WatchRequestSchema, WatchResponse_Kind as Kind } from '../../../proto/gen/platformidl/eventlog/watch_pb.js';

const answer = (kind: Kind, position: bigint): SentAnswer => ({ kind, position, data: new Uint8Array() });

/** Opens watches over a thread that replies with `begun`; `say` sends a message of the thread to all watchers. */
const watchesOf = (begun: WatchReply, onBegin: (say: (message: WatchMessage) => void) => void) =>
  openWatches({
    openThread: (say) => ({
      ask: (question) => {
        if (!('begin' in question)) return Promise.resolve({ answers: [], isLast: true });
        onBegin(say);
        return Promise.resolve(begun);
      },
      leave: () => undefined,
      close: () => Promise.resolve(),
    }),
    encode: (_, { kind, position, bytes }) => ({ kind, position, data: bytes }),
    executions: executions.collection,
  });

describe('a watch of an execution', () => {
  const request = create(WatchRequestSchema, {
    ...{ project: 'flytesnacks', domain: 'development', name: 'a1', lastEventId: '9' },
  });

  it('ends when it resumes after the last change, which the thread has not folded yet', async () => {
    // Another watcher is there: the execution is folded up to 8, and the event at 9, which ends it, follows.
    const watches = watchesOf({ position: 8n, isEnded: false }, (say) =>
      say({
        topic: topicOf(subjectOf(request), 'messages'),
        answers: [answer(Kind.CHANGE, 9n), answer(Kind.END, 9n)],
      }),
    );
    const gone = new AbortController();
    const timeout = setTimeout(() => gone.abort(), 1_000);
    const received: string[] = [];
    const client = { form: 'messages', disconnected: gone.signal, readList: () => [] as never } as const;
    for await (const { kind, position } of watches.open(toBinary(WatchRequestSchema, request), client))
      received.push(`${Kind[kind]} ${position}`);
    clearTimeout(timeout);
    expect(received).toEqual(['END 9']);
  });
});
