import { create } from '@bufbuild/protobuf';
import { type VariableMap } from '../../../proto/gen/platformidl/core/interface_pb.js';
import { type Literal } from '../../../proto/gen/platformidl/core/literals_pb.js';
import {
  ErrorSchema,
  type LiteralType,
  LiteralTypeSchema,
  SimpleType,
} from '../../../proto/gen/platformidl/core/types_pb.js';
import { type RandomSource, drawInteger } from './random.js';
import { collection, type Literals, mapLiteral, noneLiteral, packed, primitive, scalar } from './literal-values.js';
import { pack } from './msgpack.js';
import { drawCount, drawFloat, randomWord, plainStruct } from './plain-values.js';

const YEAR_2024 = 1_704_067_200n;
const NONE_TYPE = create(LiteralTypeSchema, { type: { case: 'simple', value: SimpleType.NONE } });

const randomUri = (draw: RandomSource): string => `s3://simulated-data/${randomWord(draw)}`;

const seconds = (draw: RandomSource): bigint => BigInt(drawInteger(draw, 30_000_000));

const SIMPLE: Readonly<Record<SimpleType, (draw: RandomSource, type: LiteralType) => Literal>> = {
  [SimpleType.NONE]: noneLiteral,
  [SimpleType.INTEGER]: (draw) => primitive({ case: 'integer', value: drawCount(draw) }),
  [SimpleType.FLOAT]: (draw) => primitive({ case: 'floatValue', value: drawFloat(draw) }),
  [SimpleType.STRING]: (draw) => primitive({ case: 'stringValue', value: randomWord(draw) }),
  [SimpleType.BOOLEAN]: (draw) => primitive({ case: 'boolean', value: draw() < 0.5 }),
  [SimpleType.DATETIME]: (draw) => primitive({ case: 'datetime', value: { seconds: YEAR_2024 + seconds(draw) } }),
  [SimpleType.DURATION]: (draw) => primitive({ case: 'duration', value: { seconds: BigInt(drawInteger(draw, 7200)) } }),
  [SimpleType.BINARY]: (draw) => scalar({ case: 'binary', value: { value: Buffer.from(randomWord(draw)) } }),
  [SimpleType.ERROR]: (draw) => scalar({ case: 'error', value: create(ErrorSchema, { message: randomWord(draw) }) }),
  [SimpleType.STRUCT]: (draw, type) => packed(pack(plainStruct(draw, type))),
};

const ofUnion = (draw: RandomSource, variants: readonly LiteralType[]): Literal => {
  const type = variants[drawInteger(draw, variants.length)] ?? NONE_TYPE;
  return inUnion(drawLiteral(draw, type), type);
};

const ofEnum = (draw: RandomSource, values: readonly string[]): Literal =>
  primitive({ case: 'stringValue', value: values[drawInteger(draw, values.length)] ?? '' });

/** Wraps a value as one variant of a union. */
export const inUnion = (value: Literal, type: LiteralType): Literal =>
  scalar({ case: 'union', value: { value, type } });

/** A value of the type that depends only on the draw. */
export const drawLiteral = (draw: RandomSource, type: LiteralType): Literal => {
  const kind = type.type;
  switch (kind.case) {
    case 'simple':
      return SIMPLE[kind.value](draw, type);
    case 'schema':
      return scalar({ case: 'schema', value: { uri: randomUri(draw), type: kind.value } });
    case 'collectionType':
      return collection(Array.from({ length: 1 + drawInteger(draw, 3) }, () => drawLiteral(draw, kind.value)));
    case 'mapValueType':
      return mapLiteral({ [randomWord(draw)]: drawLiteral(draw, kind.value) });
    case 'blob':
      return scalar({ case: 'blob', value: { uri: randomUri(draw), metadata: { type: kind.value } } });
    case 'enumType':
      return ofEnum(draw, kind.value.values);
    case 'structuredDatasetType':
      return scalar({
        case: 'structuredDataset',
        value: { uri: randomUri(draw), metadata: { structuredDatasetType: kind.value } },
      });
    case 'unionType':
      return ofUnion(draw, kind.value.variants);
    case undefined:
      return noneLiteral();
  }
};

/** A value for each variable. Variables are sorted by name, so that the order of the map has no influence. */
export const drawLiterals = (draw: RandomSource, variables: VariableMap | undefined): Literals =>
  Object.fromEntries(
    Object.entries(variables?.variables ?? {})
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, variable]) => [name, variable.type ? drawLiteral(draw, variable.type) : noneLiteral()]),
  );
