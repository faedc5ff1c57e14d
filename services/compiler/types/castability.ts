import {
  type BlobType,
  type LiteralType,
  type SchemaType,
  SchemaType_SchemaColumn_SchemaColumnType as ColumnType,
  SimpleType,
  type StructuredDatasetType,
} from '../../../proto/gen/platformidl/core/types_pb.js';
import { offersFieldsOf } from './json-schema.js';
import { innerOf, isSimple, variantsOf } from './types.js';
import * as types from './types.js';

/** The results of one castability check so far, and the number of comparisons left. */
type Comparison = { readonly known: Map<LiteralType, Map<LiteralType, boolean>>; left: number };

/**
 * The most comparisons of one check: enough for two unions of some hundred variants each. Larger types do not occur in
 * practice and are not castable.
 */
const MAX_COMPARISONS = 200_000;

type Column = { readonly name: string; readonly type: LiteralType };

const COLUMN_TYPES: Readonly<Record<ColumnType, LiteralType>> = {
  [ColumnType.INTEGER]: types.INTEGER,
  [ColumnType.FLOAT]: types.FLOAT,
  [ColumnType.STRING]: types.STRING,
  [ColumnType.BOOLEAN]: types.BOOLEAN,
  [ColumnType.DATETIME]: types.DATETIME,
  [ColumnType.DURATION]: types.DURATION,
};

const schemaColumns = ({ columns }: SchemaType): readonly Column[] =>
  columns.map(({ name, type }) => ({ name, type: (COLUMN_TYPES[type] as LiteralType | undefined) ?? types.NONE }));

const datasetColumns = ({ columns }: StructuredDatasetType): readonly Column[] =>
  columns.map(({ name, literalType }) => ({ name, type: literalType ?? types.NONE }));

/** Columns that are not declared are not checked. */
const columnsCast = (from: readonly Column[], to: readonly Column[], comparison: Comparison): boolean => {
  if (from.length === 0 || to.length === 0) return true;
  const byName = new Map(from.map(({ name, type }) => [name, type]));
  return to.every(({ name, type }) => {
    const given = byName.get(name);
    return given !== undefined && cast(given, type, comparison);
  });
};

/** True for the format of schemas: a dataset and a schema can be cast to each other only when the dataset uses it. */
const isParquet = (format: string): boolean => format === '' || format.toLowerCase() === 'parquet';

const sameFormat = (a: string, b: string): boolean => a === '' || b === '' || a.toLowerCase() === b.toLowerCase();

const toSchema = ({ type }: LiteralType, to: SchemaType, comparison: Comparison): boolean => {
  if (type.case === 'schema') return columnsCast(schemaColumns(type.value), schemaColumns(to), comparison);
  if (type.case !== 'structuredDatasetType') return false;
  return isParquet(type.value.format) && columnsCast(datasetColumns(type.value), schemaColumns(to), comparison);
};

const toDataset = (from: LiteralType, to: StructuredDatasetType, comparison: Comparison): boolean => {
  const { type } = from;
  if (type.case === 'schema')
    return isParquet(to.format) && columnsCast(schemaColumns(type.value), datasetColumns(to), comparison);
  if (type.case !== 'structuredDatasetType') return isSimple(from, SimpleType.NONE);
  const { format } = type.value;
  return sameFormat(format, to.format) && columnsCast(datasetColumns(type.value), datasetColumns(to), comparison);
};

/** An empty literal has no element type and fits every container of its kind. */
const toContainer = (from: LiteralType, to: LiteralType, comparison: Comparison): boolean => {
  const kind = to.type.case === 'collectionType' ? 'collectionType' : 'mapValueType';
  const [given, wanted] = [innerOf(from, kind), innerOf(to, kind)];
  if (given === undefined || wanted === undefined) return false;
  return isSimple(given, SimpleType.NONE) || cast(given, wanted, comparison);
};

