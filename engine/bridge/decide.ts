/** The aim of the control plane for an execution: to run, to be aborted, or nothing more. */
export type DesiredState = 'run' | 'abort' | 'over';

/**
 * The object of a launch, as last read. `unknown`: it was not read yet. `present`: the object exists and is not being
 * deleted. `foreign`: an object of the same name was made for another launch. `abandoned`: the object was deleted, and
 * its engine has not removed the finalizer within the grace time.
 */
export type ObjectState = 'unknown' | 'absent' | 'present' | 'deleting' | 'abandoned' | 'foreign';

export type Situation = {
  readonly aim: DesiredState;
  readonly seen: ObjectState;
  /** True when this bridge has accepted the launch, also before the control plane has answered. */
  readonly isAccepted: boolean;
  /** True when no engine has had a lease of this execution before. */
  readonly isFirstLease: boolean;
  /** True when an engine has begun the execution, by its reports. */
  readonly isStarted: boolean;
  /** True while the object of a finished execution is to be kept. */
  readonly isKept: boolean;
};

/**
 * The next step: `pass-on` gives the execution back for other engines, `refuse` fails it because its name is taken in
 * the cluster, `end` reports its end instead of the engine, `release` removes the engine's finalizer.
 */
export type Step =
  | 'observe'
  | 'create'
  | 'accept'
  | 'pass-on'
  | 'refuse'
  | 'delete'
  | 'end'
  | 'release'
  | 'wait'
  | 'forget';

type Row = Readonly<Record<ObjectState, (situation: Situation) => Step>>;

const always = (step: Step) => (): Step => step;
const acceptedOr = (accepted: Step, otherwise: Step) => (situation: Situation) =>
  situation.isAccepted ? accepted : otherwise;

/** Decides for an execution without an object. A started one is not begun again: it may have run elsewhere. */
const begin = ({ isAccepted, isStarted }: Situation): Step => {
  if (isAccepted) return 'end';
  return isStarted ? 'pass-on' : 'create';
};

const RUN: Row = {
  unknown: ({ isFirstLease, isAccepted }) => (isFirstLease && !isAccepted ? 'create' : 'observe'),
  absent: begin,
  present: acceptedOr('wait', 'accept'),
  deleting: acceptedOr('wait', 'accept'),
  abandoned: acceptedOr('wait', 'accept'),
  foreign: acceptedOr('end', 'refuse'),
};

const ABORT: Row = {
  unknown: acceptedOr('observe', 'accept'),
  absent: acceptedOr('end', 'accept'),
  present: acceptedOr('delete', 'accept'),
  deleting: acceptedOr('wait', 'accept'),
  abandoned: acceptedOr('wait', 'accept'),
  foreign: acceptedOr('end', 'accept'),
};

const OVER: Row = {
  unknown: always('observe'),
  absent: always('forget'),
  present: ({ isKept }) => (isKept ? 'wait' : 'delete'),
  deleting: always('wait'),
  abandoned: always('release'),
  foreign: always('forget'),
};

const ROWS: Readonly<Record<DesiredState, Row>> = { run: RUN, abort: ABORT, over: OVER };

/**
 * Decides the next step of a bridge for one execution. Called again after each step but the last, with the object as
 * that step has read or left it.
 */
export const nextStep = (situation: Situation): Step => ROWS[situation.aim][situation.seen](situation);
