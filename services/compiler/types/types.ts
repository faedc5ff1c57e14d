import { create } from '@bufbuild/protobuf';

import type { VariableMap } from '../../../proto/gen/platformidl/core/interface_pb.js';
import {
  type LiteralType,
  LiteralTypeSchema,
  SimpleType,
  UnionTypeSchema,
} from '../../../proto/gen/platformidl/core/types_pb.js';

const simple = (value: SimpleType): LiteralType => create(LiteralTypeSchema, { type: { case: 'simple', value } });

/** Shared: types must not be changed. */
export const NONE = simple(SimpleType.NONE);
export const INTEGER = simple(SimpleType.INTEGER);
export const FLOAT = simple(SimpleType.FLOAT);
export const STRING = simple(SimpleType.STRING);
export const BOOLEAN = simple(SimpleType.BOOLEAN);
export const DATETIME = simple(SimpleType.DATETIME);
export const DURATION = simple(SimpleType.DURATION);
export const BINARY = simple(SimpleType.BINARY);
export const ERROR = simple(SimpleType.ERROR);
export const STRUCT = simple(SimpleType.STRUCT);

export const collectionOf = (value: LiteralType): LiteralType =>
  create(LiteralTypeSchema, { type: { case: 'collectionType', value } });

export const mapOf = (value: LiteralType): LiteralType =>
  create(LiteralTypeSchema, { type: { case: 'mapValueType', value } });

export const unionOf = (variants: LiteralType[]): LiteralType =>
  create(LiteralTypeSchema, { type: { case: 'unionType', value: create(UnionTypeSchema, { variants }) } });

export const isSimple = ({ type }: LiteralType, value: SimpleType): boolean =>
  type.case === 'simple' && type.value === value;

/** The element type of a collection or of a map, as `kind` asks; `undefined` for types of another kind. */
export const innerOf = ({ type }: LiteralType, kind: 'collectionType' | 'mapValueType'): LiteralType | undefined =>
  type.case === kind ? type.value : undefined;

export const variantsOf = ({ type }: LiteralType): readonly LiteralType[] | undefined =>
  type.case === 'unionType' ? type.value.variants : undefined;

const partsOf = ({ type }: LiteralType): readonly LiteralType[] => {
  if (type.case === 'collectionType' || type.case === 'mapValueType') return [type.value];
  return type.case === 'unionType' ? type.value.variants : [];
};

/**
 * Maximum number of types within a type, itself included. Lists of lists of promises grow from node to node; types
 * above this size do not occur in practice.
 */
const MAX_PARTS = 256;

/** True when a type has so many parts that comparing it would take long. */
export const hasManyParts = (type: LiteralType): boolean => {
  const parts = [type];
  for (const part of parts) {
    if (parts.length > MAX_PARTS) return true;
    parts.push(...partsOf(part).slice(0, MAX_PARTS));
  }
  return parts.length > MAX_PARTS;
};

/** True for a union with NONE: an input of such a type need not be bound. */
export const isOptional = (type: LiteralType): boolean =>
  variantsOf(type)?.some((variant) => isSimple(variant, SimpleType.NONE)) ?? false;

/**
 * The types of variables, by name. It is a Map, because the names come from clients and an object inherits property
 * names.
 */
export type Types = ReadonlyMap<string, LiteralType>;

export const typesOf = (variables: VariableMap | undefined): Types =>
  new Map(Object.entries(variables?.variables ?? {}).map(([name, { type }]) => [name, type ?? NONE]));
