import type { LaunchPlanEvent } from './events.js';

/** What is kept of a version: never its spec, which is read where it was registered. */
export type RegisteredVersion = { readonly digest: Uint8Array; readonly revision: bigint };

/** All versions of one name. */
export type LaunchPlanState = {
  readonly versions: Map<string, RegisteredVersion>;
  activeVersion: string | undefined;
  /** A version limits how many executions there are, so that those of all versions are counted. */
  limitsConcurrency: boolean;
  /** The revision that the next event will have. */
  nextRevision: bigint;
};

export const initialLaunchPlan = (): LaunchPlanState => ({
  versions: new Map(),
  activeVersion: undefined,
  limitsConcurrency: false,
  nextRevision: 0n,
});

export const evolveLaunchPlan = (state: LaunchPlanState, { type, data }: LaunchPlanEvent): LaunchPlanState => {
  const version = data.id?.version ?? '';
  // A copy: what was decoded is a view of its event, and would keep all of that.
  if (type === 'LaunchPlanRegistered')
    state.versions.set(version, { digest: data.digest.slice(), revision: state.nextRevision });
  if (type === 'LaunchPlanRegistered') state.limitsConcurrency ||= data.limitsConcurrency;
  if (type === 'LaunchPlanActivated') state.activeVersion = version;
  if (type === 'LaunchPlanDeactivated' && state.activeVersion === version) state.activeVersion = undefined;
  state.nextRevision += 1n;
  return state;
};
