import type { JsonObject, JsonValue } from '@bufbuild/protobuf';

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const patched = (known: JsonValue | undefined, patch: JsonValue): JsonValue =>
  isObject(patch) ? mergePatch(isObject(known) ? known : {}, patch) : patch;

/**
 * Merges a patch into an object by RFC 7396: objects are merged recursively, null removes a key, any other value
 * replaces.
 */
export const mergePatch = (known: JsonObject, patch: JsonObject): JsonObject => {
  const merged = new Map(Object.entries(known));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, patched(merged.get(key), value));
  }
  // Creates own properties only, so that no key sent by an engine can reach a prototype.
  return Object.fromEntries(merged);
};
