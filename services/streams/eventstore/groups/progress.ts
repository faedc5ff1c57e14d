/** An event up to the position of the progress that is not done: it comes again after a restart. */
export type Pending = {
  /** Its revision in the stream, or its position in the log for a group on `$all`. */
  readonly at: bigint;
  readonly retries: number;
};

/**
 * The progress of a group. Every event at or before `upTo` that is not pending is done: acknowledged, skipped, parked,
 * not matched by the filter, hidden by the rules of its stream, or before the start of the group.
 */
export type GroupProgress = {
  readonly upTo: bigint;
  /** Ascending by position. */
  readonly pending: readonly Pending[];
  /** The events of links before this revision of the parked stream are pending only if they were replayed. */
  readonly parkedUpTo: bigint;
  /** Links of the parked stream before this revision were replayed. */
  readonly replayedUpTo: bigint;
  /** Links before this revision are to be replayed. */
  readonly replayUntil: bigint;
};

/** The progress of a group that has read nothing. */
export const progressAfter = (upTo: bigint, parkedUpTo: bigint): GroupProgress => ({
  upTo,
  pending: [],
  parkedUpTo,
  replayedUpTo: parkedUpTo,
  replayUntil: parkedUpTo,
});

/** The checkpoint: all events up to this position are done. */
export const checkpointOf = ({ upTo, pending: [first] }: GroupProgress): bigint =>
  first === undefined ? upTo : first.at - 1n;

const pendingText = ({ at, retries }: Pending): string => (retries === 0 ? `${at}` : `${at}/${retries}`);

const pendingIn = (text: string): Pending => {
  const [at = '', retries = '0'] = text.split('/');
  return { at: BigInt(at), retries: Number(retries) };
};

/** The stored form of a progress. */
type Stored = {
  readonly group: string;
  readonly upTo: string;
  readonly pending: readonly string[];
  readonly parkedUpTo: string;
  readonly replayedUpTo: string;
  readonly replayUntil: string;
};

/** Encodes a progress as JSON. @param group the id of the group, since a later group may have the same name. */
export const progressJson = (group: string, progress: GroupProgress): string =>
  JSON.stringify({
    group,
    upTo: String(progress.upTo),
    pending: progress.pending.map(pendingText),
    parkedUpTo: String(progress.parkedUpTo),
    replayedUpTo: String(progress.replayedUpTo),
    replayUntil: String(progress.replayUntil),
  } satisfies Stored);

/** Reverses {@link progressJson}; `undefined` for the progress of another group. */
export const progressIn = (json: string, group: string): GroupProgress | undefined => {
  const stored = JSON.parse(json) as Stored;
  if (stored.group !== group) return undefined;
  return {
    upTo: BigInt(stored.upTo),
    pending: stored.pending.map(pendingIn),
    parkedUpTo: BigInt(stored.parkedUpTo),
    replayedUpTo: BigInt(stored.replayedUpTo),
    replayUntil: BigInt(stored.replayUntil),
  };
};

/** Adds links that were appended after the progress was recorded: their events are parked, no longer pending. */
export const withParked = (progress: GroupProgress, links: readonly { readonly at: bigint }[]): GroupProgress => {
  const parked = new Set(links.map(({ at }) => at));
  return {
    ...progress,
    pending: progress.pending.filter(({ at }) => !parked.has(at)),
    parkedUpTo: progress.parkedUpTo + BigInt(links.length),
  };
};
