import { type DescMessage, isMessage } from '@bufbuild/protobuf';

import { UserInfoResponseSchema } from '../../../proto/gen/platformidl/service/identity_pb.js';
import type { Answer } from '../../kernel/rpc.js';

/**
 * The most that these headers have together, in bytes with their names: clients and proxies refuse responses with more
 * than 8 to 16 KiB of headers, and the claims of a token may list hundreds of groups.
 */
const MAX_BYTES = 4_096;

const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/u;
// oxlint-disable-next-line no-control-regex -- control characters would end the header, or the response
const CONTROL = /[\0-\x1f\x7f]/u;

/** The UTF-8 bytes of a text, each as one character, which is how Node sends them unchanged. */
const headerBytes = (text: string): string => Buffer.from(text).toString('latin1');

/**
 * The headers that a proxy reads about the caller, from the answer of UserInfo: `x-user-subject`, and
 * `x-user-claim-NAME` for each additional claim, as JSON in UTF-8. Leaves out an empty subject, what is no valid
 * header, and each claim for which those before it leave too little of the size limit; empty for other answers.
 */
export const userHeaders = (answer: Answer<DescMessage>): Readonly<Record<string, string>> => {
  if (answer instanceof Uint8Array || !isMessage(answer, UserInfoResponseSchema)) return {};
  const { subject, additionalClaims = {} } = answer;
  const claims = Object.entries(additionalClaims).map(
    ([name, value]) => [`x-user-claim-${name.replaceAll('_', '-').toLowerCase()}`, JSON.stringify(value)] as const,
  );
  const headers: Record<string, string> = {};
  let left = MAX_BYTES;
  for (const [name, text] of [['x-user-subject', subject] as const, ...claims]) {
    const value = headerBytes(text);
    const isHeader = HEADER_NAME.test(name) && value !== '' && !CONTROL.test(value);
    if (!isHeader || name.length + value.length > left) continue;
    headers[name] = value;
    left -= name.length + value.length;
  }
  return headers;
};
