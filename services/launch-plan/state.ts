import type { LaunchPlanEvent } from './events.js';

/** The state of a version. The spec is not part of it; it is read from the event of the registration. */
export type RegisteredVersion = { readonly digest: Uint8Array; readonly revision: bigint };

/** All versions of one name. */
export type LaunchPlanState = {
  readonly versions: Map<string, RegisteredVersion>;
  /** The length of all versions, in characters: clients may choose long ones. */
  versionChars: number;
  activeVersion: string | undefined;
  /** True when any version limits concurrency; then the executions of all versions are counted. */
  limitsConcurrency: boolean;
  /** The revision that the next event will have. */
  nextRevision: bigint;
};

export const initialLaunchPlan = (): LaunchPlanState => ({
  versions: new Map(),
  versionChars: 0,
  activeVersion: undefined,
  limitsConcurrency: false,
  nextRevision: 0n,
});

export const evolveLaunchPlan = (state: LaunchPlanState, { type, data }: LaunchPlanEvent): LaunchPlanState => {
  const version = data.id?.version ?? '';
  if (type === 'LaunchPlanRegistered') {
    // Copied: the decoded digest is a view of the whole event and would keep it in memory.
    state.versions.set(version, { digest: data.digest.slice(), revision: state.nextRevision });
    state.versionChars += version.length;
    state.limitsConcurrency ||= data.limitsConcurrency;
  }
  if (type === 'LaunchPlanActivated') state.activeVersion = version;
  if (type === 'LaunchPlanDeactivated' && state.activeVersion === version) state.activeVersion = undefined;
  state.nextRevision += 1n;
  return state;
};
