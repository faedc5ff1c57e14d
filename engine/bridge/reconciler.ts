import { WorkflowExecution_Phase as Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import { type InterfaceClient } from '../client.js';
import { type EngineLogger } from '../options.js';
import { chosenCluster, type ClusterChoice } from './cluster-choice.js';
import { type Cluster, ObjectRefused, type ClusterObject } from './cluster/cluster.js';
import { nextStep, type ObjectState, type Situation, type Step } from './decide.js';
import { reportEnd } from './end-report.js';
import { isStarted, type ManagedExecution } from './execution-table.js';
import { launchIdOf, launchOfWork } from './launch.js';
import { UnfitLaunch } from './object/go-json.js';
import { FINALIZER, objectNamespace } from './object/metadata.js';
import { offloaded, type Offloads } from './offload.js';
import { type ObjectOptions, workflowObject } from './object/workflow-object.js';
import { type WorkRequestMessage } from './work-stream.js';

/** The rejection of a launch. */
export type Rejection = Extract<WorkRequestMessage, { case: 'reject' }>['value'];

export type ReconcilerOptions = {
  readonly client: InterfaceClient;
  readonly clusters: readonly (ClusterChoice & { readonly cluster: Cluster })[];
  readonly object: ObjectOptions;
  /** Stores large contents for the engines; without it they are always in the object. */
  readonly offloads?: Offloads;
  readonly producerId: string;
  /** An object with the engine's finalizer counts as abandoned this long after its deletion began; with 0 never. */
  readonly finalizerGraceMs: number;
  readonly logger: EngineLogger;
  readonly send: (message: WorkRequestMessage) => void;
};

/** The outcome of a step: what is known of the object, a wait for a change, or the end of the management. */
type Outcome = Observation | 'wait' | 'forget';
type Observation = { readonly seen: ObjectState; readonly object?: ClusterObject };

const labelOf = ({ work }: ManagedExecution): string => work?.settings?.clusterLabel?.value ?? '';

/** Reconciles the objects of executions with the control plane. */
export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #steps: Readonly<
    Record<Step, (managed: ManagedExecution, last: Observation) => Promise<Outcome> | Outcome>
  > = {
    observe: (managed) => this.#observe(managed),
    create: (managed) => this.#create(managed),
    accept: (managed, { seen }) => this.#accept(managed, seen),
    'pass-on': (managed) => this.#passOn(managed, 'another engine has begun it'),
    refuse: (managed) => this.#refuse(managed, 'NameTaken', 'another object in the cluster has its name and namespace'),
    end: (managed) => this.#end(managed),
    delete: (managed, { object }) => (object ? this.#delete(managed, object) : this.#observe(managed)),
    release: (managed, { object }) => this.#release(managed, object),
    wait: () => 'wait',
    forget: () => 'forget',
  };

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  /** Takes steps until none is possible now; `forget` when the execution needs no further ones. */
  async reconcile(managed: ManagedExecution): Promise<'wait' | 'forget'> {
    managed.cluster ||= chosenCluster(this.#options.clusters, labelOf(managed), managed.id.name) ?? '';
    let outcome: Outcome = { seen: 'unknown' };
    while (typeof outcome === 'object') {
      const step: Step = nextStep(this.#situation(managed, outcome.seen));
      this.#options.logger.debug({ execution: managed.id.name, seen: outcome.seen, step }, 'next step');
      outcome = await this.#steps[step](managed, outcome);
    }
    return outcome;
  }

  #situation(managed: ManagedExecution, seen: ObjectState): Situation {
    return {
      aim: managed.aim,
      seen,
      isAccepted: managed.accepted !== 'no',
      isFirstLease: managed.lease?.number === 1n,
      isStarted: isStarted(managed.work),
      isKept: managed.keptUntilMs > performance.now(),
    };
  }

  #cluster({ cluster: name }: ManagedExecution): Cluster | undefined {
    return this.#options.clusters.find((each) => each.name === name)?.cluster;
  }

  #seen({ work }: ManagedExecution, object: ClusterObject): ObjectState {
    if (work !== undefined && object.launchId !== launchIdOf(work)) return 'foreign';
    if (object.deletedAtMs === undefined) return 'present';
    const { finalizerGraceMs } = this.#options;
    const isHeld = finalizerGraceMs > 0 && object.finalizers.includes(FINALIZER);
    return isHeld && Date.now() - object.deletedAtMs > finalizerGraceMs ? 'abandoned' : 'deleting';
  }

  /**
   * Reads the object from the cluster of the execution, then from the others, because weights and labels may have
   * changed.
   */
  async #observe(managed: ManagedExecution): Promise<Observation> {
    const objectName = {
      namespace: objectNamespace(this.#options.object.namespaceTemplate, managed.id),
      name: managed.id.name,
    };
    const assigned = this.#cluster(managed);
    const others = this.#options.clusters.map(({ cluster }) => cluster).filter((each) => each !== assigned);
    for (const cluster of assigned === undefined ? others : [assigned, ...others]) {
      const object = await cluster.find(objectName);
      if (object === undefined) continue;
      managed.cluster = cluster.name;
      return { seen: this.#seen(managed, object), object };
    }
    return { seen: 'absent' };
  }

  async #create(managed: ManagedExecution): Promise<Outcome> {
    const cluster = this.#cluster(managed);
    if (cluster === undefined || managed.work === undefined) return this.#passOn(managed, 'no cluster takes its label');
    const launch = await launchOfWork(managed.work, managed.id, this.#options.client);
    const { object, offloads } = this.#options;
    let answer: 'created' | 'exists';
    try {
      const whole = workflowObject(launch, object);
      answer = await cluster.create(offloads ? await offloaded(whole, launch, offloads) : whole);
    } catch (error) {
      if (!(error instanceof UnfitLaunch || error instanceof ObjectRefused)) throw error;
      return this.#refuse(managed, 'ObjectRefused', `no object can be made of the launch: ${error.message}`);
    }
    return answer === 'created' ? { seen: 'present' } : this.#observe(managed);
  }

  #accept(managed: ManagedExecution, seen: ObjectState): Observation {
    managed.accepted = 'sent';
    this.#options.send({ case: 'accept', value: managed.lease ? { lease: managed.lease } : {} });
    return { seen };
  }

  #passOn(managed: ManagedExecution, reason: string): 'forget' {
    return this.#reject(managed, reason, { case: 'offerToOthers', value: true });
  }

  #refuse(managed: ManagedExecution, code: string, message: string): 'forget' {
    return this.#reject(managed, message, { case: 'fail', value: { code, message } });
  }

  #reject({ id, lease }: ManagedExecution, reason: string, then: NonNullable<Rejection['then']>): 'forget' {
    this.#options.logger.warn({ execution: id.name, reason }, 'launch rejected');
    this.#options.send({ case: 'reject', value: { reason, then, ...(lease && { lease }) } });
    return 'forget';
  }

  async #end({ id, aim }: ManagedExecution): Promise<'wait'> {
    const isAborted = aim === 'abort';
    await reportEnd(this.#options.client, {
      id,
      producerId: this.#options.producerId,
      phase: isAborted ? Phase.ABORTED : Phase.FAILED,
      code: isAborted ? 'Aborted' : 'ObjectGone',
      message: isAborted
        ? 'aborted; the execution has no object in a cluster'
        : 'the object of the execution was deleted',
    });
    return 'wait';
  }

  async #delete(managed: ManagedExecution, object: ClusterObject): Promise<'wait'> {
    await this.#cluster(managed)?.delete(object);
    return 'wait';
  }

  async #release(managed: ManagedExecution, object: ClusterObject | undefined): Promise<'wait'> {
    if (object !== undefined) await this.#cluster(managed)?.removeFinalizer(object);
    return 'wait';
  }
}
