import { type WorkflowObject } from '../object/workflow-object.js';

/** The place of an object in a cluster. */
export type ObjectPlace = { readonly namespace: string; readonly name: string };

/** An object with the execution that it was made for, which has the name of the object. */
export type ObjectOfExecution = ObjectPlace & { readonly project: string; readonly domain: string };

/** An object in a cluster, as far as a bridge looks at it. */
export type StandingObject = ObjectOfExecution & {
  readonly uid: string;
  readonly resourceVersion: string;
  /** The launch that it was made for; empty when something else made it. */
  readonly launchId: string;
  readonly finalizers: readonly string[];
  /** When its deletion began, in milliseconds since 1970. */
  readonly deletedAtMs?: number | undefined;
};

/** The cluster could not be asked, or was not able to answer; a later attempt may succeed. */
export class ClusterAway extends Error {
  override readonly name = 'ClusterAway';
  /** The cluster asks for this pause before the next attempt. */
  readonly retryAfterMs: number;

  constructor(message: string, options: ErrorOptions & { readonly retryAfterMs?: number } = {}) {
    super(message, options);
    this.retryAfterMs = options.retryAfterMs ?? 0;
  }
}

/** The cluster refuses the object itself: the same request will never succeed. */
export class ObjectRefused extends Error {
  override readonly name = 'ObjectRefused';
}

/** Called for an object that stands, has changed or has gone. */
export type OnObject = (object: ObjectOfExecution) => void;

/** The objects of one bridge in one cluster. Each method throws `ClusterAway` when the cluster gives no answer. */
export interface Cluster {
  readonly name: string;
  /** Reads one object; `undefined` when there is none. */
  find(place: ObjectPlace): Promise<StandingObject | undefined>;
  /**
   * Creates an object.
   *
   * @returns `exists` when an object of that name stands already, whatever it is.
   * @throws {ObjectRefused}
   */
  create(object: WorkflowObject): Promise<'created' | 'exists'>;
  /** Begins the deletion of exactly this object; it ends when its finalizers are removed. Nothing if it has gone. */
  delete(object: StandingObject): Promise<void>;
  /** Removes the engine's finalizer from an object that an engine no longer looks after. */
  release(object: StandingObject): Promise<void>;
  /**
   * Calls back for each object that this bridge has made, first for those that stand, then for each change, until the
   * signal. A change may come more than once; changes while the cluster is away come when it is back.
   */
  follow(onObject: OnObject, signal: AbortSignal): Promise<void>;
}
