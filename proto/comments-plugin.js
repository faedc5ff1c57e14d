// A plugin of the generator: writes the comments of the interface's proto files to `comments.ts`, for the OpenAPI
// document. Generated code keeps comments only where no program can read them.
import { readFileSync } from 'node:fs';

import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  CodeGeneratorRequestSchema,
  CodeGeneratorResponse_Feature as Feature,
  CodeGeneratorResponseSchema,
} from '@bufbuild/protobuf/wkt';

// Field numbers of the descriptor's own messages, as source paths name them:
// https://protobuf.dev/reference/protobuf/google.protobuf/#descriptor
const INSIDE_FILE = { 4: 'messageType', 5: 'enumType', 6: 'service' };
const INSIDE_MESSAGE = { 2: 'field', 3: 'nestedType', 4: 'enumType', 8: 'oneofDecl' };
const INSIDE = {
  file: INSIDE_FILE,
  messageType: INSIDE_MESSAGE,
  nestedType: INSIDE_MESSAGE,
  enumType: { 2: 'value' },
  service: { 2: 'method' },
};

/** The full name of what a source path points at; `undefined` for what has no name. */
const nameAt = (file, path) => {
  let at = file;
  let kind = 'file';
  const names = [file.package];
  for (let i = 0; i < path.length; i += 2) {
    const list = INSIDE[kind]?.[path[i]];
    const next = list === undefined ? undefined : at[list][path[i + 1]];
    if (next === undefined) return undefined;
    names.push(next.name);
    at = next;
    kind = list;
  }
  return names.length > 1 ? names.join('.') : undefined;
};

const textOf = ({ leadingComments, trailingComments }) =>
  [leadingComments, trailingComments]
    .flatMap((text) => (text ? [text.replace(/^ /gm, '').trim()] : []))
    .filter((text) => text !== '')
    .join('\n\n');

const commentsOf = (file) =>
  (file.sourceCodeInfo?.location ?? []).flatMap((location) => {
    const name = nameAt(file, location.path);
    const text = textOf(location);
    return name === undefined || text === '' ? [] : [[name, text]];
  });

const request = fromBinary(CodeGeneratorRequestSchema, readFileSync(0));
const isShown = ({ package: packageName, service }) =>
  /^platformidl\.(admin|core|event|service)$/.test(packageName) || service.length > 0;
const files = request.protoFile.filter(isShown);
const entries = files.flatMap(commentsOf).sort(([a], [b]) => (a < b ? -1 : 1));
const content = [
  '// Generated from the comments of the proto files. Do not edit.',
  '',
  '/** What the proto files say of each message, field, enum, value, service and RPC, by its full name. */',
  `export const comments: Readonly<Record<string, string>> = ${JSON.stringify(Object.fromEntries(entries), null, 2)};`,
  '',
].join('\n');
const response = create(CodeGeneratorResponseSchema, {
  supportedFeatures: BigInt(Feature.PROTO3_OPTIONAL),
  file: [{ name: 'comments.ts', content }],
});
process.stdout.write(toBinary(CodeGeneratorResponseSchema, response));
