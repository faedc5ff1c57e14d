/** Entities that filters can name: the name that precedes a field, and the short name used in messages. */
const SHORT_NAMES: ReadonlyMap<string, string> = new Map([
  ['task', 't'],
  ['workflow', 'w'],
  ['launch_plan', 'l'],
  ['execution', 'e'],
  ['node_execution', 'ne'],
  ['task_execution', 'te'],
  ['entities', 'nen'],
  ['named_entity_metadata', 'nem'],
  ['project', 'p'],
  ['signal', 's'],
  ['admin_tag', 'at'],
  ['execution_admin_tag', 'eat'],
  ['execution_tag', 'et'],
]);

/** The other entities that the filters of a list may name. */
const JOINABLE: Readonly<Record<string, readonly string[]>> = {
  execution: ['launch_plan', 'workflow', 'task', 'admin_tag', 'execution_tag'],
  launch_plan: ['workflow'],
  node_execution: ['execution'],
  task_execution: ['task', 'execution', 'node_execution'],
  entities: ['named_entity_metadata'],
};

/** The short name of an entity in messages; `undefined` for an unknown name. */
export const shortNameOf = (word: string): string | undefined => SHORT_NAMES.get(word);

/** True when the filters of a list of `entity` may name `other`. */
export const isJoinable = (entity: string, other: string): boolean => JOINABLE[entity]?.includes(other) ?? false;
