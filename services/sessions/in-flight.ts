import { RevisionConflict } from '../kernel/fault.js';
import type { Appended } from '../kernel/ports/event-store.js';
import { answerCommand, type CommandTurn, type InFlight } from './turn.js';

/** Maximum number of retries of a command whose append has met a revision conflict. */
const MAX_RETRIES = 20;

/**
 * The appends of one stream whose outcome is not known yet, in stream order. Commands are answered from here, each when
 * everything that its decision depends on is durable.
 */
export class InFlightAppends<Command, Refusal> {
  readonly #onDurable: (appended: Appended) => void;
  #entries: InFlight<Command, Refusal>[] = [];
  #hasFailed = false;
  #onSettled: (() => void) | undefined;

  /** @param onDurable called once for each command whose events have become durable, before it is answered. */
  constructor(onDurable: (appended: Appended) => void) {
    this.#onDurable = onDurable;
  }

  get isEmpty(): boolean {
    return this.#entries.length === 0;
  }

  /** True after a failed append, until none is in flight: nothing is decided meanwhile. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  get entries(): readonly InFlight<Command, Refusal>[] {
    return this.#entries;
  }

  add(entry: InFlight<Command, Refusal>): void {
    this.#entries.push(entry);
  }

  /**
   * True when the highest of `revisions`, which ascend, belongs to an append in flight: if that fails, another event
   * may get the revision.
   */
  includes(revisions: readonly bigint[]): boolean {
    const [first] = this.#entries;
    return first !== undefined && (revisions.at(-1) ?? -1n) > first.revision - BigInt(first.encoded.length);
  }

  /**
   * Answers a command without events when the appends before it are durable.
   *
   * @returns `false` when none is in flight: the caller answers it.
   */
  follow(turn: CommandTurn<Command, Refusal>, refusal: Refusal | undefined): boolean {
    const last = this.#entries.at(-1);
    last?.followers.push({ turn, refusal });
    return last !== undefined;
  }

  /** Resolves when no append is in flight. */
  async settled(): Promise<void> {
    if (!this.isEmpty) await new Promise<void>((resolve) => (this.#onSettled = resolve));
    this.#onSettled = undefined;
  }

  /** Stops decisions after an append has failed. */
  fail(): void {
    this.#hasFailed = true;
  }

  /**
   * Answers the commands whose events are durable, in stream order, up to the first that is still in flight or has
   * failed.
   */
  answerDurable(): void {
    for (let first = this.#entries[0]; first?.result !== undefined; first = this.#entries[0]) {
      if ('error' in first.result) return;
      this.#entries.shift();
      this.#answer(first, first.result.appended);
    }
    if (!this.isEmpty) return;
    this.#entries = []; // an emptied array keeps capacity for sixteen elements
    this.#onSettled?.();
  }

  /**
   * Ends all appends after one has failed: answers the commands whose events became durable all the same, and rejects
   * those that are not to be retried. Every append must have its result.
   *
   * @returns the commands to decide again, in order: those of a revision conflict, and those that waited for any failed
   *   append.
   */
  endFailed(): CommandTurn<Command, Refusal>[] {
    const ended = this.#entries;
    this.#entries = [];
    this.#hasFailed = false;
    this.#onSettled?.();
    return ended.flatMap((entry) => this.#end(entry));
  }

  #end(entry: InFlight<Command, Refusal>): CommandTurn<Command, Refusal>[] {
    const { turn, result, followers } = entry;
    if (result === undefined) return [];
    if ('appended' in result) {
      this.#answer(entry, result.appended);
      return [];
    }
    const isRetried = result.error instanceof RevisionConflict && turn.attempts < MAX_RETRIES;
    if (!isRetried) turn.reject(result.error);
    return [
      ...(isRetried ? [{ ...turn, attempts: turn.attempts + 1 }] : []),
      ...followers.map((follower) => follower.turn),
    ];
  }

  #answer(entry: InFlight<Command, Refusal>, appended: Appended): void {
    this.#onDurable(appended);
    answerCommand(entry.turn, entry.refusal, appended);
    for (const { turn, refusal } of entry.followers) answerCommand(turn, refusal, appended);
  }
}
