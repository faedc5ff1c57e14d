import { WorkflowExecution_Phase as Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import { type InterfaceClient } from '../client.js';
import { type EngineLogger } from '../options.js';
import { chosenCluster, type ClusterChoice } from './cluster-choice.js';
import { type Cluster, ObjectRefused, type ClusterObject } from './cluster/cluster.js';
import { nextStep, type ObjectState, type Situation, type Step } from './decide.js';
import { reportEnd } from './end-report.js';
import { isStarted, type ManagedExecution } from './execution-table.js';
import { launchIdOf, launchOfWork } from './launch-of-work.js';
import { UnfitLaunch } from './object/go-json.js';
import { FINALIZER, namespaceOf } from './object/metadata.js';
import { offloaded, type Offloads } from './offload.js';
import { type ObjectOptions, workflowObject } from './object/workflow-object.js';
import { type WorkMessage } from './work-stream.js';

/** The rejection of a launch. */
export type Rejection = Extract<WorkMessage, { case: 'reject' }>['value'];

export type ReconcilerOptions = {
  readonly client: InterfaceClient;
  readonly clusters: readonly (ClusterChoice & { readonly cluster: Cluster })[];
  readonly object: ObjectOptions;
  /** Stores large contents for the engines; without it they are always in the object. */
  readonly offloads?: Offloads;
  readonly producerId: string;
  /** The time after its deletion at which an object counts as abandoned; 0 is never. */
  readonly finalizerGraceMs: number;
  readonly logger: EngineLogger;
  readonly send: (message: WorkMessage) => void;
};

/** The outcome of a step: the object as read now, a wait for a change, or the end of the management of an execution. */
type Outcome = Sight | 'wait' | 'forget';
type Sight = { readonly seen: ObjectState; readonly object?: ClusterObject };

const labelOf = ({ work }: ManagedExecution): string => work?.settings?.clusterLabel?.value ?? '';

/** Reconciles the objects of executions with the control plane. */
export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #steps: Readonly<Record<Step, (tended: ManagedExecution, last: Sight) => Promise<Outcome> | Outcome>> = {
    look: (tended) => this.#look(tended),
    create: (tended) => this.#create(tended),
    accept: (tended, { seen }) => this.#accept(tended, seen),
    'pass-on': (tended) => this.#passOn(tended, 'another engine has begun it'),
    refuse: (tended) => this.#refuse(tended, 'NameTaken', 'another object in the cluster has its name and namespace'),
    end: (tended) => this.#end(tended),
    delete: async (tended, { object }) => this.#delete(tended, object ?? (await this.#look(tended)).object),
    release: (tended, { object }) => this.#release(tended, object),
    wait: () => 'wait',
    forget: () => 'forget',
  };

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  /** Takes steps until none is possible now; `forget` when the execution needs no further ones. */
  async tend(tended: ManagedExecution): Promise<'wait' | 'forget'> {
    tended.cluster ||= chosenCluster(this.#options.clusters, labelOf(tended), tended.id.name) ?? '';
    let outcome: Outcome = { seen: 'unknown' };
    while (typeof outcome === 'object') {
      const step: Step = nextStep(this.#situation(tended, outcome.seen));
      this.#options.logger.debug({ execution: tended.id.name, seen: outcome.seen, step }, 'next step');
      outcome = await this.#steps[step](tended, outcome);
    }
    return outcome;
  }

  #situation(tended: ManagedExecution, seen: ObjectState): Situation {
    return {
      aim: tended.aim,
      seen,
      isAccepted: tended.accepted !== 'no',
      isFirstLease: tended.lease?.number === 1n,
      isStarted: isStarted(tended.work),
      isKept: tended.keptUntilMs > Date.now(),
    };
  }

  #cluster({ cluster: name }: ManagedExecution): Cluster | undefined {
    return this.#options.clusters.find((each) => each.name === name)?.cluster;
  }

  #seen({ work }: ManagedExecution, object: ClusterObject): ObjectState {
    if (work !== undefined && object.launchId !== launchIdOf(work)) return 'foreign';
    if (object.deletedAtMs === undefined) return 'standing';
    const { finalizerGraceMs } = this.#options;
    const isHeld = finalizerGraceMs > 0 && object.finalizers.includes(FINALIZER);
    return isHeld && Date.now() - object.deletedAtMs > finalizerGraceMs ? 'abandoned' : 'deleting';
  }

  /** Reads the object from the cluster of the execution, then from the others, because weights and labels may have changed. */
  async #look(tended: ManagedExecution): Promise<Sight> {
    const place = { namespace: namespaceOf(this.#options.object.namespaceTemplate, tended.id), name: tended.id.name };
    const own = this.#cluster(tended);
    const others = this.#options.clusters.map(({ cluster }) => cluster).filter((each) => each !== own);
    for (const cluster of own === undefined ? others : [own, ...others]) {
      const object = await cluster.find(place);
      if (object === undefined) continue;
      tended.cluster = cluster.name;
      return { seen: this.#seen(tended, object), object };
    }
    return { seen: 'absent' };
  }

  async #create(tended: ManagedExecution): Promise<Outcome> {
    const cluster = this.#cluster(tended);
    if (cluster === undefined || tended.work === undefined) return this.#passOn(tended, 'no cluster takes its label');
    const launch = await launchOfWork(tended.work, tended.id, this.#options.client);
    const { object, offloads } = this.#options;
    try {
      const whole = workflowObject(launch, object);
      const answer = await cluster.create(offloads ? await offloaded(whole, launch, offloads) : whole);
      return answer === 'created' ? { seen: 'standing' } : await this.#look(tended);
    } catch (error) {
      if (!(error instanceof UnfitLaunch || error instanceof ObjectRefused)) throw error;
      return this.#refuse(tended, 'ObjectRefused', `no object can be made of the launch: ${error.message}`);
    }
  }

  #accept(tended: ManagedExecution, seen: ObjectState): Sight {
    tended.accepted = 'sent';
    this.#options.send({ case: 'accept', value: tended.lease ? { lease: tended.lease } : {} });
    return { seen };
  }

  #passOn(tended: ManagedExecution, reason: string): 'forget' {
    return this.#reject(tended, reason, { case: 'offerToOthers', value: true });
  }

  #refuse(tended: ManagedExecution, code: string, message: string): 'forget' {
    return this.#reject(tended, message, { case: 'fail', value: { code, message } });
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

  async #delete(tended: ManagedExecution, object: ClusterObject | undefined): Promise<'wait'> {
    if (object !== undefined) await this.#cluster(tended)?.delete(object);
    return 'wait';
  }

  async #release(tended: ManagedExecution, object: ClusterObject | undefined): Promise<'wait'> {
    if (object !== undefined) await this.#cluster(tended)?.removeFinalizer(object);
    return 'wait';
  }
}
