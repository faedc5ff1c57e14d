import { create } from '@bufbuild/protobuf';

import type { Literal, Primitive, Scalar } from '../../../proto/gen/platformidl/core/literals_pb.js';
import {
  BlobTypeSchema,
  type LiteralType,
  LiteralTypeSchema,
  SchemaTypeSchema,
  SimpleType,
  StructuredDatasetTypeSchema,
} from '../../../proto/gen/platformidl/core/types_pb.js';
import { canonicalBytes } from '../../kernel/encoding/canonical.js';
import { hexText } from '../../kernel/encoding/id-text.js';
import * as types from './types.js';

const PRIMITIVES: Readonly<Record<NonNullable<Primitive['value']['case']>, LiteralType>> = {
  integer: types.INTEGER,
  floatValue: types.FLOAT,
  stringValue: types.STRING,
  boolean: types.BOOLEAN,
  datetime: types.DATETIME,
  duration: types.DURATION,
};

/** The type of a primitive; `undefined` when it has no value. */
export const typeOfPrimitive = ({ value }: Primitive): LiteralType | undefined =>
  value.case === undefined ? undefined : PRIMITIVES[value.case];

/** The type of a scalar that declares its own. Absent parts of it mean "any", as on the wire. */
const declaredType = ({ value }: Scalar): LiteralType['type'] | undefined => {
  switch (value.case) {
    case 'blob':
      return { case: 'blob', value: value.value.metadata?.type ?? create(BlobTypeSchema) };
    case 'schema':
      return { case: 'schema', value: value.value.type ?? create(SchemaTypeSchema) };
    case 'structuredDataset': {
      const type = value.value.metadata?.structuredDatasetType;
      return { case: 'structuredDatasetType', value: type ?? create(StructuredDatasetTypeSchema) };
    }
    default:
      return undefined;
  }
};

/**
 * The type of a scalar; `undefined` when it has no value, or is a union without its type. The type of a union has only
 * the variant that the value was stored with.
 */
export const typeOfScalar = (scalar: Scalar): LiteralType | undefined => {
  const { value } = scalar;
  switch (value.case) {
    case 'primitive':
      return typeOfPrimitive(value.value);
    case 'noneType':
      return types.NONE;
    case 'error':
      return types.ERROR;
    case 'generic':
      return types.STRUCT;
    case 'binary':
      return value.value.tag === 'msgpack' ? types.STRUCT : types.BINARY;
    case 'union':
      return value.value.type && types.unionOf([value.value.type]);
    default: {
      const type = declaredType(scalar);
      return type && create(LiteralTypeSchema, { type });
    }
  }
};

/** A key that is equal for equal types, whatever the order of their maps, and gives types a stable order. */
const typeKey = (type: LiteralType): string =>
  type.type.case === 'simple' && type.structure === undefined && type.metadata === undefined
    ? String(type.type.value)
    : hexText(canonicalBytes(LiteralTypeSchema, type));

/** True for an empty list or a list of empty lists: their type does not tell the type of elements. */
const isEmptyCollection = (type: LiteralType): boolean => {
  const inner = types.innerOf(type, 'collectionType');
  return inner !== undefined && (types.isSimple(inner, SimpleType.NONE) || isEmptyCollection(inner));
};

/** Unifies lists when any of them is a list of a union: the result is one list of all variants. */
const flattened = (all: readonly LiteralType[]): LiteralType | undefined => {
  const inner = all.map((type) => types.innerOf(type, 'collectionType'));
  if (!inner.some((type) => type && types.variantsOf(type))) return undefined;
  if (inner.includes(undefined)) return undefined;
  return types.collectionOf(unified(inner.flatMap((type) => (type ? (types.variantsOf(type) ?? [type]) : []))));
};

/**
 * The common type of the elements of a list or map: NONE when there are none; when they differ, a union, or, for lists
 * of which one has a union, a list of a union.
 */
export const unified = (elements: readonly LiteralType[]): LiteralType => {
  const nonEmpty = elements.filter((type) => !isEmptyCollection(type));
  const distinct = new Map((nonEmpty.length > 0 ? nonEmpty : elements).map((type) => [typeKey(type), type]));
  const sorted = [...distinct].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, type]) => type);
  const [only] = sorted;
  if (only === undefined) return types.NONE;
  if (sorted.length === 1) return only;
  return flattened(sorted) ?? types.unionOf(sorted);
};

const unifiedOf = (literals: readonly Literal[]): LiteralType | undefined => {
  const all = literals.map(typeOfLiteral);
  const known = all.filter((type) => type !== undefined);
  return known.length === all.length ? unified(known) : undefined;
};

/** The type of a literal; `undefined` when the type of a part of it is not known. */
export const typeOfLiteral = ({ value }: Literal): LiteralType | undefined => {
  switch (value.case) {
    case 'scalar':
      return typeOfScalar(value.value);
    case 'collection': {
      const inner = unifiedOf(value.value.literals);
      return inner && types.collectionOf(inner);
    }
    case 'map': {
      const inner = unifiedOf(Object.values(value.value.literals));
      return inner && types.mapOf(inner);
    }
    case 'offloadedMetadata':
      return value.value.inferredType;
    default:
      return undefined;
  }
};
