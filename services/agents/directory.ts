/** One agent server, as the configuration names it. */
export type Agent = {
  /** What answers and logs call it. */
  readonly name: string;
  /** `host:port`. */
  readonly endpoint: string;
  /** Whether it is called over TLS. */
  readonly tls: boolean;
  /** The package of the service names that it serves. */
  readonly package: 'flyteidl' | 'platformidl';
  /** How long one answer may take, in milliseconds. */
  readonly timeout: number;
  /** How long a stream of answers may take, in milliseconds. */
  readonly stream_timeout: number;
  /** What it runs; an empty list is whatever no other agent runs. */
  readonly task_types: readonly TaskType[];
};

/** A type of tasks; in all its versions where none is given. */
export type TaskType = { readonly name: string; readonly version?: number | undefined };

/** A type of tasks in one version. */
export type TaskCategory = { readonly name: string; readonly version: number };

/** How well an agent suits: the exact version before the type in any version, before whatever nobody else runs. */
const suits = ({ task_types: types }: Agent, { name, version }: TaskCategory): number => {
  if (types.length === 0) return 1;
  const named = types.filter((each) => each.name === name);
  if (named.some((each) => each.version === version)) return 3;
  return named.some((each) => each.version === undefined) ? 2 : 0;
};

/**
 * Chooses who runs a category of tasks; the first in the configuration where several suit as well.
 *
 * @returns `undefined` when nobody does.
 */
export const agentFor = (agents: readonly Agent[], category: TaskCategory): Agent | undefined => {
  const best = Math.max(0, ...agents.map((agent) => suits(agent, category)));
  return best === 0 ? undefined : agents.find((agent) => suits(agent, category) === best);
};
