import { create, fromBinary } from '@bufbuild/protobuf';
import { afterEach, describe, expect, it, vi } from 'vitest';

import { QualityOfService_Tier as Tier } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { WorkLaunchSchema, WorkResponseSchema } from '../../../proto/gen/platformidl/eventlog/engine_work_pb.js';
import { openSendQueue } from '../../../services/streams/engine-feed/send-queue.js';
import type { WorkItem } from '../../../services/streams/engine-feed/work-items.js';
import {
  type JoinedEngine,
  type OfferServices,
  WorkOffers,
} from '../../../services/streams/engine-feed/work-offers.js';
import { WorkOrder } from '../../../services/streams/engine-feed/work-order.js';
import { executionStream } from '../../support/streams/filled-log.js';
import { until } from '../../support/until.js';

const SESSION = { group: 'default', engine: 'e', session: 's' };

const unused = (): never => {
  throw new Error('a test has called what none should call');
};

/** An execution that waits for an engine. */
const waiting = (name: string, createdAtMs: number): WorkItem => ({
  stream: executionStream(name),
  id: { project: 'flytesnacks', domain: 'development', name },
  lane: { project: 'flytesnacks', domain: 'development', clusterLabel: '', clusterPool: '' },
  ...{ tier: Tier.UNDEFINED, createdAtMs, budgetMs: undefined, isAborting: false, isElsewhere: false },
  lease: undefined,
});

const engineWithOnePlace = (): JoinedEngine => ({
  ...{ group: 'default', engine: 'e', producerId: 'p', places: 1, maxInlineBytes: 0, free: 1 },
  ...{ id: SESSION, takes: () => true, sendQueue: openSendQueue(), seenAtMs: 0, renewedAtMs: 0 },
  ...{ deciding: new Set(), held: new Map(), rejected: new Set(), postponed: new Set() },
});

/** Offers two executions to an engine that takes one, and returns the name of the first launch that the engine gets. */
const firstLaunch = async (
  leases: Partial<OfferServices['leases']>,
  { isAborting = false, ...services }: Partial<OfferServices> & { readonly isAborting?: boolean } = {},
): Promise<string | undefined> => {
  const order = new WorkOrder<WorkItem>(() => 1);
  for (const item of [{ ...waiting('first', 1), isAborting }, waiting('second', 2)]) order.add(item);
  const engine = engineWithOnePlace();
  const offers: WorkOffers = new WorkOffers({
    leases: {
      ...{ giveBack: unused, fail: unused, held: unused },
      lease: () => Promise.resolve({ kind: 'leased', number: 1, position: 1n }),
      launch: () => Promise.resolve(create(WorkLaunchSchema)),
      ...leases,
    },
    ...{ order, engines: new Map([[SESSION.session, engine]]), leaseMs: 30_000, positionToken: String, now: () => 0 },
    ...{ onFailure: unused, waitAgain: unused },
    ...{ distribute: () => offers.distribute(), ...services },
  });
  offers.distribute();
  const first = await engine.sendQueue.messages(AbortSignal.timeout(5_000)).next();
  expect(engine.free).toBe(0);
  if (first.done === true) return undefined;
  const { message } = fromBinary(WorkResponseSchema, first.value);
  return message.case === 'launch' ? message.value.lease?.execution?.name : undefined;
};

describe('an engine with one free place', () => {
  it('gets the next execution when another process has leased the first', async () => {
    const lease: OfferServices['leases']['lease'] = ({ name }) =>
      Promise.resolve(
        name === 'first' ? { kind: 'refused', reason: 'leased' } : { kind: 'leased', number: 1, position: 1n },
      );
    expect(await firstLaunch({ lease })).toBe('second');
  });

  it('gets the next execution when the lease of the first is over before its launch is sent', async () => {
    const launch: OfferServices['leases']['launch'] = ({ id }) =>
      Promise.resolve(id.name === 'first' ? undefined : create(WorkLaunchSchema));
    expect(await firstLaunch({ launch })).toBe('second');
  });

  it('gets the next execution after a pause when the first could not be leased and has ended meanwhile', async () => {
    const lease: OfferServices['leases']['lease'] = ({ name }) =>
      name === 'first'
        ? Promise.reject(new Error('the log cannot be read'))
        : Promise.resolve({ kind: 'leased', number: 1, position: 1n });
    const ignored = (): void => undefined;
    expect(await firstLaunch({ lease }, { onFailure: ignored, waitAgain: ignored })).toBe('second');
  });

  it('keeps an execution that was launched when the abort that follows cannot be read', async () => {
    const failures: unknown[] = [];
    const unread = new Error('the log cannot be read');
    const onFailure = (error: unknown): void => void failures.push(error);
    expect(await firstLaunch({ held: () => Promise.reject(unread) }, { isAborting: true, onFailure })).toBe('first');
    await until(
      () => Promise.resolve(failures),
      ({ length }) => length > 0,
    );
    expect(failures).toEqual([unread]);
  });

  describe('whose launch could not be composed', () => {
    afterEach(() => vi.useRealTimers());

    it('gets the launch a minute later, and after twice the time when that fails, too', async () => {
      vi.useFakeTimers();
      const order = new WorkOrder<WorkItem>(() => 1);
      const engine = engineWithOnePlace();
      const item = waiting('first', 1);
      order.add(item);
      let attempts = 0;
      const compose = () =>
        (attempts += 1) <= 2
          ? Promise.reject(new Error('the payload store is away'))
          : Promise.resolve(create(WorkLaunchSchema));
      const offers: WorkOffers = new WorkOffers({
        leases: {
          ...{ fail: unused, held: unused, launch: compose },
          lease: () => Promise.resolve({ kind: 'leased', number: attempts + 1, position: 1n }),
          giveBack: () => Promise.resolve(true),
        },
        ...{ order, engines: new Map([[SESSION.session, engine]]), leaseMs: 30_000, positionToken: String },
        ...{ now: () => 0, onFailure: () => undefined, waitAgain: (each) => order.add(each) },
        distribute: () => offers.distribute(),
      });
      offers.distribute();
      await vi.advanceTimersByTimeAsync(59_000);
      expect([attempts, order.size()]).toEqual([1, 1]);
      await vi.advanceTimersByTimeAsync(1_000);
      expect(attempts).toBe(2);
      await vi.advanceTimersByTimeAsync(119_000);
      expect([attempts, order.size()]).toEqual([2, 1]);
      await vi.advanceTimersByTimeAsync(1_000);
      expect([attempts, order.size(), engine.held.get(item.stream)]).toEqual([3, 0, { number: 3, isSent: true }]);
    });
  });
});
