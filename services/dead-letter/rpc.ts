import { create } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';

import {
  DeadLetterAnswerSchema,
  type DeadLetterRequest,
  ListedDeadLetterSchema,
  type Reactor,
  ReactorListSchema,
  type ReactorListRequest,
  ReactorSchema,
  ReactorService,
} from '../../proto/gen/platformidl/eventlog/reactor_service_pb.js';
import { contextOf } from '../kernel/command-context.js';
import { StreamParked } from '../kernel/fault.js';
import type { Folded, Sessions } from '../kernel/ports/sessions.js';
import { type Call, invalid, missing, route, type Route, RpcError } from '../kernel/rpc.js';
import { deadLetterAggregate, letterMessage, MAX_DEAD_LETTERS } from './decider.js';
import { deadLetterStream } from './events.js';
import type { Reactors, RunningReactor } from './ports.js';
import type { DeadLetterState, OpenLetter } from './state.js';

export type DeadLetterServices = { readonly sessions: Sessions; readonly reactors: Reactors };

const DEFAULT_LIMIT = 100;

const limitOf = ({ limit }: ReactorListRequest): number => {
  if (limit > MAX_DEAD_LETTERS) throw invalid('limit', `${limit} is above ${MAX_DEAD_LETTERS}`);
  return limit || DEFAULT_LIMIT;
};

const toListedDeadLetter = (reactor: string, letter: OpenLetter) =>
  create(ListedDeadLetterSchema, { letter: letterMessage(reactor, letter), retrying: letter.isRetrying });

/** The open letters of a reactor, and why they cannot be read; empty where they can. */
type ReadLetters = { readonly letters: readonly OpenLetter[]; readonly problem: string };

const readLetters = async ({ sessions }: DeadLetterServices, name: string): Promise<ReadLetters> => {
  try {
    const openLetters = ({ state }: Folded<DeadLetterState>) => [...state.open.values()];
    return { letters: await sessions.read(deadLetterAggregate, deadLetterStream(name), openLetters), problem: '' };
  } catch (error) {
    if (!(error instanceof StreamParked)) throw error;
    return { letters: [], problem: `its dead letters cannot be read: ${error.message}` };
  }
};

const toReactor = async (
  services: DeadLetterServices,
  running: RunningReactor | undefined,
  name: string,
  request: ReactorListRequest,
): Promise<Reactor> => {
  const { letters, problem } = await readLetters(services, name);
  const page = letters
    .filter(({ position }) => position > request.after)
    .sort((a, b) => (a.position < b.position ? -1 : 1))
    .slice(0, limitOf(request));
  const { worker = '', waiting = 0, retrying = 0, lagMs = 0 } = running ?? {};
  return create(ReactorSchema, {
    ...{ name, worker, waiting, retrying, lag: durationFromMs(lagMs), dead: letters.length, problem },
    position: await services.reactors.position(name),
    muted: services.reactors.muted(name) ?? '',
    deadLetters: page.map((letter) => toListedDeadLetter(name, letter)),
  });
};

const list = async (services: DeadLetterServices, request: ReactorListRequest) => {
  limitOf(request); // throws before anything is read
  const running = new Map((await services.reactors.running()).map((each) => [each.name, each]));
  const names = [...new Set([...services.reactors.names, ...running.keys()])].sort();
  const wanted = names.filter((name) => request.reactor === '' || name === request.reactor);
  const reactors = wanted.map((name) => toReactor(services, running.get(name), name, request));
  return create(ReactorListSchema, { reactors: await Promise.all(reactors) });
};

/** Says what to do about dead letters that cannot be read. */
const unreadable = (reactor: string, error: unknown): never => {
  if (!(error instanceof StreamParked)) throw error;
  throw new RpcError(
    'UNAVAILABLE',
    `the dead letters of reactor ${reactor} cannot be read: ${error.message}. If a newer release wrote the event, ` +
      `upgrade this server; otherwise remove the cause, then run \`flightlog parked-stream retry ${error.stream}\``,
  );
};

const decideDeadLetter = async (
  { sessions }: DeadLetterServices,
  type: 'RetryDeadLetter' | 'SkipDeadLetter',
  { reactor, position }: DeadLetterRequest,
  call: Call,
) => {
  if (reactor === '') throw missing('reactor');
  if (position === 0n) throw missing('position');
  const command = { type, reactor, position };
  const outcome = await sessions
    .handle(deadLetterAggregate, deadLetterStream(reactor), command, contextOf(call))
    .catch((error: unknown) => unreadable(reactor, error));
  call.answeredAt(outcome.position);
  if (outcome.kind === 'refused')
    throw new RpcError('NOT_FOUND', `reactor ${reactor} has no dead letter at position ${position.toString()}`);
  return create(DeadLetterAnswerSchema);
};

/** The routes of the reactors and their dead letters. */
export const deadLetterRoutes = (services: DeadLetterServices): readonly Route[] => [
  route(ReactorService.method.listReactors, (request) => list(services, request)),
  route(ReactorService.method.retryDeadLetter, (request, call) =>
    decideDeadLetter(services, 'RetryDeadLetter', request, call),
  ),
  route(ReactorService.method.skipDeadLetter, (request, call) =>
    decideDeadLetter(services, 'SkipDeadLetter', request, call),
  ),
];
