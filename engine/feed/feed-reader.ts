import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { durationMs } from '@bufbuild/protobuf/wkt';
import { type Client, type ClientDuplexStream, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { ExecutionSchema } from '../../proto/gen/platformidl/admin/execution_pb.js';
import {
  type WorkLaunch,
  type WorkLease,
  type WorkRenewed,
  WorkRequestSchema,
  type WorkResponse,
  WorkResponseSchema,
  type WorkUpdate,
} from '../../proto/gen/platformidl/eventlog/engine_work_pb.js';
import { ANSWER_DEPTH } from '../answer-depth.js';
import { type ActiveExecutions, executionKey } from '../active-executions.js';
import { type ControlPlane, openChannel } from '../control-plane.js';
import { ExecutionLost } from '../execution-lost.js';
import { type EngineLogger } from '../options.js';
import { pause } from '../pace.js';
import { type Poller } from '../poller.js';
import { type WorkerPool } from '../worker-pool.js';

export type FeedReaderOptions = {
  readonly plane: ControlPlane;
  readonly group: string;
  readonly name: string;
  readonly workers: WorkerPool;
  readonly active: ActiveExecutions;
  /** Number of executions to walk at a time, without those that wait for a child or a gate. */
  readonly capacity: number;
  /** Ends when there is no work for this engine, nor for others that it could take over from. */
  readonly untilIdle: boolean;
  readonly signal: AbortSignal;
  readonly logger: EngineLogger;
};

type Message = NonNullable<MessageInitShape<typeof WorkRequestSchema>['message']>;
type Stream = ClientDuplexStream<Buffer, Buffer>;

const PATH = '/platformidl.eventlog.EngineService/Work';
const RECONNECT_MS = 200;
/** Time limit, in milliseconds, of the server's end of a stream that the engine leaves; then the engine cancels it. */
const LEAVE_MS = 5_000;
/**
 * The interval of checks of the held leases, for executions whose walk has failed and for free capacity, and with
 * `untilIdle` for other work.
 */
const CHECK_MS = 250;
/** Number of answers in a row without other work after which the engine is idle: the server's list may lag. */
const QUIET_ANSWERS_UNTIL_IDLE = 2;
/** Statuses of a broken stream that is opened again without a warning. */
const BROKEN: ReadonlySet<status> = new Set([status.UNAVAILABLE, status.CANCELLED, status.ABORTED]);
const asIs = (bytes: Buffer): Buffer => bytes;

/** Gets executions from the engine feed, in place of polls. */
export class FeedReader implements Poller {
  readonly #options: FeedReaderOptions;
  readonly #leases = new Map<string, WorkLease>();
  /** The positions of the leases in the log. */
  readonly #positions = new Map<string, string>();
  #stream: Stream | undefined;
  #session = '';
  /** The free capacity that the server knows of: what was last sent, less the launches since. */
  #sentFree = 0;
  /** The activity of the workers when the server was last asked for other work; `undefined` when they had work then. */
  #activityWhenAsked: number | undefined;
  #quietAnswers = 0;

  constructor(options: FeedReaderOptions) {
    this.#options = options;
  }

  hurry(): void {
    const free = this.#free();
    if (free === this.#sentFree) return;
    this.#sentFree = free;
    this.#send({ case: 'places', value: { free } });
  }

  /** Only reports free capacity: the feed sends new work without a request. */
  wake(): void {
    this.hurry();
  }

  leasedAt(key: string): string | undefined {
    return this.#positions.get(key);
  }

  async run(): Promise<'idle' | 'stopped'> {
    const { plane, signal } = this.#options;
    const client = openChannel(plane, { 'grpc.max_reconnect_backoff_ms': 500 });
    while (!signal.aborted && !this.#isIdle()) {
      await this.#stay(client);
      if (!this.#isIdle()) await pause(RECONNECT_MS, signal).catch(() => undefined); // the loop checks the signal
    }
    client.close();
    return this.#isIdle() ? 'idle' : 'stopped';
  }

  #isIdle(): boolean {
    return this.#quietAnswers >= QUIET_ANSWERS_UNTIL_IDLE;
  }

  /** Keeps one stream until it ends. */
  #stay(client: Client): Promise<void> {
    const { signal, logger } = this.#options;
    const stream = client.makeBidiStreamRequest(PATH, asIs, asIs, new Metadata());
    this.#stream = stream;
    let beat: NodeJS.Timeout | undefined;
    let cancel: NodeJS.Timeout | undefined;
    const check = setInterval(() => this.#checkLeases(), CHECK_MS);
    const leave = (): void => {
      this.#send({ case: 'leave', value: {} });
      stream.end();
      cancel ??= setTimeout(() => stream.cancel(), LEAVE_MS);
    };
    signal.addEventListener('abort', leave, { once: true });
    stream.on('data', (bytes: Buffer) => {
      const { message } = fromBinary(WorkResponseSchema, bytes, { recursionLimit: ANSWER_DEPTH });
      if (message.case === 'joined') {
        const { heartbeatInterval } = message.value;
        beat = setInterval(() => this.#beat(), heartbeatInterval ? durationMs(heartbeatInterval) : 1_000);
      }
      this.#take(message);
      if (this.#isIdle()) leave();
    });
    stream.on('error', (error: ServiceError) => {
      // A stream that has joined ends with its token; the next one has another.
      const isBroken = BROKEN.has(error.code) || (beat !== undefined && error.code === status.UNAUTHENTICATED);
      if (!signal.aborted && !isBroken) logger.warn({ err: error }, 'the engine feed has refused the engine; retrying');
    });
    this.#join();
    return new Promise((resolve) => {
      stream.on('status', () => {
        clearInterval(beat);
        clearInterval(check);
        clearTimeout(cancel);
        signal.removeEventListener('abort', leave);
        this.#stream = undefined;
        resolve();
      });
    });
  }

  #join(): void {
    const { group, name } = this.#options;
    const leases = [...this.#leases.values()];
    this.#sentFree = this.#free();
    const value = { group, engine: name, session: this.#session, leases, freePlaces: this.#sentFree };
    this.#send({ case: 'join', value });
  }

  #take(message: WorkResponse['message']): void {
    if (message.case === 'joined') this.#joined(message.value.session, message.value.leases);
    else if (message.case === 'launch') this.#launch(message.value);
    else if (message.case === 'abort') this.#abort(message.value.lease, message.value.cause);
    else if (message.case === 'update') this.#update(message.value);
    else if (message.case === 'renewed') this.#renewed(message.value);
  }

  #joined(session: string, kept: readonly WorkLease[]): void {
    this.#session = session;
    this.#leases.clear();
    for (const lease of kept) this.#leases.set(executionKey(lease.execution), lease);
    for (const key of this.#positions.keys())
      if (!this.#leases.has(key)) this.#lose(key, new ExecutionLost('fenced', 'the lease has ended'));
  }

  #update({ lease, change }: WorkUpdate): void {
    const lost =
      change.case === 'lost'
        ? new ExecutionLost('fenced', change.value.cause)
        : new ExecutionLost('ended', 'the execution has ended');
    this.#lose(executionKey(lease?.execution), lost);
  }

  #lose(key: string, lost: ExecutionLost): void {
    this.#leases.delete(key);
    this.#positions.delete(key);
    this.#options.workers.lose(key, lost);
  }

  #launch({ lease, abort, position, spec }: WorkLaunch): void {
    if (lease?.execution === undefined) return;
    this.#leases.set(executionKey(lease.execution), lease);
    this.#positions.set(executionKey(lease.execution), position);
    this.#sentFree -= 1;
    this.#send({ case: 'accept', value: { lease } });
    if (abort) this.#abort(lease, abort.cause);
    else this.#walk(lease, spec);
  }

  /** Queues the walk of a leased execution. `spec` names its parent execution, which is woken when this one ends. */
  #walk({ execution: id }: WorkLease, spec?: WorkLaunch['spec']): void {
    const { workers } = this.#options;
    workers.offer(create(ExecutionSchema, { ...(id && { id }), ...(spec && { spec }) }));
    workers.fill();
  }

  #abort(lease: WorkLease | undefined, cause: string): void {
    if (lease?.execution === undefined) return;
    const outputResult = { case: 'abortMetadata', value: { cause } } as const;
    this.#options.workers.abort(create(ExecutionSchema, { id: lease.execution, closure: { outputResult } }));
  }

  /**
   * Returns the leases of executions that were given up, and queues each other one without a running walk: it has
   * failed, or waits for capacity. Then it states the free capacity and, where the engine is to end without work, asks
   * for other work.
   */
  #checkLeases(): void {
    const { active, untilIdle, workers } = this.#options;
    for (const [key, lease] of this.#leases) {
      const reason = workers.givenUpFor(key);
      if (reason !== undefined) this.#return(key, lease, reason);
      else if (!active.all.has(key)) this.#walk(lease);
    }
    this.hurry();
    if (untilIdle && this.#hasNoWork()) this.#beat();
  }

  /** Returns a lease, so that another engine can continue the execution. */
  #return(key: string, lease: WorkLease, reason: string): void {
    this.#leases.delete(key);
    this.#positions.delete(key);
    this.#send({ case: 'return', value: { lease, reason } });
  }

  /** Renews the leases, and asks whether there is other work where the engine is to end without it. */
  #beat(): void {
    const { untilIdle, workers } = this.#options;
    if (untilIdle) this.#activityWhenAsked = this.#hasNoWork() ? workers.activity() : undefined;
    this.#send({ case: 'heartbeat', value: { askOtherWork: untilIdle } });
  }

  /** An answer counts when nothing has happened since the last question. */
  #renewed({ hasOtherWork = true }: WorkRenewed): void {
    const { untilIdle, workers } = this.#options;
    if (!untilIdle) return;
    const isQuiet = !hasOtherWork && this.#hasNoWork() && this.#activityWhenAsked === workers.activity();
    this.#quietAnswers = isQuiet ? this.#quietAnswers + 1 : 0;
  }

  /** True when all executions of this engine, if any, wait for a gate or a child execution. */
  #hasNoWork(): boolean {
    const { active, workers } = this.#options;
    return active.busy() === 0 && workers.pending() === 0;
  }

  #free(): number {
    const { active, capacity, workers } = this.#options;
    return Math.max(0, capacity - active.busy() - workers.pending());
  }

  #send(message: Message): void {
    const bytes = toBinary(WorkRequestSchema, create(WorkRequestSchema, { message }));
    if (this.#stream?.writable === true) this.#stream.write(Buffer.from(bytes));
  }
}
