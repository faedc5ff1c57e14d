import { type WorkflowObject } from '../object/workflow-object.js';

/** Namespace and name of an object in a cluster. */
export type ObjectKey = { readonly namespace: string; readonly name: string };

/** The key of an object with the project and domain of its execution; the execution has the name of the object. */
export type ExecutionObject = ObjectKey & { readonly project: string; readonly domain: string };

/** The properties of an object in a cluster that a bridge reads. */
export type ClusterObject = ExecutionObject & {
  readonly uid: string;
  readonly resourceVersion: string;
  /** The launch that it was made for; empty when something else made it. */
  readonly launchId: string;
  readonly finalizers: readonly string[];
  /** The time at which its deletion began, in milliseconds since 1970; undefined while it is not being deleted. */
  readonly deletedAtMs?: number | undefined;
};

/** The cluster is unreachable or gave no usable answer; a later attempt may succeed. */
export class ClusterUnavailable extends Error {
  override readonly name = 'ClusterUnavailable';
  /** The pause that the cluster asks for before the next attempt; 0 when it asks for none. */
  readonly retryAfterMs: number;

  constructor(message: string, options: ErrorOptions & { readonly retryAfterMs?: number } = {}) {
    super(message, options);
    this.retryAfterMs = options.retryAfterMs ?? 0;
  }
}

/** The cluster refuses the request itself, such as for the content of an object: the same one will never succeed. */
export class ObjectRefused extends Error {
  override readonly name = 'ObjectRefused';
}

/** Called for an object that exists, has changed or was deleted. */
export type OnObject = (object: ExecutionObject) => void;

/**
 * The objects of one bridge in one cluster. Each method but `follow` throws `ClusterUnavailable` when the cluster gives
 * no usable answer, and `ObjectRefused` when it refuses the request itself.
 */
export interface Cluster {
  readonly name: string;
  /** Reads one object; `undefined` when there is none. */
  find(key: ObjectKey): Promise<ClusterObject | undefined>;
  /**
   * Creates an object.
   *
   * @returns `exists` when there is an object of that name already, whatever it was made for.
   */
  create(object: WorkflowObject): Promise<'created' | 'exists'>;
  /**
   * Begins the deletion of exactly this object; it ends when no finalizers are left. Does nothing if it was deleted.
   */
  delete(object: ClusterObject): Promise<void>;
  /** Removes the finalizer of the engine from exactly this object. Does nothing if it has changed or was deleted. */
  removeFinalizer(object: ClusterObject): Promise<void>;
  /**
   * Calls back for each object that this bridge has made: first for existing ones, then for each change, until the
   * signal. A change may be reported more than once. Changes during an outage are reported afterwards.
   */
  follow(onObject: OnObject, signal: AbortSignal): Promise<void>;
}
