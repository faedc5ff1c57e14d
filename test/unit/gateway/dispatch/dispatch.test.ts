import { beforeEach, describe, expect, it } from 'vitest';

import { AdminService } from '../../../../proto/gen/platformidl/service/admin_pb.js';
import { deadline, timeoutOf } from '../../../../services/gateway/dispatch/deadline.js';
import { type Dispatch, dispatcher, type Interceptor } from '../../../../services/gateway/dispatch/dispatch.js';
import { memoryBudget } from '../../../../services/gateway/dispatch/memory-budget.js';
import { awaitPosition, readPosition } from '../../../../services/gateway/dispatch/min-position.js';
import { positionTokens } from '../../../../services/gateway/position-token.js';
import { callerDisconnected, type Route, route, RpcError } from '../../../../services/kernel/rpc.js';
import { type PositionWaits, positionWaits } from '../../../../services/reference/position-waits.js';
import { admission } from '../../../../services/sessions/admission.js';
import { callOf } from './calls.js';

const { getTask, createTask } = AdminService.method;
const call = callOf(getTask);
const never = (): Promise<string> => new Promise(() => undefined);

/** An interceptor that records when a call enters and when it leaves. */
const noting =
  (notes: string[], name: string): Interceptor =>
  async (_call, next) => {
    notes.push(`${name} in`);
    try {
      return await next();
    } finally {
      notes.push(`${name} out`);
    }
  };

describe('the dispatch', () => {
  it('runs the interceptors in their order around the handler, and answers as the handler does', async () => {
    const notes: string[] = [];
    const dispatch = dispatcher([noting(notes, 'a'), noting(notes, 'b')]);
    const answer = await dispatch(call, () => {
      notes.push('handler');
      return Promise.resolve('answer');
    });
    expect({ answer, notes }).toEqual({ answer: 'answer', notes: ['a in', 'b in', 'handler', 'b out', 'a out'] });
  });

  const refusal = new RpcError('PERMISSION_DENIED', 'no');
  it.each<[string, Interceptor]>([
    [
      'at once',
      () => {
        throw refusal;
      },
    ],
    ['later', () => Promise.resolve().then(() => Promise.reject(refusal))],
  ])(
    'refuses a call with the error that an interceptor throws %s, and calls no later interceptor',
    async (_when, refusing) => {
      const notes: string[] = [];
      const dispatch = dispatcher([noting(notes, 'a'), refusing, noting(notes, 'b')]);
      await expect(dispatch(call, never)).rejects.toThrow('no');
      expect(notes).toEqual(['a in', 'a out']);
    },
  );
});

describe('the deadline of a call', () => {
  it('ends the call with the message of its transport', async () => {
    const late = callOf(getTask, { deadline: { ms: 1, message: 'too late' } });
    await expect(dispatcher([deadline])(late, never)).rejects.toMatchObject({
      code: 'DEADLINE_EXCEEDED',
      message: 'too late',
    });
  });

  it.each([
    ['DEADLINE_EXCEEDED', 'too late', 1_000],
    ['CANCELLED', 'the caller has gone', 60_000],
  ])('gives its own error to a call that is cancelled after it, and not before: %s', async (code, message, ms) => {
    const limited = callOf(getTask, { deadline: { ms, message: 'too late' }, startedAt: performance.now() - 2_000 });
    // A command in a queue may find out that its time is over before the timer of the deadline can fire.
    await expect(dispatcher([deadline])(limited, () => Promise.reject(callerDisconnected()))).rejects.toMatchObject({
      code,
      message,
    });
  });

  it('does not affect a call that ends before', async () => {
    const soon = callOf(getTask, { deadline: { ms: 60_000, message: 'too late' } });
    expect(await dispatcher([deadline])(soon, () => Promise.resolve('in time'))).toBe('in time');
  });

  it.each([
    ['5S', 5_000],
    ['200m', 200],
    ['99999999H', 2 ** 31 - 1],
    [undefined, undefined],
  ])('of a grpc-timeout %s is after %s ms', (said, ms) => expect(timeoutOf(said)).toBe(ms));

  it.each(['5', 'S', '123456789S', '-1S', '1s'])('of a grpc-timeout %s is refused', (said) =>
    expect(() => timeoutOf(said)).toThrow('invalid value for grpc-timeout'),
  );
});

