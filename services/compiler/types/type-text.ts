import {
  BlobType_BlobDimensionality as Dimensionality,
  type LiteralType,
  SimpleType,
} from '../../../proto/gen/platformidl/core/types_pb.js';

/**
 * The bounds of a type's text. Types come from clients and can be as large as a message, so an error gives only their
 * outline.
 */
const MAX_ITEMS = 8;
const MAX_DEPTH = 4;

type Cases = { [Each in LiteralType['type'] as NonNullable<Each['case']>]: Each['value'] };

const list = <Item>(items: readonly Item[], text: (item: Item) => string): string => {
  const shown = items.slice(0, MAX_ITEMS).map(text);
  return [...shown, ...(items.length > MAX_ITEMS ? ['…'] : [])].join(', ');
};

const clipped = (name: string): string => (name.length > 100 ? `${name.slice(0, 100)}…` : name);

/** Adds details in parentheses, if there are any: `blob`, `blob(csv)`. */
const withDetails = (name: string, ...details: readonly string[]): string => {
  const given = details.filter(Boolean);
  return given.length === 0 ? name : `${name}(${given.join(': ')})`;
};

type Kind = keyof Cases;
const texts: { readonly [K in Kind]: (value: Cases[K], depth: number) => string } = {
  simple: (value) => ((SimpleType[value] as string | undefined) ?? `simple ${value}`).toLowerCase(),
  collectionType: (value, depth) => `list<${textAt(value, depth + 1)}>`,
  mapValueType: (value, depth) => `map<string, ${textAt(value, depth + 1)}>`,
  unionType: ({ variants }, depth) => `union<${list(variants, (variant) => textAt(variant, depth + 1))}>`,
  enumType: ({ values }) => `enum(${list(values, clipped)})`,
  blob: ({ format, dimensionality }) =>
    withDetails(dimensionality === Dimensionality.SINGLE ? 'blob' : 'multipart blob', clipped(format)),
  schema: ({ columns }) =>
    withDetails(
      'schema',
      list(columns, ({ name }) => clipped(name)),
    ),
  structuredDatasetType: ({ format, columns }) =>
    withDetails(
      'structured dataset',
      clipped(format),
      list(columns, ({ name }) => clipped(name)),
    ),
};

/** The title and tag of a type, which distinguish types whose text is otherwise equal. */
const distinction = ({ metadata, structure }: LiteralType): string => {
  const title = metadata?.['title'];
  const marks = [typeof title === 'string' ? title : '', structure?.tag ?? ''].filter(Boolean);
  return marks.map((mark) => ` "${clipped(mark)}"`).join('');
};

const textAt = (literalType: LiteralType, depth: number): string => {
  const { type } = literalType;
  if (type.case === undefined) return 'no type';
  if (depth > MAX_DEPTH) return '…';
  const text = texts[type.case] as (value: unknown, depth: number) => string;
  return text(type.value, depth) + distinction(literalType);
};

/** Formats a type for people: `list<integer>`, `union<string "str", none "none">`. The length is bounded. */
export const typeText = (type: LiteralType): string => textAt(type, 0);
