import { RpcError } from '../kernel/rpc.js';

/** A parsed `flyte://` URL, which names data of a node or task of an execution. */
export type DataAddress = {
  readonly project: string;
  readonly domain: string;
  readonly execution: string;
  readonly node: string;
  /** The attempt of the node's task; absent when the URL names data of the node itself. */
  readonly attempt?: number;
  /** Inputs, outputs, or the deck (an HTML page that a task has written). */
  readonly part: 'i' | 'o' | 'd';
  /** The name of one input or output; absent when all of them are meant. */
  readonly name?: string;
};

const PREFIX = 'flyte://v1/';
const ADDRESS =
  /^flyte:\/\/v1\/(?<run>[\w-]+(?:\/[\w-]+){3})(?:\/(?<digits>\d+))?\/(?:(?<whole>[iod])|(?<of>[io])\/(?<name>[\w-]+))$/u;
const MAX_ATTEMPT = 2 ** 32 - 1;
/** The longest address that is accepted, in characters; real addresses are shorter. */
const MAX_LENGTH = 2_048;
const MAX_SHOWN = 200;

/** Refuses a request. The texts are those of flyteadmin where it has one: clients show what they are used to. */
const refuse = (reason: string): RpcError => new RpcError('INVALID_ARGUMENT', reason);

type Part = DataAddress['part'];

const attemptOf = (digits: string | undefined, part: Part): number | undefined => {
  if (digits === undefined) return undefined;
  const attempt = Number(digits);
  if (attempt > MAX_ATTEMPT) throw refuse('invalid value for flyte_url: there is no such attempt');
  if (part === 'd') throw refuse('invalid value for flyte_url: deck type cannot be specified with a retry attempt');
  return attempt;
};

type Parts = Readonly<Record<string, string | undefined>>;

const partsOf = (url: string): Parts => {
  if (!url.startsWith(PREFIX)) {
    throw refuse(`failed to validate resolve artifact request: flyte_url has to begin with ${PREFIX}`);
  }
  const found = url.length > MAX_LENGTH ? undefined : ADDRESS.exec(url)?.groups;
  if (found) return found;
  throw refuse(`failed to parse artifact url: invalid value for flyte_url: ${url.slice(0, MAX_SHOWN)}`);
};

/**
 * Parses `flyte://v1/project/domain/execution/node[/attempt]/(i|o|d)` and `…/(i|o)/name`. A number after the node is an
 * attempt.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming `flyte_url`.
 */
export const dataAddress = (url: string): DataAddress => {
  const { run = '', digits, whole, of, name } = partsOf(url);
  const [project = '', domain = '', execution = '', node = ''] = run.split('/');
  const part = (whole ?? of) as Part;
  const attempt = attemptOf(digits, part);
  return {
    ...{ project, domain, execution, node, part },
    ...(attempt !== undefined && { attempt }),
    ...(name !== undefined && { name }),
  };
};
