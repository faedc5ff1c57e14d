import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { type DescFile, type DescMessage, toBinary } from '@bufbuild/protobuf';
import { nestedTypes } from '@bufbuild/protobuf/reflect';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';

import { fileDesc } from '../../../services/kernel/encoding/file-descriptors.js';

const GENERATED = join(import.meta.dirname, '../../../proto/gen');

const generatedFiles = async (): Promise<readonly DescFile[]> => {
  const paths = readdirSync(GENERATED, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('_pb.js'));
  const modules = await Promise.all(
    paths.map((path) => import(pathToFileURL(join(GENERATED, path)).href) as Promise<object>),
  );
  return modules.flatMap((module) =>
    Object.entries(module).flatMap(([name, value]) => (name.startsWith('file_') ? [value as DescFile] : [])),
  );
};

/** The type of a field: of a message or enum its name, with the file that declares it. */
const typeOf = (field: DescMessage['fields'][number]): string => {
  const type = field.message ?? field.enum;
  return type ? `${type.typeName} in ${type.file.name}` : `${field.fieldKind} ${String(field.scalar)}`;
};

/** The fields, methods and enum values that a descriptor has, with their types; of an extension its name alone. */
const statementsOf = (file: DescFile): readonly string[] =>
  [...nestedTypes(file)].flatMap((type) => {
    if (type.kind === 'message')
      return type.fields.map((field) => `${String(field)} ${field.jsonName} ${typeOf(field)}`);
    if (type.kind === 'service')
      return type.methods.map(({ name, input, output }) => `${name} ${input.typeName} ${output.typeName}`);
    if (type.kind === 'enum') return type.values.map(({ name, number }) => `${type.typeName}.${name} = ${number}`);
    return [String(type)];
  });

const files = await generatedFiles();

describe('the descriptor of a generated file', () => {
  it('is compared for more than 60 files', () => expect(files.length).toBeGreaterThan(60));

  it.each(files.map((file) => [file.name, file] as const))('says what that of the library says: %s', (_, file) => {
    const encoded = Buffer.from(toBinary(FileDescriptorProtoSchema, file.proto)).toString('base64');
    const described = fileDesc(encoded, [...file.dependencies]);
    expect(statementsOf(described)).toEqual(statementsOf(file));
    expect(described.dependencies).toHaveLength(file.dependencies.length);
    for (const [at, dependency] of described.dependencies.entries()) expect(dependency).toBe(file.dependencies[at]);
  });
});
