import { type DescField, type DescMethod, getOption, hasOption } from '@bufbuild/protobuf';

import { http } from '../../../proto/gen/google/api/annotations_pb.js';
import type { HttpRule } from '../../../proto/gen/google/api/http_pb.js';
import { fieldPath } from '../field-path.js';
import type { Endpoint, RouteTable } from '../routes.js';

/** A path segment: a literal word, or the request field whose value it is. */
type Segment = string | readonly DescField[];

/** One HTTP verb and path by which an RPC can be called. */
export type RouteBinding = {
  readonly endpoint: Endpoint;
  /** In upper case. */
  readonly verb: string;
  /** As in the proto files: `/api/v1/tasks/{id.project}/…`. */
  readonly template: string;
  readonly segments: readonly Segment[];
  /** True when the body gives the fields that the path does not; otherwise the query does. */
  readonly hasBody: boolean;
};

/** The value of a request field in the path. */
export type PathValue = { readonly field: readonly DescField[]; readonly value: string };

/** A binding that a path matches, with the values in the path. */
export type BindingMatch = { readonly binding: RouteBinding; readonly values: readonly PathValue[] };

/** Finds bindings by path. */
export interface Bindings {
  /** Finds all bindings of a path, for any verb, the last declared first; empty when there is none. */
  find(path: string): readonly BindingMatch[];
}

const segment = (method: DescMethod, text: string): Segment => {
  const name = /^\{([\w.]+)(?:=\*)?\}$/.exec(text)?.[1];
  if (name === undefined && !/[{}*]/.test(text)) return text;
  const field = name === undefined ? undefined : fieldPath(method.input, name);
  if (!field) throw new Error(`the HTTP binding of ${method.parent.name}.${method.name} has no field for ${text}`);
  return field;
};

const bindingsOf = (endpoint: Endpoint, rule: HttpRule): RouteBinding[] => {
  const { case: verb, value: template } = rule.pattern;
  const { method, name } = endpoint;
  if (verb === undefined || verb === 'custom') throw new Error(`the HTTP binding of ${name} has no path`);
  if (rule.body !== '' && rule.body !== '*') throw new Error(`the HTTP binding of ${name} has a body of one field`);
  const segments = template.split('/').map((text) => segment(method, text));
  const binding = { endpoint, verb: verb.toUpperCase(), template, segments, hasBody: rule.body === '*' };
  return [binding, ...rule.additionalBindings.flatMap((further) => bindingsOf(endpoint, further))];
};

/**
 * Reads all HTTP bindings from the descriptors, in the order of declaration.
 *
 * @throws {Error} when a binding is of a form that is not supported.
 */
export const readBindings = (routes: RouteTable): readonly RouteBinding[] =>
  routes.flatMap((endpoint) =>
    hasOption(endpoint.method, http) ? bindingsOf(endpoint, getOption(endpoint.method, http)) : [],
  );

const match = (binding: RouteBinding, parts: readonly string[]): BindingMatch | undefined => {
  const values: PathValue[] = [];
  for (const [i, expected] of binding.segments.entries()) {
    const value = parts[i] ?? '';
    if (typeof expected !== 'string') values.push({ field: expected, value });
    else if (expected !== value) return undefined;
  }
  return { binding, values };
};

/** Makes the lookup table of bindings. Callers percent-decode the path as a whole before a lookup. */
export const bindingTable = (bindings: readonly RouteBinding[]): Bindings => {
  const byLength = new Map<number, RouteBinding[]>();
  for (const binding of [...bindings].reverse()) {
    const { length } = binding.segments;
    byLength.set(length, [...(byLength.get(length) ?? []), binding]);
  }
  return {
    find: (path) => {
      const parts = path.split('/');
      return (byLength.get(parts.length) ?? []).flatMap((binding) => match(binding, parts) ?? []);
    },
  };
};
