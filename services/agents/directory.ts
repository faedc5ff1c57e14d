/** An agent server, from the settings. */
export type Agent = {
  /** The name in responses and logs. */
  readonly name: string;
  /** `host:port`. */
  readonly endpoint: string;
  /** True when it is called over TLS. */
  readonly tls: boolean;
  /** The package of the service names that it serves. */
  readonly package: 'flyteidl' | 'platformidl';
  /** The deadline of a unary call, in milliseconds. */
  readonly timeout: number;
  /** The deadline of a streaming call, in milliseconds. */
  readonly stream_timeout: number;
  /** The task types that it runs; an empty list means every type that no other agent runs. */
  readonly task_types: readonly TaskType[];
};

/** A task type; all of its versions when none is given. */
export type TaskType = { readonly name: string; readonly version?: number | undefined };

/** A task type in one version. */
export type TaskCategory = { readonly name: string; readonly version: number };

/**
 * The rank of an agent for a category: 3 for the exact version, 2 for the type in any version, 1 for an agent without a
 * list of types, 0 when it does not run the category.
 */
const rankOf = ({ task_types: types }: Agent, { name, version }: TaskCategory): number => {
  if (types.length === 0) return 1;
  const named = types.filter((each) => each.name === name);
  if (named.some((each) => each.version === version)) return 3;
  return named.some((each) => each.version === undefined) ? 2 : 0;
};

/**
 * Chooses the agent that runs a category of tasks: the one of the highest rank, and the first in the settings of
 * several.
 *
 * @returns `undefined` when no agent runs the category.
 */
export const agentFor = (agents: readonly Agent[], category: TaskCategory): Agent | undefined => {
  const best = Math.max(0, ...agents.map((agent) => rankOf(agent, category)));
  return best === 0 ? undefined : agents.find((agent) => rankOf(agent, category) === best);
};
