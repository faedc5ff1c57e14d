import {
  BlobType_BlobDimensionality,
  type LiteralType,
  SimpleType,
} from '../../proto/gen/platformidl/core/types_pb.js';

/** A type as people write it: `list of integer`, `text or none`. */
export const typeInWords = ({ type }: LiteralType): string => {
  switch (type.case) {
    case 'simple':
      return SIMPLE[type.value];
    case 'collectionType':
      return `list of ${typeInWords(type.value)}`;
    case 'mapValueType':
      return `map of ${typeInWords(type.value)}`;
    case 'blob': {
      const isFolder = type.value.dimensionality === BlobType_BlobDimensionality.MULTIPART;
      return `${isFolder ? 'folder' : 'file'}${type.value.format === '' ? '' : ` (${type.value.format})`}`;
    }
    case 'enumType':
      return `one of ${type.value.values.join(', ')}`;
    case 'structuredDatasetType':
      return 'dataset';
    case 'schema':
      return 'schema';
    case 'unionType':
      return type.value.variants.map(typeInWords).join(' or ');
    default:
      return 'anything';
  }
};

const SIMPLE: Readonly<Record<SimpleType, string>> = {
  [SimpleType.NONE]: 'none',
  [SimpleType.INTEGER]: 'integer',
  [SimpleType.FLOAT]: 'float',
  [SimpleType.STRING]: 'text',
  [SimpleType.BOOLEAN]: 'boolean',
  [SimpleType.DATETIME]: 'datetime',
  [SimpleType.DURATION]: 'duration',
  [SimpleType.BINARY]: 'binary',
  [SimpleType.ERROR]: 'error',
  [SimpleType.STRUCT]: 'struct',
};
