import {
  type DescEnum,
  type DescField,
  type DescFile,
  type DescMessage,
  type DescMethod,
  type DescService,
  getOption,
  hasOption,
  ScalarType,
} from '@bufbuild/protobuf';
import { nestedTypes } from '@bufbuild/protobuf/reflect';

import { http } from '../../../proto/gen/google/api/annotations_pb.js';
import type { HttpRule } from '../../../proto/gen/google/api/http_pb.js';

/** The facts of an interface that clients depend on: one line for each fact, grouped by its subject. */
export type Statements = {
  readonly messages: readonly string[];
  readonly fields: readonly string[];
  readonly enums: readonly string[];
  readonly rpcs: readonly string[];
  readonly bindings: readonly string[];
};

/** The name of a type in flightlog's package. */
const own = (typeName: string): string => typeName.replace(/^flyteidl\./, 'platformidl.');

/** The type of a field, or of the elements of a list or map. */
const valueType = (field: DescField): string => {
  if (field.message) return own(field.message.typeName);
  return field.enum ? own(field.enum.typeName) : ScalarType[field.scalar];
};

const typeOf = (field: DescField): string => {
  if (field.fieldKind === 'map') return `map<${ScalarType[field.mapKey]}, ${valueType(field)}>`;
  return field.fieldKind === 'list' ? `repeated ${valueType(field)}${field.packed ? ' packed' : ''}` : valueType(field);
};

const fieldLine = (field: DescField): string =>
  [
    `${own(field.parent.typeName)}.${field.name} = ${field.number}`,
    typeOf(field),
    `json ${field.jsonName}`,
    `oneof ${field.oneof?.name ?? '-'}`,
    `presence ${field.presence}`,
    field.deprecated ? 'deprecated' : 'current',
  ].join(', ');

const enumLines = (type: DescEnum): string[] =>
  type.values.map(({ name, number }) => `${own(type.typeName)}.${name} = ${number}`);

const rpcLine = (method: DescMethod): string =>
  `${own(method.parent.typeName)}.${method.name} ${method.methodKind}(${own(method.input.typeName)}): ${own(method.output.typeName)}`;

const pattern = ({ pattern: { case: verb, value } }: HttpRule): string =>
  typeof value === 'string' ? `${verb.toUpperCase()} ${value}` : 'custom';

const bindingLines = (method: DescMethod, rule: HttpRule): string[] => [
  `${own(method.parent.typeName)}.${method.name} ${pattern(rule)} ${rule.body}${rule.responseBody}`,
  ...rule.additionalBindings.flatMap((further) => bindingLines(method, further)),
];

/** The types that the files declare, nested ones too. */
const typesIn = (files: readonly DescFile[]) => {
  const types = files.flatMap((file) => [...nestedTypes(file)]);
  return {
    messages: types.filter((type): type is DescMessage => type.kind === 'message'),
    enums: types.filter((type): type is DescEnum => type.kind === 'enum'),
    services: types.filter((type): type is DescService => type.kind === 'service'),
  };
};

/**
 * Collects the statements on the files of an interface, of the package `platformidl` or `flyteidl`. Lines are sorted.
 */
export const statementsOf = (files: readonly DescFile[]): Statements => {
  const { messages, enums, services } = typesIn(files);
  const methods = services.flatMap((service) => service.methods);
  const withBinding = methods.filter((method) => hasOption(method, http));
  return {
    messages: messages.map(({ typeName }) => own(typeName)).sort(),
    fields: messages.flatMap(({ fields }) => fields.map(fieldLine)).sort(),
    enums: enums.flatMap(enumLines).sort(),
    rpcs: methods.map(rpcLine).sort(),
    bindings: withBinding.flatMap((method) => bindingLines(method, getOption(method, http))).sort(),
  };
};
