import type { FoldedState } from '../stream-state.js';
import type { CommandTurn, Decided, InFlight } from '../turn.js';
import { foldInFlight, type Writer, type WriterParts } from './writer.js';

/**
 * The writer of a log that this process has to itself. Each command is appended at once, without waiting for those
 * before it, so that the commands of a stream share a commit. When an append fails, those behind it fail too, because
 * their revisions follow from it.
 */
export class PipelinedWriter<State, Command, Event, Refusal> implements Writer<State, Command, Event, Refusal> {
  readonly #parts: WriterParts<State, Command, Event, Refusal>;

  constructor(parts: WriterParts<State, Command, Event, Refusal>) {
    this.#parts = parts;
  }

  mayLackEvents(): boolean {
    return false;
  }

  append(turn: CommandTurn<Command, Refusal>, decided: Decided<Event, Refusal>, folded: FoldedState<State>): undefined {
    const { store, stream } = this.#parts;
    const entry = foldInFlight(this.#parts, turn, decided, folded);
    store.append(stream, entry.expected, entry.encoded).then(
      (appended) => this.#settle(entry, { appended }),
      (error: unknown) => this.#settle(entry, { error }),
    );
  }

  #settle(entry: InFlight<Command, Refusal>, result: NonNullable<InFlight<Command, Refusal>['result']>): void {
    const { inFlight, startAgain } = this.#parts;
    entry.result = result;
    if ('error' in result) inFlight.fail();
    if (!inFlight.hasFailed) inFlight.answerDurable();
    else if (inFlight.entries.every((each) => each.result !== undefined)) startAgain(inFlight.endFailed());
  }
}
