import type { EventStore } from '../../../../services/kernel/ports/event-store.js';
import type { PayloadStore } from '../../../../services/kernel/ports/payload-store.js';
import { tickName } from '../../../../services/schedule/calendar/tick-name.js';
import { scheduleAggregate } from '../../../../services/schedule/decider.js';
import type { LaunchPlanName } from '../../../../services/kernel/identifier.js';
import { scheduleStream } from '../../../../services/schedule/events.js';
import { openSessions } from '../../../../services/sessions/sessions.js';
import { MINUTE, type PlanModel, planModel } from './model.js';
import { openProcess, openWorld } from './process.js';
import type { Act, Story } from './story.js';

/** A process decides on a tick a millisecond after it was due. */
const AFTER_MS = 1;
/** The process after a killed one starts at the 15th second of a minute. */
const START_MS = 15_000;
/** The rounds that a started process gets to launch ticks that wait for the one before them, and the ms of a round. */
const ROUNDS = 40;
const ROUND_MS = 101;

export type Played = {
  readonly story: Story;
  readonly startMs: number;
  readonly endMs: number;
  readonly store: EventStore;
  readonly payloads: PayloadStore;
};

/** Plays a story on a log, beside its model. After a kill, the model gets what the process had left in the log. */
export const play = async ({ story, startMs, endMs, store, payloads }: Played) => {
  const { plans, policies } = story;
  const world = openWorld(startMs, policies);
  const { timers } = world;
  const models = new Map(plans.map((plan) => [plan.name, planModel(policies.get(plan.name)!)]));
  const modelOf = ({ name }: LaunchPlanName): PlanModel => models.get(name)!;
  const reader = openSessions({ store, payloads, now: () => timers.now(), isShared: true });
  const acts = [...story.acts];
  const kills = [...story.kills];
  const nextMs = new Map<string, number>();
  const state = { process: openProcess(world, store, payloads), restartMs: Infinity, killed: 0 };
  const isUp = (): boolean => state.restartMs === Infinity;
  const updateNext = (each: LaunchPlanName): void => void nextMs.set(each.name, modelOf(each).nextMs(timers.now()));

  /** Gives the model of each plan what the killed process left in the log. */
  const noteKilled = async (downMs: number): Promise<void> => {
    const nowMs = timers.now();
    world.listeners.clear();
    state.killed += 1;
    state.restartMs = Math.floor(nowMs / MINUTE) * MINUTE + downMs + START_MS;
    for (const each of plans) {
      const recorded = await reader.read(scheduleAggregate, scheduleStream(each), ({ state: { untilMs, open } }) => ({
        untilMs,
        open: new Set(open.keys()),
      }));
      modelOf(each).killed(nowMs, {
        untilMs: recorded.untilMs,
        isOpen: ({ atMs, version }) => recorded.open.has(`${atMs} ${version}`),
        isLaunched: ({ atMs, version }) => world.launched.has(tickName({ ...each, version }, atMs)),
      });
      updateNext(each);
    }
  };

  let downMs = 0;
  /** Lets the process do what is due, and then the models; only those of plans that are due decide on ticks. */
  const settle = async (isDue: (each: LaunchPlanName) => boolean): Promise<void> => {
    if (!isUp()) return;
    await state.process.settle();
    if (state.process.isDead()) return noteKilled(downMs);
    for (const each of plans) {
      if (isDue(each)) modelOf(each).decideAndLaunch(timers.now());
      else if (modelOf(each).open.length > 0) modelOf(each).launch(timers.now());
      else continue;
      updateNext(each);
    }
  };

  const act = async (action: Act): Promise<void> => {
    const nowMs = timers.now() - AFTER_MS;
    if ('project' in action) {
      world.setArchived(action.project, action.isArchived);
      for (const each of plans)
        if (each.project === action.project) modelOf(each)[action.isArchived ? 'archive' : 'restore'](nowMs);
    } else if (action.version === undefined) {
      modelOf(action.plan).deactivate(nowMs);
      world.activate(action.plan, undefined);
    } else {
      modelOf(action.plan).activate(action.version, action.schedule, nowMs);
      world.activate(action.plan, action.version, action.schedule);
    }
    const isOf = (each: LaunchPlanName): boolean =>
      'project' in action ? each.project === action.project : each === action.plan;
    await settle(isOf);
    for (const each of plans) if (isOf(each)) updateNext(each);
  };

  const restart = async (): Promise<void> => {
    state.restartMs = Infinity;
    state.process = openProcess(world, store, payloads);
    await settle(() => true);
    for (let round = 0; round < ROUNDS && isUp(); round += 1) {
      timers.advance(ROUND_MS);
      await state.process.settle();
    }
    if (isUp() && state.process.isDead()) await noteKilled(downMs);
  };

  /** The next time at which a plan is due, a process starts or a person acts, in milliseconds since 1970. */
  const nextAtMs = (): number => {
    const dueMs = isUp() ? Math.min(...nextMs.values()) : state.restartMs;
    return Math.min(dueMs, acts[0]?.atMs ?? Infinity);
  };

  const armKill = (atMs: number): void => {
    const [kill] = kills;
    if (!isUp() || state.process.isToBeKilled() || !kill || kill.atMs > atMs) return;
    state.process.killAfter(kill.steps);
    downMs = kill.downMs;
    kills.shift();
  };

  for (let atMs = nextAtMs(); atMs <= endMs; atMs = nextAtMs()) {
    armKill(atMs);
    timers.advance(atMs + AFTER_MS - timers.now());
    if (atMs === state.restartMs) await restart();
    else await settle(({ name }) => (nextMs.get(name) ?? Infinity) <= atMs);
    while (acts[0] && acts[0].atMs <= atMs) await act(acts.shift()!);
  }
  // Ticks of an archived project are decided on when it is restored, or when the next process starts.
  if (!isUp()) {
    timers.advance(state.restartMs + AFTER_MS - timers.now());
    await restart();
  }
  return { world, models, killed: state.killed, close: () => (isUp() ? state.process.close() : Promise.resolve()) };
};
