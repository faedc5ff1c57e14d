import type { DescMessage, MessageShape } from '@bufbuild/protobuf';

import { canonicalBytes } from './canonical.js';
import { sha256 } from './hash.js';

/** SHA-256 of a message in canonical form, 32 bytes: the same for the same content, whatever the order of its maps. */
export const digestOf = <Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): Uint8Array =>
  sha256(canonicalBytes(schema, message));

/** True when both digests have the same bytes. */
export const isSameDigest = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, index) => byte === b[index]);
