import { expect } from 'vitest';

import { executions } from '../../../projections/executions/projection.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import { isSystemStream } from '../../../services/kernel/ports/log-identity.js';
import { type Acknowledging, consumeOneByOne } from '../clients/acknowledging.js';
import { executionStream } from '../streams/filled-log.js';
import {
  type Connect,
  follow,
  type Followed,
  type NextServer,
  tailByEvents,
  tailOverGrpc,
  watchByEvents,
  watchOverGrpc,
} from '../clients/followers.js';
import type { RoleProcesses } from '../processes/roles.js';
import type { ServerProcess } from '../processes/server-process.js';
import { until } from '../until.js';

const DOMAIN = { project: 'flytesnacks', domain: 'development' };

/** The types of events that the named consumer takes: only these, because each acknowledgement is an append. */
const CONSUMED = ['ExecutionCreated', 'WorkflowPhaseReported'];

/** Streams of executions in the domain begin with this. */
const IN_DOMAIN = executionStream('');

/** Maximum number of executions that are watched one by one. */
const WATCHED = 12;

/** Clients that follow the log, and executions, through processes that are killed meanwhile. */
export type Followers = {
  /** Watches one execution to its end; does nothing after the first 12 executions. */
  readonly watch: (name: string) => void;
  /**
   * Waits until all followers have the last event of a log, and expects each to have every change once, in order, and
   * the named consumer to have every event of its types. Resolves with a sentence that counts them.
   */
  readonly expectAll: (log: readonly RecordedEvent[]) => Promise<string>;
  readonly stop: () => Promise<void>;
};

const idOf = ({ stream, revision }: RecordedEvent): string => `${stream}@${revision}`;

/** Expects a consumer to receive every event of its types, and none again whose acknowledgement is durable. */
const expectConsumed = async (consumer: Acknowledging, log: readonly RecordedEvent[]): Promise<string> => {
  const wanted = log.filter(({ type }) => CONSUMED.includes(type)).map(idOf);
  const missing = () => Promise.resolve(wanted.filter((id) => !consumer.received.has(id)));
  expect(await until(missing, ({ length }) => length === 0)).toEqual([]);
  expect(consumer.repeated).toEqual([]);
  return `a named consumer had ${wanted.length} events over ${consumer.connections()} connections`;
};

/** Starts followers over both transports, which connect to the API processes in turn, and a named consumer. */
export const followProcesses = async ({ process, log: { address } }: RoleProcesses): Promise<Followers> => {
  const apis = (): readonly ServerProcess[] => ['api-1', 'api-2'].map((name) => process(name).server());
  /** The position of the last event of the log; -1 while the log still grows. */
  let last = -1n;
  let [connections, isStopped] = [0, false];
  const isLast = (position: string): boolean =>
    isStopped || (last >= 0n && position !== '' && BigInt(position) >= last);
  const onConnect = (): void => void (connections += 1);
  const nextOf = (addressOf: (server: ServerProcess) => string): NextServer => {
    let turn = 0;
    return () => {
      const all = apis();
      return addressOf(all[(turn += 1) % all.length]!);
    };
  };
  const grpc = () => nextOf(({ ready }) => ready.grpc);
  const http = () => nextOf(({ ready }) => new URL(ready.http).host);
  const start = (connect: Connect, onState?: () => void): Promise<Followed> =>
    follow(connect, { isLast, onConnect, ...(onState && { onState }) });
  /**
   * Watches a list, and resolves after the first answer, the state. Executions that are launched before that may be in
   * the state although they are newer than its position.
   */
  const startList = async (connect: Connect): Promise<{ readonly followed: Promise<Followed> }> => {
    let followed: Promise<Followed> | undefined;
    await new Promise<void>((resolve) => {
      followed = start(connect, resolve);
    });
    return { followed: followed! };
  };

  const tails = [start(tailOverGrpc(grpc())), start(tailByEvents(http()))];
  const lists = await Promise.all([startList(watchOverGrpc(grpc(), DOMAIN)), startList(watchByEvents(http(), DOMAIN))]);
  const watches = new Map<string, Promise<Followed>>();
  const consumer = await consumeOneByOne(address, CONSUMED);

  /** Expects the changes after the state, up to the last event of the log; returns the number of received changes. */
  const expectOf = async (followed: Promise<Followed>, log: readonly RecordedEvent[]): Promise<number> => {
    const { events, state, end } = await followed;
    const isIn = (position: bigint): boolean => position > BigInt(state) && position <= BigInt(end) && position <= last;
    const positions = log.map(({ position }) => position);
    expect(events.filter((position) => BigInt(position) <= last)).toEqual(positions.filter(isIn).map(String));
    return events.length;
  };

  return {
    watch: (name) => {
      if (watches.size >= WATCHED || watches.has(name)) return;
      const watched = { ...DOMAIN, name };
      const connect = watches.size % 2 === 0 ? watchOverGrpc(grpc(), watched) : watchByEvents(http(), watched);
      watches.set(name, start(connect));
    },
    expectAll: async (log) => {
      last = log.at(-1)?.position ?? 0n;
      const visible = log.filter(({ stream }) => !isSystemStream(stream));
      const ofLists = log.filter(
        ({ stream, type }) => stream.startsWith(IN_DOMAIN) && executions.follows.includes(type),
      );
      let changes = 0;
      for (const each of tails) {
        const { events } = await each;
        const upToLast = events.filter((position) => BigInt(position) <= last);
        expect(upToLast).toEqual(visible.map(({ position }) => String(position)));
        changes += events.length;
      }
      for (const { followed } of lists) changes += await expectOf(followed, ofLists);
      for (const [name, each] of watches)
        changes += await expectOf(
          each,
          log.filter(({ stream }) => stream === executionStream(name)),
        );
      expect(watches.size).toBeGreaterThan(0);
      const count = tails.length + lists.length + watches.size;
      const followed = `${count} followers had ${changes} changes over ${connections} connections`;
      return `${followed}; ${await expectConsumed(consumer, log)}`;
    },
    stop: async () => {
      isStopped = true;
      await consumer.stop();
    },
  };
};
