import {
  create,
  createFileRegistry,
  fromBinary,
  isFieldSet,
  type MessageInitShape,
  toBinary,
} from '@bufbuild/protobuf';
import {
  FieldDescriptorProtoSchema,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt';
import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import {
  ServerReflectionRequestSchema,
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from '../../../proto/gen/grpc/reflection/v1/reflection_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { overGrpc } from './toy.js';

let toy: Awaited<ReturnType<typeof overGrpc>>;
beforeAll(async () => {
  toy = await overGrpc([]);
});
afterAll(() => toy.close());

type Question = NonNullable<MessageInitShape<typeof ServerReflectionRequestSchema>['messageRequest']>;

/** Sends requests over one stream; returns the answer to each. */
const ask = (questions: readonly Question[], version = 'v1') =>
  new Promise<ServerReflectionResponse['messageResponse'][]>((resolve, reject) => {
    const same = (bytes: Buffer): Buffer => bytes;
    const path = `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`;
    const call = toy.client.makeBidiStreamRequest(path, same, same);
    const answers: ServerReflectionResponse['messageResponse'][] = [];
    call.on('data', (bytes: Buffer) => {
      answers.push(fromBinary(ServerReflectionResponseSchema, bytes).messageResponse);
    });
    call.on('end', () => resolve(answers));
    call.on('error', reject);
    for (const messageRequest of questions) {
      const request = create(ServerReflectionRequestSchema, { messageRequest });
      call.write(Buffer.from(toBinary(ServerReflectionRequestSchema, request)));
    }
    call.end();
  });

const filesIn = (answer: ServerReflectionResponse['messageResponse'] | undefined) =>
  answer?.case === 'fileDescriptorResponse'
    ? answer.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes))
    : [];

/** Puts each file after those that it imports. */
const dependenciesFirst = (files: readonly FileDescriptorProto[]): FileDescriptorProto[] => {
  const ordered = new Set<FileDescriptorProto>();
  const add = (file: FileDescriptorProto | undefined): void => {
    if (!file || ordered.has(file)) return;
    for (const name of file.dependency) add(files.find((each) => each.name === name));
    ordered.add(file);
  };
  files.forEach(add);
  return [...ordered];
};

describe('reflection', () => {
  it.each(['v1', 'v1alpha'])(
    'lists services under the package names flyteidl and platformidl, and those of gRPC, in %s',
    async (version) => {
      const [answer] = await ask([{ case: 'listServices', value: '' }], version);
      const names = answer?.case === 'listServicesResponse' ? answer.value.service.map(({ name }) => name) : [];
      expect(names).toEqual([...names].sort());
      for (const name of ['AdminService', 'SignalService', 'DataProxyService', 'IdentityService'])
        expect(names).toEqual(expect.arrayContaining([`flyteidl.service.${name}`, `platformidl.service.${name}`]));
      expect(names).toEqual(
        expect.arrayContaining([
          'grpc.health.v1.Health',
          ...['v1', 'v1alpha'].map((v) => `grpc.reflection.${v}.ServerReflection`),
        ]),
      );
    },
  );

  it.each(['flyteidl', 'platformidl'])('gives the files that a registry of %s alone needs', async (name) => {
    const [answer] = await ask([{ case: 'fileContainingSymbol', value: `${name}.service.AdminService` }]);
    const files = filesIn(answer);
    const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: dependenciesFirst(files) }));
    const service = registry.getService(`${name}.service.AdminService`);
    expect(service?.methods.map((method) => method.name)).toEqual(AdminService.methods.map((method) => method.name));
    expect(service?.methods[0]?.input.typeName).toMatch(new RegExp(`^${name}\\.admin\\.`));
    const other = name === 'flyteidl' ? 'platformidl' : 'flyteidl';
    expect(files.filter((file) => file.package.startsWith(other))).toEqual([]);
  });

  it('leaves the type name of a field unset, not empty, where the field has none', async () => {
    const [answer] = await ask([{ case: 'fileContainingSymbol', value: 'flyteidl.core.ExecutionError' }]);
    const messages = filesIn(answer).flatMap(({ messageType }) => messageType);
    const { field } = messages.find(({ name }) => name === 'ExecutionError')!;
    const unnamed = field.filter(({ typeName }) => typeName === '');
    expect(unnamed).not.toHaveLength(0);
    for (const each of unnamed) expect(isFieldSet(each, FieldDescriptorProtoSchema.field.typeName)).toBe(false);
  });

  it('sends no file twice over one stream but the one that is asked for', async () => {
    const symbol = { case: 'fileContainingSymbol', value: 'flyteidl.admin.Project' } as const;
    const [first, second] = await ask([symbol, symbol]);
    expect(filesIn(first).length).toBeGreaterThan(1);
    expect(filesIn(second).map(({ name }) => name)).toEqual([filesIn(first)[0]?.name]);
  });

  it('finds files, methods and fields by name, and extensions by number', async () => {
    const answers = await ask([
      { case: 'fileByFilename', value: 'flyteidl/admin/project.proto' },
      { case: 'fileContainingSymbol', value: 'flyteidl.service.AdminService.GetTask' },
      { case: 'fileContainingSymbol', value: 'flyteidl.admin.Project.name' },
      {
        case: 'fileContainingExtension',
        value: { containingType: 'google.protobuf.MethodOptions', extensionNumber: 72295728 /* google.api.http */ },
      },
      { case: 'allExtensionNumbersOfType', value: 'google.protobuf.MethodOptions' },
    ]);
    expect(answers.map(({ case: kind }) => kind)).toEqual([
      ...Array<string>(4).fill('fileDescriptorResponse'),
      'allExtensionNumbersResponse',
    ]);
    expect(filesIn(answers[3])[0]?.name).toBe('google/api/annotations.proto');
  });

  it.each<Question>([
    { case: 'fileByFilename', value: 'x.proto' },
    { case: 'fileContainingSymbol', value: 'x' },
    { case: 'fileContainingExtension', value: { containingType: 'x', extensionNumber: 1 } },
    { case: 'allExtensionNumbersOfType', value: 'x' },
  ])(
    'answers NOT_FOUND for what it does not know, and answers the next request of the stream: $case',
    async (question) => {
      const answers = await ask([question, { case: 'listServices', value: '' }]);
      expect(answers.map(({ case: kind }) => kind)).toEqual(['errorResponse', 'listServicesResponse']);
      expect(answers[0]).toMatchObject({ value: { errorCode: status.NOT_FOUND } });
    },
  );
});
