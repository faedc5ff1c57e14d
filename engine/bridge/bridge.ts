import { durationMs } from '@bufbuild/protobuf/wkt';
import {
  type WorkAbort,
  type WorkAnswer,
  type WorkJoined,
  type WorkLaunch,
  type WorkLease,
  type WorkResponse,
  type WorkUpdate,
} from '../../proto/gen/platformidl/eventlog/engine_work_pb.js';
import { EngineStopped } from '../call-error.js';
import { type InterfaceClient } from '../client.js';
import { type ControlPlane } from '../control-plane.js';
import { type EngineLogger } from '../options.js';
import { pause } from '../pace.js';
import { backoffMs } from './backoff.js';
import { type DesiredState } from './decide.js';
import { stateOf } from './end-report.js';
import { executionKey } from '../active-executions.js';
import { executionIdentifier, type ManagedExecution, managedExecutionOf } from './execution-table.js';
import { createKeyedQueue } from './keyed-queue.js';
import { Reconciler, type ReconcilerOptions, type Rejection } from './reconciler.js';
import { openWorkStream, type WorkRequestMessage, type WorkStream } from './work-stream.js';

export type BridgeOptions = Omit<ReconcilerOptions, 'send' | 'logger' | 'client'> & {
  readonly plane: ControlPlane;
  /** The group of engines among which the control plane divides executions. */
  readonly group: string;
  /** The name of the bridge, unique in its group. */
  readonly engine: string;
  readonly scopes: readonly { readonly project: string; readonly domain: string }[];
  /** Maximum number of executions at a time. */
  readonly capacity: number;
  /** Maximum number of objects that are worked on at a time. */
  readonly concurrency: number;
  /** The time for which the object of a finished execution is kept. */
  readonly keepFinishedMs: number;
};

/** Observes a bridge, for metrics. */
export interface BridgeWatch {
  /** The bridge has joined a work stream, or a stream has ended, also one that it could not join. */
  joined(isJoined: boolean): void;
  /** A step for an execution has failed and is retried. */
  stepFailed(): void;
  /** A launch was rejected: `others` when another engine may take it, otherwise the code of its error. */
  rejected(reason: string): void;
  /** Called once, with a function that counts the executions of the bridge by what the control plane wants of them. */
  counts(read: () => Readonly<Record<DesiredState, number>>): void;
}

type BridgeNeeds = {
  readonly client: InterfaceClient;
  readonly logger: EngineLogger;
  readonly signal: AbortSignal;
  readonly watch?: BridgeWatch;
};

/** The interval of checks of an object that this process has no lease for. */
const STRAY_CHECK_MS = 600_000;
/** The interval of checks of an execution that is to be aborted, or whose object is no longer kept. */
const RECHECK_MS = 30_000;

const rejectionOf = ({ then }: Rejection): string => (then?.case === 'fail' ? (then.value.code ?? '') : 'others');

/** The bridge between the work stream of the control plane and the clusters. */
class Bridge {
  readonly #options: BridgeOptions;
  readonly #needs: BridgeNeeds;
  readonly #managed = new Map<string, ManagedExecution>();
  /** The clusters of objects that this process has no lease for, by the key of their execution. */
  readonly #strays = new Map<string, string>();
  readonly #queue;
  readonly #reconciler: Reconciler;
  #session = '';
  #joins = 0;
  #stream: WorkStream | undefined;
  #heartbeat: NodeJS.Timeout | undefined;

