import type { FireOutcome, TickLaunch } from './commands.js';

/** Launches the execution of a tick. */
export interface Launcher {
  /**
   * Launches a tick. The same tick launched again is `fired` again, with the same execution.
   *
   * @throws {StreamParked} when a stream that the launch reads is parked.
   * @throws when a later attempt may succeed, for example because the log could not be reached, or the process is
   * overloaded.
   */
  launch(tick: TickLaunch): Promise<FireOutcome>;
}
