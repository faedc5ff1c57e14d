import {
  type TypedInterface,
  type Variable,
  type VariableMap,
} from '../../../proto/gen/platformidl/core/interface_pb.js';
import { type LiteralType } from '../../../proto/gen/platformidl/core/types_pb.js';

/** Engines need the annotation with this key: it is included in the keys of cached results. */
const KEPT_ANNOTATION = 'cache-key-metadata';

const mapped = <Value>(map: Readonly<Record<string, Value>>, change: (value: Value) => Value): Record<string, Value> =>
  Object.fromEntries(Object.entries(map).map(([name, value]) => [name, change(value)]));

const strippedInside = ({ type }: LiteralType): LiteralType['type'] => {
  switch (type.case) {
    case 'collectionType':
    case 'mapValueType':
      return { case: type.case, value: stripped(type.value) };
    case 'unionType':
      return { case: type.case, value: { ...type.value, variants: type.value.variants.map(stripped) } };
    case 'structuredDatasetType': {
      const columns = type.value.columns.map((column) =>
        column.literalType ? { ...column, literalType: stripped(column.literalType) } : column,
      );
      return { case: type.case, value: { ...type.value, columns } };
    }
    default:
      return type;
  }
};

const stripped = (type: LiteralType): LiteralType => {
  const { metadata: _, annotation, structure, ...rest } = type;
  const isKept = annotation?.annotations !== undefined && KEPT_ANNOTATION in annotation.annotations;
  return {
    ...rest,
    type: strippedInside(type),
    ...(isKept && { annotation }),
    ...(structure && { structure: { ...structure, dataclassType: mapped(structure.dataclassType, stripped) } }),
  };
};

const strippedVariable = (variable: Variable): Variable => ({
  ...variable,
  ...(variable.type && { type: stripped(variable.type) }),
  description: '',
});

const strippedMap = (map: VariableMap): VariableMap => ({
  ...map,
  variables: mapped(map.variables, strippedVariable),
});

/** Removes descriptions and other texts for people from an interface; they can make the object many times larger. */
export const strippedInterface = (typed: TypedInterface): TypedInterface => ({
  ...typed,
  ...(typed.inputs && { inputs: strippedMap(typed.inputs) }),
  ...(typed.outputs && { outputs: strippedMap(typed.outputs) }),
});
