import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type Literal,
  LiteralSchema,
  type PrimitiveSchema,
  type Scalar,
  type ScalarSchema,
} from '../../../proto/gen/platformidl/core/literals_pb.js';

/** Literals by variable name. */
export type Literals = Readonly<Record<string, Literal>>;

export const scalar = (value: MessageInitShape<typeof ScalarSchema>['value'] & object): Literal =>
  create(LiteralSchema, { value: { case: 'scalar', value: { value } } });

export const ofScalar = (value: Scalar): Literal => create(LiteralSchema, { value: { case: 'scalar', value } });

export const primitive = (value: MessageInitShape<typeof PrimitiveSchema>['value'] & object): Literal =>
  scalar({ case: 'primitive', value: { value } });

export const collection = (literals: Literal[]): Literal =>
  create(LiteralSchema, { value: { case: 'collection', value: { literals } } });

export const mapLiteral = (literals: Literals): Literal =>
  create(LiteralSchema, { value: { case: 'map', value: { literals: { ...literals } } } });

export const noneLiteral = (): Literal => scalar({ case: 'noneType', value: {} });

/** The literal of bytes that are encoded as MessagePack. */
export const packed = (value: Uint8Array): Literal => scalar({ case: 'binary', value: { value, tag: 'msgpack' } });

/** The value inside a union; other literals are returned unchanged. */
export const withoutUnion = (literal: Literal): Literal => {
  const inner = literal.value.case === 'scalar' ? literal.value.value.value : undefined;
  return inner?.case === 'union' && inner.value.value ? withoutUnion(inner.value.value) : literal;
};

/** The elements of a collection; empty for other literals. */
export const literalElements = (literal: Literal | undefined): readonly Literal[] =>
  literal?.value.case === 'collection' ? literal.value.value.literals : [];