const toUnion = (from: LiteralType, to: readonly LiteralType[], comparison: Comparison): boolean => {
  const variants = variantsOf(from);
  if (variants)
    return variants.length > 0 && variants.every((each) => to.some((variant) => cast(each, variant, comparison)));
  return to.filter((variant) => cast(from, variant, comparison)).length === 1;
};

const structsCast = (from: LiteralType, to: LiteralType): boolean =>
  from.metadata === undefined || to.metadata === undefined || offersFieldsOf(from.metadata, to.metadata);

const sameValues = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((value, index) => value === b[index]);

/** Of two types of one kind, one with a tag fits only one with the same tag. */
const tagFits = (from: LiteralType, to: LiteralType): boolean =>
  (from.structure?.tag ?? '') === '' || from.structure?.tag === to.structure?.tag;

/** Compares simple types and enums. */
const toSame = (from: LiteralType, to: LiteralType): boolean => {
  const [a, b] = [from.type, to.type];
  if (!tagFits(from, to)) return false;
  if (a.case === 'enumType' && b.case === 'enumType') return sameValues(a.value.values, b.value.values);
  if (a.case !== 'simple' || b.case !== 'simple' || a.value !== b.value) return false;
  return a.value !== SimpleType.STRUCT || structsCast(from, to);
};

const toSimple = (from: LiteralType, to: LiteralType): boolean => {
  if (isSimple(to, SimpleType.NONE)) return isSimple(from, SimpleType.NONE);
  return (isSimple(to, SimpleType.STRING) && from.type.case === 'enumType') || toSame(from, to);
};

const toEnum = (from: LiteralType, to: LiteralType): boolean => isSimple(from, SimpleType.STRING) || toSame(from, to);

/** The dimensionality is not compared: a task that takes a folder also accepts a file. */
const toBlob = ({ type }: LiteralType, { format }: BlobType): boolean =>
  type.case === 'blob' && (type.value.format === '' || format === '' || type.value.format === format);

const byKind = (from: LiteralType, to: LiteralType, comparison: Comparison): boolean => {
  const { type } = to;
  switch (type.case) {
    case 'collectionType':
    case 'mapValueType':
      return toContainer(from, to, comparison);
    case 'unionType':
      return toUnion(from, type.value.variants, comparison);
    case 'blob':
      return toBlob(from, type.value);
    case 'schema':
      return toSchema(from, type.value, comparison);
    case 'structuredDatasetType':
      return toDataset(from, type.value, comparison);
    case 'enumType':
      return toEnum(from, to);
    default:
      return type.case === undefined ? from.type.case === undefined : toSimple(from, to);
  }
};

/** A value of a union belongs to one of its variants, so every variant must fit. */
const fromUnion = (variants: readonly LiteralType[], to: LiteralType, comparison: Comparison): boolean =>
  variants.length > 0 && variants.every((variant) => cast(variant, to, comparison));

const compare = (from: LiteralType, to: LiteralType, comparison: Comparison): boolean => {
  const variants = variantsOf(from);
  if (variants && (variants.length === 1 || to.type.case !== 'unionType') && fromUnion(variants, to, comparison))
    return true;
  return byKind(from, to, comparison);
};

/** Caches results, because nested unions compare the same pairs many times. */
const cast = (from: LiteralType, to: LiteralType, comparison: Comparison): boolean => {
  const known = comparison.known.get(from)?.get(to);
  if (known !== undefined) return known;
  comparison.left -= 1;
  if (comparison.left < 0) return false;
  const result = compare(from, to, comparison);
  const results = comparison.known.get(from) ?? new Map<LiteralType, boolean>();
  comparison.known.set(from, results.set(to, result));
  return result;
};

/** True when a value of the type `upstream` can be given where `downstream` is expected. */
export const isCastable = (upstream: LiteralType, downstream: LiteralType): boolean =>
  compare(upstream, downstream, { known: new Map(), left: MAX_COMPARISONS });
