import { create } from '@bufbuild/protobuf';

import { ScheduleSchema } from '../../../../proto/gen/platformidl/admin/schedule_pb.js';
import type { EventStore } from '../../../../services/kernel/ports/event-store.js';
import { parkedStreams } from '../../../../services/kernel/log-readers/parked-streams.js';
import type { PayloadStore } from '../../../../services/kernel/ports/payload-store.js';
import type { Launcher } from '../../../../services/reactors/fire-schedules/ports.js';
import { fireSchedules, type FireSchedulesOptions } from '../../../../services/reactors/fire-schedules/reactor.js';
import { type Segment, type Span, withActivation } from '../../../../services/schedule/calendar/segments.js';
import { tickName } from '../../../../services/schedule/calendar/tick-name.js';
import type { FireOutcome } from '../../../../services/schedule/commands.js';
import type { LaunchPlanName } from '../../../../services/kernel/identifier.js';
import { openSessions } from '../../../../services/sessions/sessions.js';
import { manualTimers } from '../../../support/manual-timers.js';
import { endOf, type ModelSchedule, type Policy } from './model.js';

/** The world outlives a process: the clock, the activations, the archivals, and the executions with their ends. */
export const openWorld = (startMs: number, policies: ReadonlyMap<string, Policy>) => {
  const timers = manualTimers(startMs);
  const plans = new Map<string, { readonly plan: LaunchPlanName; readonly segments: readonly Segment[] }>();
  const archived = new Map<string, readonly Span[]>();
  const launched = new Map<string, { readonly endMs: number }>();
  const listeners = new Set<(plan: LaunchPlanName) => void>();

  const activate = (plan: LaunchPlanName, version: string | undefined, schedule?: ModelSchedule): void => {
    const atMs = timers.now();
    const expression = { case: 'cronSchedule', value: { schedule: schedule?.text ?? '' } } as const;
    const activation =
      version === undefined
        ? { atMs }
        : { atMs, version, schedule: create(ScheduleSchema, { ScheduleExpression: expression }), principal: 'ada' };
    plans.set(plan.name, { plan, segments: withActivation(plans.get(plan.name)?.segments ?? [], activation) });
    for (const notify of listeners) notify(plan);
  };
  const setArchived = (project: string, isArchived: boolean): void => {
    const before = archived.get(project) ?? [];
    const atMs = timers.now();
    const ended = before.map((span) => (span.untilMs === undefined ? { ...span, untilMs: atMs } : span));
    archived.set(project, isArchived ? [...ended, { fromMs: atMs }] : ended);
    for (const { plan } of plans.values()) if (plan.project === project) for (const notify of listeners) notify(plan);
  };
  const policyOf = (plan: LaunchPlanName): Policy => policies.get(plan.name)!;
  return { timers, plans, archived, launched, listeners, activate, setArchived, policyOf };
};

export type World = ReturnType<typeof openWorld>;

/** The calls of a process that can be killed: after `stepsLeft` steps it is dead, and its further steps never end. */
const killableCalls = () => {
  const state = { isDead: false, stepsLeft: Infinity, calls: 0 };
  const step = (): Promise<void> => {
    state.stepsLeft -= 1;
    if (state.stepsLeft < 0) state.isDead = true;
    return state.isDead ? new Promise(() => undefined) : Promise.resolve();
  };
  /** Counts the calls that are under way. */
  const counted =
    <Arguments extends readonly unknown[], Result>(call: (...values: Arguments) => Promise<Result>) =>
    (...values: Arguments): Promise<Result> => {
      state.calls += 1;
      return call(...values).finally(() => (state.calls -= 1));
    };
  /** Makes a call with a step before it and a step after it. */
  const withSteps = <Arguments extends readonly unknown[], Result>(call: (...values: Arguments) => Promise<Result>) => {
    const countedCall = counted(call);
    return async (...values: Arguments): Promise<Result> => {
      await step();
      const result = await countedCall(...values);
      await step();
      return result;
    };
  };
  return { state, counted, withSteps };
};

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

/** A process that fires the schedules of the world, until it is killed. */
export const openProcess = (world: World, store: EventStore, payloads: PayloadStore) => {
  const { timers, plans, archived, launched, listeners } = world;
  const { state, counted, withSteps } = killableCalls();
  const sessions = openSessions({ store, payloads, now: () => timers.now(), isShared: true });
  const activations: FireSchedulesOptions['activations'] = {
    plans: () => [...plans.values()],
    of: ({ name }) => plans.get(name)?.segments ?? [],
    archived: (project) => archived.get(project) ?? [],
    current: () => Promise.resolve(),
    onChange: (notify) => {
      listeners.add(notify);
      return () => void listeners.delete(notify);
    },
    ended: new Promise(() => undefined),
  };
  const executionOf = (tick: { readonly plan: LaunchPlanName; readonly version: string; readonly atMs: number }) => ({
    ...tick.plan,
    name: tickName({ ...tick.plan, version: tick.version }, tick.atMs),
  });
  const launcher: Launcher = {
    launch: withSteps((tick): Promise<FireOutcome> => {
      const execution = executionOf(tick);
      if (!launched.has(execution.name))
        launched.set(execution.name, { endMs: endOf(timers.now(), world.policyOf(tick.plan)) });
      return Promise.resolve({ kind: 'fired', execution });
    }),
    launched: (tick) => {
      const execution = executionOf(tick);
      return Promise.resolve(launched.has(execution.name) ? { kind: 'fired', execution } : undefined);
    },
    isRunning: (_, name) => Promise.resolve((launched.get(name)?.endMs ?? 0) > timers.now()),
  };
  const reactor = fireSchedules({
    sessions: {
      handle: withSteps(sessions.handle.bind(sessions)),
      read: counted(sessions.read.bind(sessions)),
    },
    activations,
    launcher,
    settingsOf: (plan) => Promise.resolve(world.policyOf(plan)),
    timers: {
      now: () => timers.now(),
      after: (delayMs, run) =>
        timers.after(delayMs, () => {
          if (!state.isDead) run();
        }),
    },
    timezone: 'UTC',
    maxStartsPerSecond: Infinity,
    giveUpAfterMs: 1,
    countTicks: () => undefined,
    parked: parkedStreams(() => undefined),
    onFailure: (error) => {
      throw error;
    },
  });
  return {
    isDead: () => state.isDead,
    isToBeKilled: () => state.stepsLeft < Infinity,
    /** Kills the process after `steps` more steps. */
    killAfter: (steps: number): void => void (state.stepsLeft = steps),
    /** Waits until no due work is left, or the process is dead and none of its calls is under way. */
    settle: async (): Promise<void> => {
      for (let idle = 0; idle < 4; idle += 1) {
        await turns(1);
        if (state.calls > 0 || (!state.isDead && reactor.figures().lagMs > 0)) idle = 0;
      }
    },
    close: () => reactor.close(),
  };
};
