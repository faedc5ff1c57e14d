import type { JsonObject, JsonValue } from '@bufbuild/protobuf';

export const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The containers of a pod, init containers last; `undefined` when the specification is not that of a pod. */
export const podContainers = (podSpec: JsonObject): readonly JsonObject[] | undefined => {
  const lists = ['containers', 'initContainers'].map((key) => podSpec[key] ?? []);
  const containers = lists.flat();
  return lists.every((list) => Array.isArray(list)) && containers.every(isObject) ? containers : undefined;
};
