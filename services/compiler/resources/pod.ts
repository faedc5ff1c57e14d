import type { JsonObject, JsonValue } from '@bufbuild/protobuf';

export const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Kubernetes reads null as an absent field. */
const isObjectOrAbsent = (value: JsonValue | undefined): boolean =>
  value === undefined || value === null || isObject(value);

const isContainer = (value: JsonValue): value is JsonObject => {
  if (!isObject(value)) return false;
  const { resources } = value;
  if (!isObject(resources)) return isObjectOrAbsent(resources);
  return isObjectOrAbsent(resources['requests']) && isObjectOrAbsent(resources['limits']);
};

/** The containers of a pod, init containers last; `undefined` when the specification is not that of a pod. */
export const podContainers = (podSpec: JsonObject): readonly JsonObject[] | undefined => {
  const lists = ['containers', 'initContainers'].map((key) => podSpec[key] ?? []);
  const containers = lists.flat();
  return lists.every((list) => Array.isArray(list)) && containers.every(isContainer) ? containers : undefined;
};