describe('the memory budget', () => {
  it('counts an answer of more than 1,024 bytes', async () => {
    const held: number[] = [];
    const counted = callOf(getTask, { reserveAnswer: (bytes) => void held.push(bytes) });
    for (const bytes of [1_024, 1_025])
      await dispatcher([memoryBudget])(counted, () => Promise.resolve(Buffer.alloc(bytes)));
    expect(held).toEqual([1_025]);
  });
});

describe('the position that a caller has seen', () => {
  const positions = positionTokens('log');
  const headers = { 'flightlog-min-position': positions.format(7n) };
  const handle = (): Promise<never> => Promise.reject(new Error('not called'));
  const command = { ...route(createTask, handle), awaitsPosition: 'start' } as const;
  /** A dispatch whose one follower reaches every position (`isReached`) or none; `asked` gets the positions. */
  const waiting = (isReached: boolean, asked: bigint[] = []) =>
    dispatcher([
      readPosition(positions),
      awaitPosition({
        followers: [
          {
            reached: (position) => {
              asked.push(position);
              return Promise.resolve(isReached);
            },
          },
        ],
      }),
    ]);

  it('holds a command until every follower of the log has reached it', async () => {
    const notes: string[] = [];
    const answers = new Map<string, (isReached: boolean) => void>();
    const follower = (name: string) => ({
      reached: (position: bigint) => {
        notes.push(`${name} asked for ${position}`);
        return new Promise<boolean>((resolve) => answers.set(name, resolve));
      },
    });
    const dispatched = dispatcher([
      readPosition(positions),
      awaitPosition({ followers: [follower('a'), follower('b')] }),
    ])(callOf(createTask, { headers, route: command }), () => Promise.resolve(String(notes.push('handled'))));
    for (const name of ['a', 'b']) {
      await new Promise(setImmediate);
      notes.push(`${name} reaches it`);
      answers.get(name)?.(true);
    }
    await dispatched;
    expect(notes).toEqual(['a asked for 7', 'b asked for 7', 'a reaches it', 'b reaches it', 'handled']);
  });

  it('refuses a command when a follower does not reach it in time', async () => {
    const refused = waiting(false)(callOf(createTask, { headers, route: command }), never);
    await expect(refused).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: 'this process has not reached position 7 yet',
    });
  });

  describe('when it is far ahead of this process', () => {
    const limits = { starts: 30, others: 60 };
    const progress = { ...command, awaitsPosition: 'progress' } as const;
    const end = { ...command, awaitsPosition: 'end' } as const;
    const done = (): Promise<string> => Promise.resolve('done');
    let waits: PositionWaits;
    let dispatch: Dispatch;
    let isReached: boolean;
    beforeEach(() => {
      isReached = false;
      waits = positionWaits({ hasReached: () => isReached });
      dispatch = dispatcher([
        readPosition(positions),
        awaitPosition({ followers: [waits], admission: admission(limits) }),
      ]);
    });
    const ask = (count: number, asked: Route): Promise<string>[] =>
      Array.from({ length: count }, () => dispatch(callOf(createTask, { headers, route: asked }), done));
    const refusal = { code: 'RESOURCE_EXHAUSTED', retryAfterMs: 1_000 };

    it('commands that wait are limited by admission control, and calls that need not wait are answered', async () => {
      const waiting = ask(limits.starts, command);
      for (const refused of ask(5, command)) await expect(refused).rejects.toMatchObject(refusal);
      const more = ask(limits.others - limits.starts, progress);
      for (const refused of ask(5, progress)) await expect(refused).rejects.toMatchObject(refusal);
      const ending = ask(5, end);
      expect(await dispatch(callOf(createTask, { route: command }), done)).toBe('done');
      isReached = true;
      waits.advanced();
      expect(new Set(await Promise.all([...waiting, ...more, ...ending]))).toEqual(new Set(['done']));
    });

    it('commands that end something are limited too: 1,000 may wait', async () => {
      const waiting = ask(1_000, end);
      for (const refused of ask(5, end)) await expect(refused).rejects.toMatchObject(refusal);
      waits.close();
      for (const each of waiting) await expect(each).rejects.toMatchObject({ code: 'UNAVAILABLE' });
      expect(await dispatch(callOf(createTask, { route: command }), done)).toBe('done');
    });
  });

  it('is not awaited by the dispatch for a read, whose handler gets it', async () => {
    const asked: bigint[] = [];
    const read = callOf(getTask, { headers, route: route(getTask, handle) });
    await waiting(false, asked)(read, () => Promise.resolve('read'));
    expect({ asked, minPosition: read.minPosition }).toEqual({ asked: [], minPosition: 7n });
  });
});
