import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { ListPage } from './list-query.js';

/** Field numbers that all list messages have: the elements, and the token of the next page. */
const ELEMENTS = 1;
const TOKEN = 2;

/** Encodes the list message of a page without decoding any element. An empty token is left out. */
export const listMessage = ({ elements, token }: ListPage): Uint8Array => {
  const writer = new BinaryWriter();
  for (const each of elements) writer.tag(ELEMENTS, WireType.LengthDelimited).bytes(each);
  if (token !== '') writer.tag(TOKEN, WireType.LengthDelimited).string(token);
  return writer.finish();
};
