import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { WatchResponse_Kind as Kind, WatchResponseSchema } from '../../../proto/gen/platformidl/eventlog/watch_pb.js';
import type { Connection } from '../../../services/cli/client/connection/connection.js';
import { ConnectionLost, Refused, Unreachable } from '../../../services/cli/client/connection/refusal.js';
import { answersOf } from '../../../services/cli/client/executions/follow.js';

/** The gRPC status code. */
const RESOURCE_EXHAUSTED = 8;

type Answer = MessageInitShape<typeof WatchResponseSchema>;

/** An answer with one execution of the state at position 7; `hasMore` when more of the state follows. */
const page = (name: string, hasMore: boolean): Answer => ({
  kind: Kind.STATE,
  position: 7n,
  executions: [{ id: { name } }],
  hasMore,
});

/**
 * A connection on which each opened stream gives the next answers, and then ends or fails. `askedAfter` has the id of
 * the last event that each request named.
 */
const connectionWith = (...streams: readonly (readonly (Answer | Error)[])[]) => {
  const askedAfter: string[] = [];
  const open = async function* (_method: unknown, { lastEventId }: { readonly lastEventId: string }) {
    askedAfter.push(lastEventId);
    for (const answer of streams[askedAfter.length - 1] ?? []) {
      if (answer instanceof Error) throw answer;
      yield await Promise.resolve(create(WatchResponseSchema, answer));
    }
  };
  return { askedAfter, connection: { open } as unknown as Connection };
};

/** The names of the executions that a watch gives until it ends. */
const namesIn = async (connection: Connection): Promise<readonly string[]> => {
  const names: string[] = [];
  for await (const { executions } of answersOf(connection, { project: 'p', domain: 'd' }, () => undefined))
    names.push(...executions.map(({ id }) => id?.name ?? ''));
  return names;
};

describe('a watch whose stream ends early', () => {
  it('gives the executions of a state that was cut off only once the state is complete', async () => {
    const { askedAfter, connection } = connectionWith(
      [page('first', true)],
      [page('first', true), page('second', false), { kind: Kind.END, position: 8n }],
    );
    expect(await namesIn(connection)).toEqual(['first', 'second']);
    expect(askedAfter).toEqual(['', '']);
  });

  it('resumes after the position of a complete state', async () => {
    const { askedAfter, connection } = connectionWith(
      [page('first', true), page('second', false)],
      [{ kind: Kind.END, position: 9n }],
    );
    expect(await namesIn(connection)).toEqual(['first', 'second']);
    expect(askedAfter).toEqual(['', '7']);
  });

  it('waits for the server again when the connection broke in the middle of the first state', async () => {
    const { askedAfter, connection } = connectionWith(
      [page('first', true), new ConnectionLost('here')],
      [new Unreachable('here')],
      [page('first', true), page('second', false), { kind: Kind.END, position: 8n }],
    );
    expect(await namesIn(connection)).toEqual(['first', 'second']);
    expect(askedAfter).toEqual(['', '', '']);
  });

  it('opens the watch again when the server has ended it because it was read too slowly, or has too many watchers', async () => {
    const { askedAfter, connection } = connectionWith(
      [page('first', false), new Refused(RESOURCE_EXHAUSTED, 'the client reads too slowly')],
      [new Refused(RESOURCE_EXHAUSTED, 'this process has 5000 watchers already')],
      [{ kind: Kind.END, position: 9n }],
    );
    expect(await namesIn(connection)).toEqual(['first']);
    expect(askedAfter).toEqual(['', '7', '7']);
  });

  it('fails when no server has ever answered', async () => {
    const { askedAfter, connection } = connectionWith([new Unreachable('here')]);
    await expect(namesIn(connection)).rejects.toThrow('no server answers at here');
    expect(askedAfter).toEqual(['']);
  });
});
