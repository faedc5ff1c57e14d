import type { JsonObject, JsonValue } from '@bufbuild/protobuf';

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const patched = (known: JsonValue | undefined, patch: JsonValue): JsonValue =>
  isObject(patch) ? mergePatch(isObject(known) ? known : {}, patch) : patch;

/** Merges a patch into an object as RFC 7396 has it: objects recursively, null removes, all else replaces. */
export const mergePatch = (known: JsonObject, patch: JsonObject): JsonObject => {
  const merged = new Map(Object.entries(known));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, patched(merged.get(key), value));
  }
  // Own properties all, so that no key of an engine's can reach a prototype.
  return Object.fromEntries(merged);
};
