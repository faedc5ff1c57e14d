import { randomUUID } from 'node:crypto';
import { OutcomeUnknown } from '../../../kernel/fault.js';
import type { ErrorLogger } from '../failure.js';
import {
  type ConfiguredGroup,
  decideGroups,
  evolveGroups,
  type GroupEvent,
  groupEventJson,
  type GroupStart,
} from './configuration.js';
import { GroupFailure } from './group-failure.js';
import { ALL, CONFIGURATION_STREAM, type GroupName, groupKeyOf, parkedStreamOf } from './group-name.js';
import {
  type GroupServices,
  hideLinksBefore,
  nextRevision,
  readGroups,
  readProgress,
  type RecordedGroups,
} from './group-records.js';
import { groupSource } from './group-source.js';
import { logWatch, type LogWatch } from './log-watch.js';
import { ownEvent } from '../own-event.js';
import { RunningGroup } from './running-group.js';

/** The longest wait, in milliseconds, for answers to be recorded when a group is closed after a failed change. */
const CLOSE_MS = 1_000;

/** A group to be created, or to be changed: a change keeps the filter that the group has. */
export type NewGroup = Pick<ConfiguredGroup, 'source' | 'group' | 'settings' | 'filter'> & {
  readonly from: GroupStart['asked'];
};

/** Finds the start of a group without progress: a number that a client gives is that of the first event. */
const startOf = async (
  services: GroupServices,
  { source, from }: Pick<NewGroup, 'source' | 'from'>,
): Promise<GroupStart> => {
  const beginning = source === ALL ? 0n : -1n;
  if (typeof from === 'bigint') return { asked: from, after: from > 0n ? from - 1n : beginning };
  const last = from === 'end' ? await groupSource(services, { source, filter: undefined }).last() : undefined;
  return { asked: from, after: last ?? beginning };
};

const dropped = (name: GroupName): GroupFailure => new GroupFailure('persistent-subscription-dropped', name);

/** The consumer groups of a log. Only one server runs them at a time. */
export class GroupRegistry {
  readonly #services: GroupServices;
  readonly #logger: ErrorLogger;
  readonly #watch: LogWatch;
  readonly #opened = new Map<string, RunningGroup>();
  #recorded: RecordedGroups;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(services: GroupServices, recorded: RecordedGroups, logger: ErrorLogger) {
    this.#services = services;
    this.#recorded = recorded;
    this.#logger = logger;
    this.#watch = logWatch(
      services.log,
      (events) => this.#opened.forEach((group) => group.notice(events)),
      () => this.#opened.forEach((group) => group.readOn()),
    );
  }

  /**
   * Creates a group.
   *
   * @throws {GroupFailure} when the group exists, or its settings contradict each other.
   */
  create(given: NewGroup): Promise<void> {
    return this.#inTurn(async () => {
      const { source, group, settings, filter } = given;
      const start = await startOf(this.#services, given);
      const parkedFrom = await nextRevision(this.#services, parkedStreamOf(given));
      const created = { source, group, id: randomUUID(), settings, start, filter, parkedFrom };
      await this.#record({ type: 'PersistentSubscriptionCreated', group: created });
    });
  }

  /**
   * Changes the settings and the start, and disconnects the consumers. A group with progress resumes after it.
   *
   * @throws {GroupFailure} when the group does not exist, or its settings contradict each other.
   */
  update(given: NewGroup): Promise<void> {
    return this.#inTurn(async () => {
      const { source, group, settings } = given;
      const start = await startOf(this.#services, given);
      await this.#record({ type: 'PersistentSubscriptionUpdated', group: { source, group, settings, start } });
      await this.#close(given, dropped(given));
    });
  }

  /**
   * Deletes a group.
   *
   * @throws {GroupFailure} when the group does not exist.
   */
  remove(name: GroupName): Promise<void> {
    return this.#inTurn(async () => {
      const { source, group } = name;
      await this.#record({ type: 'PersistentSubscriptionDeleted', group: { source, group } });
      await this.#close(name, dropped(name));
      const next = await nextRevision(this.#services, parkedStreamOf(name));
      if (next > 0n) await hideLinksBefore(this.#services, name, next);
    });
  }

  /**
   * Gives a running group, which is opened at the first call.
   *
   * @throws {GroupFailure} when it does not exist.
   */
  running(name: GroupName): Promise<RunningGroup> {
    return this.#inTurn(() => this.#running(name));
  }

  /** Gives all groups, or those on one source, each running, in the order of their creation. */
  list(source?: string): Promise<readonly RunningGroup[]> {
    return this.#inTurn(() => {
      const all = [...this.#recorded.groups.values()];
      return this.#allRunning(source === undefined ? all : all.filter((group) => group.source === source));
    });
  }

  /** Gives the groups that were created first, at most this many, each running. */
  oldest(count: number): Promise<readonly RunningGroup[]> {
    return this.#inTurn(() => this.#allRunning([...this.#recorded.groups.values()].slice(0, count)));
  }

  /**
   * Closes all groups, and ends their consumers with the error. The groups can be opened again.
   *
   * @param overdue when aborted, answers of consumers that are not recorded yet are dropped.
   */
  closeAll(errorFor: (name: GroupName) => unknown, overdue?: AbortSignal): Promise<void> {
    return this.#inTurn(async () => {
      await Promise.all([...this.#opened.values()].map(({ group }) => this.#close(group, errorFor(group), overdue)));
      await this.#watch.end();
    });
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => undefined);
    return result;
  }

  async #record(change: GroupEvent): Promise<void> {
    const { groups, revision } = this.#recorded;
    const failure = decideGroups(groups, change);
    if (failure) throw failure;
    const event = ownEvent(this.#services, change.type, { data: groupEventJson(change) });
    try {
      const appended = await this.#services.append(CONFIGURATION_STREAM, revision ?? 'no-stream', [event]);
      this.#recorded = { groups: evolveGroups(groups, change), revision: appended.revision };
    } catch (error) {
      // The group may be changed. Its consumers cannot wait until their answers are recorded: the log may be failing.
      if (error instanceof OutcomeUnknown)
        await this.#close(change.group, dropped(change.group), AbortSignal.timeout(CLOSE_MS));
      this.#recorded = await readGroups(this.#services);
      throw error;
    }
  }

  async #running(name: GroupName): Promise<RunningGroup> {
    const group = this.#recorded.groups.get(groupKeyOf(name));
    if (group?.source !== name.source) throw new GroupFailure('persistent-subscription-does-not-exist', name);
    const known = this.#opened.get(groupKeyOf(name));
    if (known) return known;
    await this.#watch.begin();
    const progress = await readProgress(this.#services, group);
    const running = new RunningGroup(this.#services, group, progress, (err) =>
      this.#logger.error(
        { group: groupKeyOf(name), err },
        'a persistent subscription cannot read or write the log; its consumers are disconnected',
      ),
    );
    this.#opened.set(groupKeyOf(name), running);
    return running;
  }

  async #allRunning(names: readonly GroupName[]): Promise<readonly RunningGroup[]> {
    const running: RunningGroup[] = [];
    for (const name of names) running.push(await this.#running(name));
    return running;
  }

  async #close(name: GroupName, error: unknown, overdue?: AbortSignal): Promise<void> {
    const open = this.#opened.get(groupKeyOf(name));
    this.#opened.delete(groupKeyOf(name));
    await open?.close(error, overdue);
  }
}

/** Reads the groups that are recorded in the log. Each is opened when it is asked for. */
export const openGroups = async (services: GroupServices, logger: ErrorLogger): Promise<GroupRegistry> =>
  new GroupRegistry(services, await readGroups(services), logger);
