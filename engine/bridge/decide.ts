/** The aim of the control plane for an execution: to run, to be aborted, or nothing more. */
export type Aim = 'run' | 'abort' | 'over';

/**
 * The object of a launch, as last read. `foreign` is an object of the same name that was made for another launch;
 * `abandoned` is one whose engine has not let it go for the grace time after its deletion.
 */
export type Seen = 'unknown' | 'absent' | 'standing' | 'deleting' | 'abandoned' | 'foreign';

export type Situation = {
  readonly aim: Aim;
  readonly seen: Seen;
  /** The control plane knows that this bridge runs the execution. */
  readonly isAccepted: boolean;
  /** No engine has had this execution before. */
  readonly isFirstLease: boolean;
  /** Something was reported of the execution already, by an engine that had it before. */
  readonly isStarted: boolean;
  /** The object of a finished execution is to stand for some time more. */
  readonly isKept: boolean;
};

/**
 * The next thing to do: `pass-on` offers the execution to other engines, `refuse` fails it because its name is taken in
 * the cluster, `end` reports its end in the engine's place, `release` removes the engine's finalizer.
 */
export type Step =
  'look' | 'create' | 'accept' | 'pass-on' | 'refuse' | 'delete' | 'end' | 'release' | 'wait' | 'forget';

type Row = Readonly<Record<Seen, (situation: Situation) => Step>>;

const always = (step: Step) => (): Step => step;
const acceptedOr = (accepted: Step, otherwise: Step) => (situation: Situation) =>
  situation.isAccepted ? accepted : otherwise;

/** An object that has gone may have run elsewhere: an execution of which something was reported is not begun again. */
const begin = ({ isAccepted, isStarted }: Situation): Step => {
  if (isAccepted) return 'end';
  return isStarted ? 'pass-on' : 'create';
};

const RUN: Row = {
  unknown: ({ isFirstLease, isAccepted }) => (isFirstLease && !isAccepted ? 'create' : 'look'),
  absent: begin,
  standing: acceptedOr('wait', 'accept'),
  deleting: acceptedOr('wait', 'accept'),
  abandoned: acceptedOr('wait', 'accept'),
  foreign: acceptedOr('end', 'refuse'),
};

const ABORT: Row = {
  unknown: acceptedOr('look', 'accept'),
  absent: acceptedOr('end', 'accept'),
  standing: acceptedOr('delete', 'accept'),
  deleting: acceptedOr('wait', 'accept'),
  abandoned: acceptedOr('wait', 'accept'),
  foreign: acceptedOr('end', 'accept'),
};

const OVER: Row = {
  unknown: always('look'),
  absent: always('forget'),
  standing: ({ isKept }) => (isKept ? 'wait' : 'delete'),
  deleting: always('wait'),
  abandoned: always('release'),
  foreign: always('forget'),
};

const ROWS: Readonly<Record<Aim, Row>> = { run: RUN, abort: ABORT, over: OVER };

/** Decides what a bridge does next for one execution. Asked again with what is seen then, until it says to wait. */
export const nextStep = (situation: Situation): Step => ROWS[situation.aim][situation.seen](situation);