  constructor(options: BridgeOptions, needs: BridgeNeeds) {
    this.#options = options;
    this.#needs = needs;
    this.#reconciler = new Reconciler({ ...options, ...needs, send: (message) => this.#send(message) });
    this.#queue = createKeyedQueue({
      concurrency: options.concurrency,
      work: (key) => this.#work(key),
      onFailure: (execution, err, failures) => {
        needs.watch?.stepFailed();
        needs.logger.warn({ execution, err, failures }, 'a step of the bridge has failed and is retried');
      },
    });
    needs.watch?.counts(() => this.#counts());
  }

  async run(): Promise<void> {
    const { signal } = this.#needs;
    const following = this.#options.clusters.map(({ cluster }) =>
      cluster.follow((object) => this.#onObject(executionKey(object), cluster.name), signal),
    );
    const isStopped = (): boolean => signal.aborted;
    for (let failures = 0; !isStopped();) {
      const joins = this.#joins;
      const reason = await this.#joinOnce();
      if (isStopped()) break;
      failures = this.#joins > joins ? 0 : failures + 1;
      this.#needs.logger.warn({ reason }, 'the work stream has ended; joining again');
      await pause(backoffMs(failures), signal).catch((error: unknown) => {
        if (!(error instanceof EngineStopped)) throw error;
      });
    }
    this.#queue.close();
    await Promise.all(following);
  }

  async #joinOnce(): Promise<string> {
    const { signal } = this.#needs;
    const stream = openWorkStream(this.#options.plane, (message) => this.#onMessage(message));
    const stop = (): void => stream.close();
    signal.addEventListener('abort', stop, { once: true });
    this.#stream = stream;
    stream.send({ case: 'join', value: this.#joining() });
    const reason = await stream.ended;
    this.#needs.watch?.joined(false);
    clearInterval(this.#heartbeat);
    signal.removeEventListener('abort', stop);
    this.#stream = undefined;
    return reason;
  }

  #joining(): Extract<WorkRequestMessage, { case: 'join' }>['value'] {
    const { group, engine, producerId, clusters, scopes } = this.#options;
    const labels = clusters.flatMap((each) => each.labels);
    return {
      group,
      engine,
      producerId,
      session: this.#session,
      leases: this.#leased().flatMap(({ lease }) => (lease ? [lease] : [])),
      labels: { clusterLabels: [...new Set(labels)], scopes: [...scopes] },
      freePlaces: this.#free(),
    };
  }

  #leased(): readonly ManagedExecution[] {
    return [...this.#managed.values()].filter(({ aim }) => aim !== 'over');
  }

  #free(): number {
    return Math.max(0, this.#options.capacity - this.#leased().length);
  }

  #counts(): Readonly<Record<DesiredState, number>> {
    const counts = { run: 0, abort: 0, over: 0 };
    for (const { aim } of this.#managed.values()) counts[aim] += 1;
    return counts;
  }

  #send(message: WorkRequestMessage): void {
    if (message.case === 'reject') this.#needs.watch?.rejected(rejectionOf(message.value));
    this.#stream?.send(message);
  }

  #find(lease: WorkLease | undefined): ManagedExecution | undefined {
    const found = lease?.execution && this.#managed.get(executionKey(lease.execution));
    return found?.lease?.number === lease?.number ? found : undefined;
  }

  #onMessage({ message }: WorkResponse): void {
    if (message.case === 'joined') this.#onJoined(message.value);
    if (message.case === 'launch') this.#onLaunch(message.value);
    if (message.case === 'abort') this.#onAbort(message.value);
    if (message.case === 'update') this.#onUpdate(message.value);
    if (message.case === 'answer') this.#onAnswer(message.value);
  }

  #onJoined({ session, heartbeatInterval, leases }: WorkJoined): void {
    this.#session = session;
    this.#joins += 1;
    this.#needs.watch?.joined(true);
    const everyMs = Math.max(100, heartbeatInterval ? durationMs(heartbeatInterval) : 1_000);
    clearInterval(this.#heartbeat);
    this.#heartbeat = setInterval(() => this.#send({ case: 'heartbeat', value: {} }), everyMs);
    const held = new Set(
      leases.flatMap(({ execution, number }) => (execution ? [`${executionKey(execution)}#${number}`] : [])),
    );
    for (const managed of this.#leased()) {
      const key = executionKey(managed.id);
      if (!held.has(`${key}#${managed.lease?.number}`)) this.#drop(managed);
      else if (managed.accepted === 'sent') managed.accepted = 'no';
      this.#queue.add(key);
    }
    this.#sendPlaces();
    this.#needs.logger.info({ leases: leases.length }, 'joined');
  }

  #onLaunch(work: WorkLaunch): void {
    const { lease } = work;
    if (lease?.execution === undefined) return;
    const key = executionKey(lease.execution);
    const cluster = this.#managed.get(key)?.cluster ?? this.#strays.get(key) ?? '';
    this.#strays.delete(key);
    this.#managed.set(key, { ...managedExecutionOf(work, lease, lease.execution), cluster });
    this.#queue.add(key);
  }

  #onAbort({ lease }: WorkAbort): void {
    const managed = this.#find(lease);
    if (managed?.aim !== 'run') return;
    managed.aim = 'abort';
    this.#queue.add(executionKey(managed.id));
  }

  #onUpdate({ lease, change }: WorkUpdate): void {
    const managed = this.#find(lease);
    if (managed === undefined) return;
    if (change.case === 'ended') this.#keep(managed);
    else this.#drop(managed);
    this.#sendPlaces();
  }

  #onAnswer({ lease, code, message }: WorkAnswer): void {
    const managed = this.#find(lease);
    if (managed === undefined) return;
    if (code === 0) {
      managed.accepted = 'yes';
      return;
    }
    this.#needs.logger.warn({ execution: managed.id.name, code, message }, 'lease lost');
    this.#drop(managed);
    this.#sendPlaces();
  }

  /** Keeps the object of a finished execution for a while, so that people can inspect it. */
  #keep(managed: ManagedExecution): void {
    managed.keptUntilMs = performance.now() + this.#options.keepFinishedMs;
    managed.aim = 'over';
    this.#queue.addAfter(executionKey(managed.id), this.#options.keepFinishedMs);
  }

  /** Forgets an execution but not its object: the execution may be offered to this bridge again. */
  #drop({ id, cluster }: ManagedExecution): void {
    this.#managed.delete(executionKey(id));
    this.#addStray(executionKey(id), cluster);
  }

  #addStray(key: string, cluster: string): void {
    this.#strays.set(key, cluster);
    this.#queue.add(key);
  }

  /** Has an object without a lease in this process deleted after `keepFinishedMs`, if its execution has ended. */
  async #checkStray(key: string): Promise<void> {
    const id = executionIdentifier(key);
    const state = await stateOf(this.#needs.client, id);
    const cluster = this.#strays.get(key);
    if (this.#managed.has(key) || cluster === undefined) return;
    // A control plane that does not know the execution may know it later, as when it is restored from a backup.
    if (state !== 'over') {
      this.#queue.addAfter(key, STRAY_CHECK_MS);
      return;
    }
    const stray: ManagedExecution = { id, cluster, aim: 'run', accepted: 'no', keptUntilMs: 0 };
    this.#managed.set(key, stray);
    this.#keep(stray);
  }

  #sendPlaces(): void {
    this.#send({ case: 'places', value: { free: this.#free() } });
  }

  #onObject(key: string, cluster: string): void {
    if (this.#managed.has(key)) this.#queue.add(key);
    else if (!this.#strays.has(key)) this.#addStray(key, cluster);
  }

  async #work(key: string): Promise<void> {
    const managed = this.#managed.get(key);
    if (managed === undefined) return this.#checkStray(key);
    if ((await this.#reconciler.reconcile(managed)) === 'wait') {
      const keptMs = managed.keptUntilMs - performance.now();
      if (managed.aim !== 'run') this.#queue.addAfter(key, keptMs > 0 ? keptMs : RECHECK_MS);
      return;
    }
    if (this.#managed.get(key) === managed) this.#managed.delete(key);
    this.#strays.delete(key);
    this.#sendPlaces();
  }
}

/** Runs a bridge until the signal; objects and leases then stay as they are. */
export const runBridge = (options: BridgeOptions, needs: BridgeNeeds): Promise<void> =>
  new Bridge(options, needs).run();
