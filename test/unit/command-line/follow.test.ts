import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { WatchResponse_Kind as Kind, WatchResponseSchema } from '../../../proto/gen/platformidl/eventlog/watch_pb.js';
import type { Connection } from '../../../services/cli/client/connection/connection.js';
import { ConnectionLost, Unreachable } from '../../../services/cli/client/connection/refusal.js';
import { answersOf } from '../../../services/cli/client/executions/follow.js';

type Answer = MessageInitShape<typeof WatchResponseSchema>;

const page = (name: string, hasMore: boolean): Answer => ({
  kind: Kind.STATE,
  position: 7n,
  executions: [{ id: { name } }],
  hasMore,
});

/** A connection on which each stream that is opened has the next answers, and ends after them or with an error. */
const connectionWith = (...streams: readonly (readonly (Answer | Error)[])[]) => {
  const asked: string[] = [];
  const open = async function* (_method: unknown, { lastEventId }: { readonly lastEventId: string }) {
    asked.push(lastEventId);
    for (const answer of streams[asked.length - 1] ?? []) {
      if (answer instanceof Error) throw answer;
      yield await Promise.resolve(create(WatchResponseSchema, answer));
    }
  };
  return { asked, connection: { open } as unknown as Connection };
};

const namesIn = async (connection: Connection): Promise<readonly string[]> => {
  const names: string[] = [];
  for await (const { executions } of answersOf(connection, { project: 'p', domain: 'd' }, () => undefined))
    names.push(...executions.map(({ id }) => id?.name ?? ''));
  return names;
};

describe('a watch whose stream ends early', () => {
  it('gives a state that was cut off once, when it has come whole', async () => {
    const { asked, connection } = connectionWith(
      [page('first', true)],
      [page('first', true), page('second', false), { kind: Kind.END, position: 8n }],
    );
    expect(await namesIn(connection)).toEqual(['first', 'second']);
    expect(asked).toEqual(['', '']);
  });

  it('goes on after a state that has come whole', async () => {
    const { asked, connection } = connectionWith(
      [page('first', true), page('second', false)],
      [{ kind: Kind.END, position: 9n }],
    );
    expect(await namesIn(connection)).toEqual(['first', 'second']);
    expect(asked).toEqual(['', '7']);
  });

  it('waits for the server again when the connection broke in the middle of the first state', async () => {
    const { asked, connection } = connectionWith(
      [page('first', true), new ConnectionLost('here')],
      [new Unreachable('here')],
      [page('first', true), page('second', false), { kind: Kind.END, position: 8n }],
    );
    expect(await namesIn(connection)).toEqual(['first', 'second']);
    expect(asked).toEqual(['', '', '']);
  });

  it('is an error where no server has ever answered', async () => {
    const { asked, connection } = connectionWith([new Unreachable('here')]);
    await expect(namesIn(connection)).rejects.toThrow('no server answers at here');
    expect(asked).toEqual(['']);
  });
});
