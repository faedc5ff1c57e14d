import { create, createFileRegistry, fromBinary } from '@bufbuild/protobuf';
import {
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
  FileDescriptorProtoSchema,
  file_google_protobuf_descriptor,
} from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import { reflectedFiles } from '../../../services/gateway/reflection-files.js';

const extension = (name: string, extendee: string, number: number, typeName?: string) => ({
  ...{ name, extendee, number, label: Label.OPTIONAL },
  ...(typeName === undefined ? { type: Type.STRING } : { type: Type.MESSAGE, typeName }),
});

/**
 * A file of a package that is served under a second name, with extensions of its own message and of a message of
 * another package.
 */
const file = create(FileDescriptorProtoSchema, {
  ...{ name: 'one/file.proto', package: 'one', syntax: 'proto2', dependency: ['google/protobuf/descriptor.proto'] },
  messageType: [
    { name: 'Open', extensionRange: [{ start: 100, end: 200 }], extension: [extension('inner', '.one.Open', 101)] },
  ],
  extension: [
    extension('own', '.one.Open', 100, '.one.Open'),
    extension('foreign', '.google.protobuf.FileOptions', 5_000),
  ],
  service: [{ name: 'Service', method: [{ name: 'Call', inputType: '.one.Open', outputType: '.one.Open' }] }],
});

const service = createFileRegistry(file, () => file_google_protobuf_descriptor.proto).getService('one.Service')!;
const files = reflectedFiles([service], [{ packageName: 'one', alias: 'two' }]);

describe('the reflected files of a package with an alias', () => {
  it.each(['one', 'two'])('list the extensions of a message once, under its name in %s', (name) => {
    expect(files.extensionsOf(`${name}.Open`)).toEqual([101, 100]);
    for (const number of [100, 101]) expect(files.byExtension(`${name}.Open`, number)?.name).toBe(`${name}/file.proto`);
  });

  it('list the extensions of a message of another package once', () => {
    expect(files.extensionsOf('google.protobuf.FileOptions')).toEqual([5_000]);
  });

  it('name no type of the package itself in the copy for the alias', () => {
    const copy = fromBinary(FileDescriptorProtoSchema, files.byName('two/file.proto')!.bytes);
    const named = [...copy.extension, ...copy.messageType.flatMap((message) => message.extension)];
    expect(named.map(({ extendee, typeName }) => [extendee, typeName])).toEqual([
      ['.two.Open', '.two.Open'],
      ['.google.protobuf.FileOptions', ''],
      ['.two.Open', ''],
    ]);
  });
});
