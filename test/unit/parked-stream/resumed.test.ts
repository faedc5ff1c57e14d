import { rmSync } from 'node:fs';
import { create, type DescMessage, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import {
  ExecutionCreatedSchema,
  ExecutionExpiredSchema,
} from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import {
  LaunchPlanActivatedSchema,
  LaunchPlanDeactivatedSchema,
} from '../../../proto/gen/platformidl/eventlog/launch_plan_pb.js';
import { SchedulePausedSchema, ScheduleTickFiredSchema } from '../../../proto/gen/platformidl/eventlog/schedule_pb.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import type { StreamName } from '../../../services/kernel/stream.js';
import { launchPlanStream } from '../../../services/launch-plan/events.js';
import { followActivations } from '../../../services/reference/activations.js';
import { scheduleStream } from '../../../services/schedule/events.js';
import { WorkBoard } from '../../../services/streams/engine-feed/work-board.js';
import { executionStream, newEvent, openEmptyLog } from '../../support/streams/filled-log.js';
import { until } from '../../support/until.js';

/** For functions of the board that only a connected engine or a failure causes to be called. */
const unused = (): never => {
  throw new Error('no engine has joined, and nothing may fail');
};

/** The types of the events that cannot be decoded while their stream is `damaged`. */
const DAMAGED: ReadonlySet<string> = new Set(['ExecutionCreated', 'LaunchPlanActivated', 'SchedulePaused']);

let directory: string;
let store: EventStore;
let damaged: StreamName | undefined;
let parked: string[];

/** The event as the log gives it: damaged, if it is one of those in the stream `damaged`. */
const asRead = (event: RecordedEvent): RecordedEvent =>
  event.stream === damaged && DAMAGED.has(event.type) ? { ...event, data: Uint8Array.of(0xff) } : event;

/** The log, in which the `DAMAGED` events of the stream `damaged` cannot be decoded. */
const log = (): EventStore => ({
  ...store,
  subscribe: (options, onPage) =>
    store.subscribe(options, (page, isLive) => onPage({ ...page, events: page.events.map(asRead) }, isLive)),
  async *readStream(name, options) {
    for await (const page of store.readStream(name, options)) yield page.map(asRead);
  },
});

const append = async <Desc extends DescMessage>(
  stream: StreamName,
  schema: Desc,
  data: MessageInitShape<Desc> = {} as MessageInitShape<Desc>,
): Promise<void> => {
  await store.append(stream, 'any', [newEvent(schema.name, toBinary(schema, create(schema, data)))]);
};

beforeEach(async () => {
  ({ directory, store } = await openEmptyLog());
  [damaged, parked] = [undefined, []];
});
afterEach(async () => {
  await store.close();
  rmSync(directory, { recursive: true });
});

const onParked = ({ stream }: { readonly stream: string }): void => void parked.push(stream);

describe('the list of work', () => {
  let board: WorkBoard;

  beforeEach(() => {
    board = new WorkBoard({
      log: log(),
      leases: { lease: unused, giveBack: unused, fail: unused, held: unused, launch: unused },
      sessions: { open: unused, renew: unused, renewals: unused, end: unused },
      positionToken: String,
      weightOf: () => 1,
      ...{ leaseMs: 30_000, isShared: false, now: Date.now, steadyMs: Date.now, onParked, onFailure: unused },
    });
  });
  afterEach(() => board.close());

  const created = (name: string): Promise<void> =>
    append(executionStream(name), ExecutionCreatedSchema, {
      id: { project: 'flytesnacks', domain: 'development', name },
    });
  const waiting = (): number => board.known().waiting;

  it('gets an execution when its stream is resumed', async () => {
    damaged = executionStream('e0');
    await Promise.all([created('e0'), created('e1')]);
    await board.start();
    expect([waiting(), parked]).toEqual([1, [damaged]]);

    await board.resume(damaged);
    expect([waiting(), parked]).toEqual([1, [damaged, damaged]]);

    const stream = damaged;
    damaged = undefined;
    await Promise.all([board.resume(stream), board.resume(stream)]);
    expect(waiting()).toBe(2);
    await append(stream, ExecutionExpiredSchema);
    await until(
      () => Promise.resolve(waiting()),
      (count) => count === 1,
    );
  });

  it('gets no execution that has ended while its stream was parked', async () => {
    const stream = executionStream('e0');
    damaged = stream;
    await created('e0');
    await append(stream, ExecutionExpiredSchema);
    await board.start();
    damaged = undefined;
    await board.resume(stream);
    expect(waiting()).toBe(0);
  });
});

describe('the activations of launch plans', () => {
  const plan = { project: 'flytesnacks', domain: 'development', name: 'daily' };

  it('and the pauses of schedules are known when their streams are resumed', async () => {
    const id = { ...plan, version: 'v1' };
    damaged = launchPlanStream(plan);
    await append(damaged, LaunchPlanActivatedSchema, { id });
    await append(damaged, LaunchPlanDeactivatedSchema, { id });
    const activations = followActivations(log(), { onParked, advancesOverAll: false });
    await activations.current();
    expect([activations.of(plan), parked]).toEqual([[], [damaged]]);

    const changed: string[] = [];
    activations.onChange(({ name }) => changed.push(name));
    damaged = undefined;
    await activations.resume(launchPlanStream(plan));
    expect(activations.of(plan)).toMatchObject([{ version: 'v1' }]);
    expect(activations.of(plan)[0]?.untilMs).toBeDefined();
    expect(changed).toEqual(['daily', 'daily']); // the activation, and the deactivation

    damaged = scheduleStream(plan);
    await append(damaged, SchedulePausedSchema);
    await append(damaged, ScheduleTickFiredSchema); // not folded: the resumed stream has it all the same
    await activations.current();
    expect(activations.holds(plan).isPaused).toBe(false);
    damaged = undefined;
    await activations.resume(scheduleStream(plan));
    expect(activations.holds(plan).isPaused).toBe(true);
    await activations.close();
  });
});
