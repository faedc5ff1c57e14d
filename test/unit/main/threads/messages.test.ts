import { MessageChannel } from 'node:worker_threads';
import { afterAll, describe, expect, it } from 'vitest';

import {
  AppendTooLarge,
  CorruptEvent,
  DataDirectoryUnusable,
  OutcomeUnknown,
  RevisionConflict,
  StoreUnavailable,
  StreamParked,
} from '../../../../services/kernel/fault.js';
import { RpcError } from '../../../../services/kernel/rpc.js';
import { streamName } from '../../../../services/kernel/stream.js';
import { relayAppends, relayedAppends } from '../../../../services/main/eventstore/append-relay.js';
import { callFailureOf } from '../../../../services/streams/eventstore/failure.js';
import { answerOver, askOver } from '../../../../services/main/threads/messages.js';

const channels: MessageChannel[] = [];
const newChannel = (): MessageChannel => {
  const channel = new MessageChannel();
  channels.push(channel);
  return channel;
};
afterAll(() => channels.forEach(({ port1 }) => port1.close()));

/** Questions to a thread that does this work for each; both ends are in this process. */
const asking = (work: (name: string) => Promise<string>) => {
  const { port1, port2 } = newChannel();
  answerOver(port2, work);
  return askOver<string, string>(port1);
};

describe('questions to another thread', () => {
  it('get their own answers, in whatever order these come', async () => {
    const releases = new Map<string, () => void>();
    const begun: string[] = [];
    const questions = asking(async (name: string) => {
      begun.push(name);
      await new Promise<void>((resolve) => {
        releases.set(name, resolve);
        if (name === 'b') resolve();
      });
      releases.get('a')?.();
      return `${name}!`;
    });
    const [a, b] = [questions.ask('a'), questions.ask('b')];
    expect(questions.waiting()).toBe(2);
    expect(await Promise.all([a, b])).toEqual(['a!', 'b!']);
    expect({ begun, waiting: questions.waiting() }).toEqual({ begun: ['a', 'b'], waiting: 0 });
  });

  it.each([
    [new RpcError('NOT_FOUND', 'no'), RpcError],
    [new RevisionConflict('moved'), RevisionConflict],
    [new AppendTooLarge('large'), AppendTooLarge],
    [new OutcomeUnknown('silent'), OutcomeUnknown],
    [new StoreUnavailable('gone'), StoreUnavailable],
    [new CorruptEvent('broken'), CorruptEvent],
    [new StreamParked('purse-a', 7n, 'broken'), StreamParked],
  ])('fail with the error that the work throws: %s', async (thrown, kind) => {
    const refused = asking(() => Promise.reject(thrown)).ask('x');
    await expect(refused).rejects.toBeInstanceOf(kind);
    await expect(refused).rejects.toThrow(thrown.message);
  });

  it('keep the status of a refusal, and the delay before a retry', async () => {
    const thrown = new RpcError('RESOURCE_EXHAUSTED', 'too many', [], 1_500);
    const refused = asking(() => Promise.reject(thrown)).ask('x');
    await expect(refused).rejects.toMatchObject({ code: 'RESOURCE_EXHAUSTED', retryAfterMs: 1_500 });
  });

  it('fail with the error given when the thread ends before it answers', async () => {
    const questions = asking(() => new Promise<never>(() => undefined));
    const asked = questions.ask('x');
    questions.failAll(new StoreUnavailable('ended'));
    await expect(asked).rejects.toThrow('ended');
    expect(questions.waiting()).toBe(0);
  });
});

describe('appends by way of another thread', () => {
  const stream = streamName('purse', ['a']);
  /** Appends by way of another thread, whose log does this. */
  const over = (append: () => Promise<{ revision: bigint; position: bigint }>) => {
    const { port1, port2 } = newChannel();
    relayAppends(port2, { append });
    return relayedAppends(port1)(stream, 'no-stream', []);
  };

  it('give the revision and position of what was appended', async () =>
    expect(await over(() => Promise.resolve({ revision: 0n, position: 7n }))).toEqual({ revision: 0n, position: 7n }));

  it('that fail while the data directory is away are answered on port 2113 as not ready', async () => {
    const appending = over(() => Promise.reject(new DataDirectoryUnusable('moved')));
    const error = await appending.catch((each: unknown) => each);
    expect(error).toBeInstanceOf(DataDirectoryUnusable);
    expect(callFailureOf(error)).toMatchObject({ code: 'UNAVAILABLE', details: 'Server Is Not Ready' });
  });

  it('that meet a bug have an unknown outcome', async () =>
    expect(over(() => Promise.reject(new TypeError('a bug')))).rejects.toMatchObject({
      code: 'outcome-unknown',
      message: 'a bug',
    }));
});
