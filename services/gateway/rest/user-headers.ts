import { type DescMessage, isMessage } from '@bufbuild/protobuf';

import { UserInfoResponseSchema } from '../../../proto/gen/platformidl/service/identity_pb.js';
import type { Answer } from '../../kernel/rpc.js';

/** Clients refuse responses with more than 8 to 16 KiB of headers; a claim may list hundreds of groups. */
const MAX_HEADER_BYTES = 4_096;

const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/u;
// oxlint-disable-next-line no-control-regex -- control characters would end the header, or the response
const CONTROL = /[\0-\x1f\x7f]/u;

/** The UTF-8 bytes of a text, each as one character, which is how Node sends them unchanged. */
const headerBytes = (text: string): string => Buffer.from(text).toString('latin1');

/**
 * The headers that a proxy reads about the caller, from the answer of UserInfo: `x-user-subject`, and `x-user-claim-NAME`
 * for each additional claim, as JSON in UTF-8. Leaves out what is empty, too long, or no valid header; empty for other
 * answers.
 */
export const userHeaders = (answer: Answer<DescMessage>): Readonly<Record<string, string>> => {
  if (answer instanceof Uint8Array || !isMessage(answer, UserInfoResponseSchema)) return {};
  const { subject, additionalClaims = {} } = answer;
  const claims = Object.entries(additionalClaims).map(([name, value]) => [
    `x-user-claim-${name.replaceAll('_', '-').toLowerCase()}`,
    JSON.stringify(value),
  ]);
  return Object.fromEntries(
    [['x-user-subject', subject], ...claims]
      .map(([name = '', value = '']) => [name, headerBytes(value)] as const)
      .filter(([name, value]) => HEADER_NAME.test(name) && value !== '' && !CONTROL.test(value))
      .filter(([, value]) => value.length <= MAX_HEADER_BYTES),
  );
};
