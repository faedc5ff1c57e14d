import {
  type DescMethod,
  fromJson,
  getOption,
  hasOption,
  ScalarType,
  type JsonObject,
  type JsonValue,
  toBinary,
} from '@bufbuild/protobuf';

import { http } from '../../../proto/gen/google/api/annotations_pb.js';
import type { Requirement } from '../../../services/gateway/dispatch/requirement.js';
import { fieldPath } from '../../../services/gateway/field-path.js';

/** The project, domain and name of the request's target, such as an execution or a launch plan. */
type Target = { readonly project: string; readonly domain: string; readonly name: string };

const FIELD = /\{([^}=]+)[^}]*\}/gu;

/** The fields in the path of an RPC's main HTTP binding; none for an RPC without a binding. */
const boundFields = (method: DescMethod): readonly string[] => {
  if (!hasOption(method, http)) return [];
  const { pattern } = getOption(method, http);
  return typeof pattern.value === 'string' ? Array.from(pattern.value.matchAll(FIELD), ([, field = '']) => field) : [];
};

/** Sets the field at a path, and makes the messages on the way. */
const put = (target: JsonObject, [key = '', ...rest]: readonly string[], value: JsonValue): void => {
  if (rest.length === 0) {
    target[key] = value;
    return;
  }
  const inner = (target[key] ??= {}) as JsonObject;
  put(inner, rest, value);
};

/** A value of the field's type; the caller replaces it where the field is part of the target. */
const anyValue = (method: DescMethod, path: string): JsonValue => {
  const field = fieldPath(method.input, path)?.at(-1);
  if (field?.fieldKind === 'enum') return field.enum.values[1]?.number ?? 0;
  if (field?.scalar === ScalarType.BYTES) return 'eHh4'; // Base64 of `xxx`
  return field?.scalar === ScalarType.STRING ? 'x' : 1;
};

/**
 * The smallest request of an RPC that names this target, and has every field of its REST path, as bytes; made from the
 * descriptors, so that a new RPC has one by itself.
 */
export const requestNaming = (method: DescMethod, { target }: Requirement, named: Target): Uint8Array => {
  const message: JsonObject = {};
  for (const path of boundFields(method)) put(message, path.split('.'), anyValue(method, path));
  for (const [part, path] of Object.entries(target)) put(message, path.split('.'), named[part as keyof Target]);
  return toBinary(method.input, fromJson(method.input, message));
};
