import type { DescField, DescMessage, MessageShape } from '@bufbuild/protobuf';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';

import { fieldPath } from '../field-path.js';
import type { Target } from './requirement.js';

/** A request in the form that its handler takes: the decoded message, or its encoded bytes. */
export type ReceivedRequest = MessageShape<DescMessage> | Uint8Array;

/** The resource that a request names; a field is empty where the request does not name it or cannot be decoded. */
export type FoundTarget = { readonly project: string; readonly domain: string; readonly name: string };

/** Reads the resource that a request names; a stream, which has no one request, names none. */
export type ReadTarget = (request: ReceivedRequest | undefined) => FoundTarget;

type Path = readonly DescField[];

type Members = Readonly<Record<string, unknown>>;

/** The value of a field; a member of a oneof is below the name of the oneof. */
const memberOf = (message: Members | undefined, { localName, oneof }: DescField): unknown => {
  if (oneof === undefined) return message?.[localName];
  const chosen = message?.[oneof.localName] as { readonly case?: string; readonly value?: unknown } | undefined;
  return chosen?.case === localName ? chosen.value : undefined;
};

const inMessage = (request: object, path: Path): string => {
  let value: unknown = request;
  for (const field of path) value = memberOf(value as Members | undefined, field);
  return typeof value === 'string' ? value : '';
};

/** Merges repeated occurrences as protobuf decoding does: the last value counts, over all copies of its parents. */
const inBytes = (reader: BinaryReader, end: number, path: Path, found = ''): string => {
  let last = found;
  while (reader.pos < end) {
    const [number, wireType] = reader.tag();
    if (number !== path[0]?.number || wireType !== WireType.LengthDelimited) reader.skip(wireType, number);
    else if (path.length === 1) last = reader.string();
    else last = inBytes(reader, reader.uint32() + reader.pos, path.slice(1), last);
  }
  return last;
};

const valueAt = (request: ReceivedRequest | undefined, path: Path): string => {
  if (path.length === 0 || request === undefined) return '';
  if (!(request instanceof Uint8Array)) return inMessage(request, path);
  try {
    return inBytes(new BinaryReader(request), request.length, path);
  } catch {
    return ''; // large requests are not validated before their handler runs
  }
};

const resolve = (input: DescMessage, path: string | undefined): Path => {
  if (path === undefined) return [];
  const fields = fieldPath(input, path);
  if (!fields) throw new Error(`${input.name} has no field ${path}`);
  return fields;
};

/**
 * Makes a reader of the resource that requests of a type name. It takes the decoded message or, on the hot path, its
 * bytes.
 *
 * @throws {Error} when the type does not have the fields.
 */
export const targetReader = (input: DescMessage, { project, domain, name }: Target): ReadTarget => {
  const paths = { project: resolve(input, project), domain: resolve(input, domain), name: resolve(input, name) };
  return (request) => ({
    project: valueAt(request, paths.project),
    domain: valueAt(request, paths.domain),
    name: valueAt(request, paths.name),
  });
};
