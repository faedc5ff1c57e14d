import type { DescField, DescMessage, MessageShape } from '@bufbuild/protobuf';

import {
  type Cursor,
  DELIMITED,
  Malformed,
  readLength,
  readTag,
  skipValue,
  textAt,
} from '../../kernel/encoding/wire-cursor.js';
import { fieldPath } from '../field-path.js';
import type { TargetFields } from './requirement.js';

/** A request in the form that its handler takes: the decoded message, or its encoded bytes. */
export type ReceivedRequest = MessageShape<DescMessage> | Uint8Array;

/** The resource that a request names; a field is empty where the request does not name it or cannot be decoded. */
export type FoundTarget = {
  readonly project: string;
  readonly domain: string;
  readonly name: string;
  /** True for a request whose bytes cannot be read: it may name any resource. */
  readonly isUnreadable?: boolean;
};

/** Reads the resource that a request names; a stream of requests names none. */
export type ReadTarget = (request: ReceivedRequest | undefined) => FoundTarget;

type Part = 'project' | 'domain' | 'name';

/** The fields of a request that name its resource. All are in one message; `parents` is the path to that message. */
type NameFields = {
  readonly parents: readonly DescField[];
  readonly leaves: readonly (readonly [Part, DescField])[];
  /** The leaves by field number. */
  readonly parts: ReadonlyMap<number, Part>;
};

type Found = Record<Part, string>;

const NOTHING: FoundTarget = { project: '', domain: '', name: '' };

type Members = Readonly<Record<string, unknown>>;

/** The value of a field; a member of a oneof is below the name of the oneof. */
const memberOf = (message: Members | undefined, { localName, oneof }: DescField): unknown => {
  if (oneof === undefined) return message?.[localName];
  const chosen = message?.[oneof.localName] as { readonly case?: string; readonly value?: unknown } | undefined;
  return chosen?.case === localName ? chosen.value : undefined;
};

const inMessage = (request: object, { parents, leaves }: NameFields): FoundTarget => {
  const parent = parents.reduce<unknown>((message, field) => memberOf(message as Members | undefined, field), request);
  const found: Found = { ...NOTHING };
  for (const [part, field] of leaves) {
    const value = memberOf(parent as Members | undefined, field);
    if (typeof value === 'string') found[part] = value;
  }
  return found;
};

/** A walk over a message that collects the names. */
type Walk = Cursor & { readonly nameFields: NameFields; readonly found: Found };

/**
 * Finds the names. As in protobuf decoding, the last occurrence of a field wins, also when its parent message occurs
 * several times. `depth` counts the parent messages around the bytes up to `end`.
 */
const scan = (walk: Walk, end: number, depth = 0): void => {
  const parent = walk.nameFields.parents[depth];
  while (walk.pos < end) {
    const tag = readTag(walk, end);
    const number = (tag & 7) === DELIMITED ? tag >>> 3 : 0;
    const part = parent ? undefined : walk.nameFields.parts.get(number);
    if (parent?.number === number) scan(walk, readLength(walk, end), depth + 1);
    else if (part) {
      const stop = readLength(walk, end);
      walk.found[part] = textAt(walk.bytes, walk.pos, stop);
      walk.pos = stop;
    } else skipValue(walk, end, tag);
  }
};

const inBytes = (bytes: Uint8Array, nameFields: NameFields): FoundTarget => {
  const found: Found = { ...NOTHING };
  try {
    scan({ bytes, pos: 0, nameFields, found }, bytes.length);
    return found;
  } catch (error) {
    if (!(error instanceof Malformed)) throw error;
    return { ...NOTHING, isUnreadable: true }; // large requests are not validated before their handler runs
  }
};

const resolve = (input: DescMessage, path: string): readonly DescField[] => {
  const fields = fieldPath(input, path);
  if (!fields) throw new Error(`${input.name} has no field ${path}`);
  return fields;
};

const nameFieldsOf = (input: DescMessage, target: TargetFields): NameFields => {
  const paths = Object.entries(target).map(([part, path]) => [part as Part, resolve(input, path)] as const);
  const parents = paths[0]?.[1].slice(0, -1) ?? [];
  const leaves = paths.flatMap(([part, fields]) => fields.slice(-1).map((field) => [part, field] as const));
  for (const [part, fields] of paths)
    if (fields.slice(0, -1).some((field, at) => field !== parents[at]) || fields.length !== parents.length + 1)
      throw new Error(`${input.name} has its ${part} in another message than its other names`);
  return { parents, leaves, parts: new Map(leaves.map(([part, field]) => [field.number, part])) };
};

/**
 * Makes a function that finds the resource that a request of this message type names.
 *
 * @throws {Error} when the type does not have the fields, or not all in one message.
 */
export const targetReader = (input: DescMessage, target: TargetFields): ReadTarget => {
  const nameFields = nameFieldsOf(input, target);
  if (nameFields.leaves.length === 0) return () => NOTHING;
  return (request) => {
    if (request === undefined) return NOTHING;
    return request instanceof Uint8Array ? inBytes(request, nameFields) : inMessage(request, nameFields);
  };
};
