import { isUtf8 } from 'node:buffer';

import { type DescMessage, fromBinary, type MessageShape, toBinary } from '@bufbuild/protobuf';

import { StatusSchema } from '../../../proto/gen/google/rpc/status_pb.js';
import { ANSWER_DEPTH } from '../../kernel/encoding/answer-depth.js';
import { type Answer, RpcError } from '../../kernel/rpc.js';
import { decode } from '../decode.js';
import { encodeAnswer } from '../exchange.js';
import { readJson, withoutShortcut, writeJson } from './json.js';
import type { Endpoint } from '../routes.js';
import { OWN_PACKAGE, rpcStatus } from '../rpc-status.js';
import type { RpcFailure } from '../status.js';

/** One encoding of requests and answers over HTTP. */
export type Dialect = {
  readonly mediaType: string;
  readonly isText: boolean;
  /** @throws {RpcError} INVALID_ARGUMENT when the body cannot be parsed. */
  readonly read: (endpoint: Endpoint, body: Buffer) => MessageShape<DescMessage>;
  readonly write: (type: DescMessage, answer: Answer<DescMessage>) => Buffer;
  readonly writeFailure: (failure: RpcFailure) => Buffer;
};

const textOf = (body: Buffer): string => {
  if (!isUtf8(body)) throw new RpcError('INVALID_ARGUMENT', 'malformed JSON: the body is not valid UTF-8');
  return body.toString();
};

const json = (strict: boolean, spelling: 'name' | 'jsonName'): Dialect => ({
  mediaType: 'application/json',
  isText: true,
  read: ({ method }, body) => readJson(method.input, withoutShortcut(method, textOf(body)), strict),
  write: (type, answer) => {
    const message = answer instanceof Uint8Array ? fromBinary(type, answer, { recursionLimit: ANSWER_DEPTH }) : answer;
    return Buffer.from(writeJson(type, message, spelling));
  },
  writeFailure: (failure) => Buffer.from(writeJson(StatusSchema, rpcStatus(failure, OWN_PACKAGE), spelling)),
});

/** Protobuf JSON in snake_case; unknown names in a request are refused. */
export const STRICT_JSON = json(true, 'name');

/** Protobuf JSON in lowerCamelCase; unknown names in a request are ignored. */
export const LENIENT_JSON = json(false, 'jsonName');

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Protobuf bytes, under one of the two media types that clients use for them. */
const binary = (mediaType: string): Dialect => ({
  mediaType,
  isText: false,
  read: ({ method }, body) => decode(method.input, body),
  write: (type, answer) => asBuffer(encodeAnswer(type, answer)),
  writeFailure: (failure) => asBuffer(toBinary(StatusSchema, rpcStatus(failure, OWN_PACKAGE))),
});

const byMediaType = new Map(
  [STRICT_JSON, binary('application/octet-stream'), binary('application/x-protobuf')].map((dialect) => [
    dialect.mediaType,
    dialect,
  ]),
);

const exact = (mediaType = ''): Dialect | undefined => byMediaType.get(mediaType);

/** Selects the dialect of a request body by its media type, without parameters; lenient JSON for unknown ones. */
export const requestDialect = (contentType: string | undefined): Dialect =>
  exact(contentType?.split(';', 1)[0]?.trim().toLowerCase()) ?? LENIENT_JSON;

/** Selects the dialect of an answer by the exact value of `Accept` (lists are not parsed); else that of the request. */
export const answerDialect = (accept: string | undefined, request: Dialect): Dialect => exact(accept) ?? request;
