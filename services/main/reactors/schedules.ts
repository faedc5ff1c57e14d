import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  ExecutionCreateRequestSchema,
  ExecutionMetadata_ExecutionMode as Mode,
} from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { InactiveProjectSchema } from '../../../proto/gen/platformidl/admin/project_pb.js';
import { type Identifier, IdentifierSchema, ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import type { Configuration } from '../../config/configuration.js';
import { executionStream } from '../../kernel/execution-id.js';
import type { LaunchRefusal } from '../../execution/launch/answer.js';
import { launch } from '../../execution/launch/launch.js';
import { isTerminal } from '../../execution/phases.js';
import type { Launcher, SettingsOf } from '../../reactors/fire-schedules/ports.js';
import { REACTOR } from '../../reactors/fire-schedules/fire.js';
import { kickoffInputs } from '../../reactors/fire-schedules/kickoff-inputs.js';
import { type ScheduleSettings, withAnnotations } from '../../schedule/calendar/annotations.js';
import { tickName } from '../../schedule/calendar/tick-name.js';
import type { FireOutcome, TickLaunch } from '../../schedule/commands.js';
import type { Launching } from '../launching.js';

const versionId = ({ plan, version }: Pick<TickLaunch, 'plan' | 'version'>): Identifier =>
  create(IdentifierSchema, { resourceType: ResourceType.LAUNCH_PLAN, ...plan, version });

const isInactive = (refusal: Extract<LaunchRefusal, { readonly kind: 'invalid' }>): boolean =>
  refusal.error.details.some(({ schema }) => schema === InactiveProjectSchema);

/**
 * The outcome of a tick whose launch was refused. An execution of that name is the execution of this tick, whichever
 * scheduler has launched it.
 *
 * @throws {Error} when the launch has to be sent again.
 */
const refusedOutcome = (
  execution: { project: string; domain: string; name: string },
  refusal: LaunchRefusal,
): FireOutcome => {
  switch (refusal.kind) {
    case 'limit-reached':
      return { kind: 'skipped', reason: 'concurrency-limit' };
    case 'invalid':
      return isInactive(refusal)
        ? { kind: 'skipped', reason: 'archived' }
        : { kind: 'failed', reason: refusal.error.message };
    case 'execution':
      if (refusal.refusal.kind === 'execution-exists') return { kind: 'fired', execution };
      throw new Error(`execution ${execution.name} could not be created: ${refusal.refusal.kind}`);
  }
};

const executionOf = ({ plan, version, atMs }: Omit<TickLaunch, 'principal'>) => ({
  ...plan,
  name: tickName({ ...plan, version }, atMs),
});

/** Launches the executions of ticks by the same use case as every other launch. */
export const launcherOf = (launching: Launching): Launcher => {
  const { sessions, aggregate } = launching.services;
  const launchedBefore: Launcher['launched'] = ({ plan, version, atMs }) => {
    const execution = executionOf({ plan, version, atMs });
    return sessions.read(aggregate, executionStream(execution), ({ state }) =>
      state.exists ? ({ kind: 'fired', execution } as const) : undefined,
    );
  };
  return {
    launched: launchedBefore,
    launch: async (tick) => {
      const { atMs, principal } = tick;
      const execution = executionOf(tick);
      const metadata = { mode: Mode.SCHEDULED, scheduledAt: timestampFromMs(atMs) };
      const launchPlan = versionId(tick);
      const request = create(ExecutionCreateRequestSchema, { ...execution, spec: { launchPlan, metadata } });
      const plan = await launching.definitions.launchPlan(launchPlan);
      const given = kickoffInputs(plan?.spec.entityMetadata?.schedule, atMs);
      const actor = {
        actor: REACTOR,
        principal,
        commandId: `${REACTOR}-${execution.project}-${execution.domain}-${execution.name}`,
      };
      const launched = await launch(launching.services, { request, given }, actor);
      if (launched.kind === 'launched') return { kind: 'fired', execution };
      // A process may have launched it and ended before it recorded that, and the project been archived since.
      return (await launchedBefore(tick)) ?? refusedOutcome(execution, launched.refusal);
    },
    isRunning: ({ project, domain }, name) =>
      sessions.read(
        aggregate,
        executionStream({ project, domain, name }),
        ({ state }) => state.exists && !isTerminal('workflow', state.phase),
      ),
  };
};

/** The settings of schedules of the configuration. */
export const scheduleSettings = ({ schedules }: Pick<Configuration, 'schedules'>): ScheduleSettings => ({
  catchUp: { policy: schedules.catch_up, max: schedules.catch_up_max, maxAgeMs: schedules.catch_up_max_age },
  overlap: schedules.overlap,
});

/** Finds the settings of a version: those of the configuration, changed by the annotations of its launch plan. */
export const settingsOf =
  ({ definitions }: Launching, defaults: ScheduleSettings): SettingsOf =>
  async (plan, version) => {
    if (version === '') return defaults;
    const definition = await definitions.launchPlan(versionId({ plan, version }));
    return withAnnotations(defaults, definition?.spec.annotations?.values ?? {});
  };
