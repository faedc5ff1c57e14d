import { create, type MessageInitShape, type MessageShape, toBinary } from '@bufbuild/protobuf';

import { Health } from '../../../proto/gen/grpc/health/v1/health_pb.js';
import {
  ServerReflection,
  ServerReflectionRequestSchema,
  ServerReflectionResponseSchema,
} from '../../../proto/gen/grpc/reflection/v1/reflection_pb.js';
import { decode } from '../decode.js';
import { type ReflectedFile, type ReflectedFiles, reflectedFiles } from '../reflection-files.js';
import { AUTHENTICATED } from '../dispatch/requirement.js';
import { type Endpoint, endpointOf, services } from '../routes.js';
import { OWN_PACKAGE, PACKAGES } from '../rpc-status.js';
import { statuses } from '../status.js';

type Request = MessageShape<typeof ServerReflectionRequestSchema>;
type Answer = NonNullable<MessageInitShape<typeof ServerReflectionResponseSchema>['messageResponse']>;

const REFLECTION = 'grpc.reflection.v1';
const OLD_REFLECTION = 'grpc.reflection.v1alpha';

/** The paths of the reflection service: the present version, and the one that older tools use. */
export const REFLECTION_PATHS = [REFLECTION, OLD_REFLECTION].map(
  (name) => `/${name}.ServerReflection/ServerReflectionInfo`,
);

const refusal = (code: 'NOT_FOUND' | 'INVALID_ARGUMENT', errorMessage: string): Answer => ({
  case: 'errorResponse',
  value: { errorCode: statuses[code].number, errorMessage },
});

/** Lists a file, and all its imports, direct and indirect, that have not been sent in this call. */
const withDependencies = (files: ReflectedFiles, file: ReflectedFile, sent: Set<string>): readonly Uint8Array[] => {
  sent.add(file.name);
  const further = file.dependencies.flatMap((name) => {
    const dependency = sent.has(name) ? undefined : files.byName(name);
    return dependency ? withDependencies(files, dependency, sent) : [];
  });
  return [file.bytes, ...further];
};

const answerOf = (files: ReflectedFiles, { messageRequest }: Request, sent: Set<string>): Answer => {
  const answerWith = (file: ReflectedFile | undefined, requested: string): Answer =>
    file
      ? {
          case: 'fileDescriptorResponse',
          value: { fileDescriptorProto: [...withDependencies(files, file, sent)] },
        }
      : refusal('NOT_FOUND', `${requested} is not known`);
  switch (messageRequest.case) {
    case 'fileByFilename':
      return answerWith(files.byName(messageRequest.value), `file ${messageRequest.value}`);
    case 'fileContainingSymbol':
      return answerWith(files.bySymbol(messageRequest.value), `symbol ${messageRequest.value}`);
    case 'fileContainingExtension': {
      const { containingType, extensionNumber } = messageRequest.value;
      return answerWith(files.byExtension(containingType, extensionNumber), `extension ${extensionNumber}`);
    }
    case 'allExtensionNumbersOfType': {
      const extensionNumber = files.extensionsOf(messageRequest.value);
      if (!extensionNumber) return refusal('NOT_FOUND', `type ${messageRequest.value} is not known`);
      const value = { baseTypeName: messageRequest.value, extensionNumber: [...extensionNumber] };
      return { case: 'allExtensionNumbersResponse', value };
    }
    case 'listServices':
      return { case: 'listServicesResponse', value: { service: files.services.map((name) => ({ name })) } };
    case undefined:
      return refusal('INVALID_ARGUMENT', 'missing message_request');
  }
};

const answers = async function* (
  files: ReflectedFiles,
  requests: AsyncIterable<Uint8Array>,
): AsyncIterable<Uint8Array> {
  const sent = new Set<string>();
  for await (const bytes of requests) {
    const originalRequest = decode(ServerReflectionRequestSchema, bytes);
    const messageResponse = answerOf(files, originalRequest, sent);
    const answer = { validHost: originalRequest.host, originalRequest, messageResponse };
    yield toBinary(ServerReflectionResponseSchema, create(ServerReflectionResponseSchema, answer));
  }
};

/**
 * Makes `grpc.reflection.v1.ServerReflection`, which describes every service under each of its package names
 * (`platformidl` and `flyteidl`; for reflection itself `v1` and `v1alpha`). With authentication, every caller with
 * valid credentials may call it.
 */
export const reflection = (): Endpoint => {
  const aliases = PACKAGES.filter((name) => name !== OWN_PACKAGE).map((alias) => ({ packageName: OWN_PACKAGE, alias }));
  // Made for the first request, so that the start does not wait for it: few clients ask.
  let files: ReflectedFiles | undefined;
  const filesNow = (): ReflectedFiles =>
    (files ??= reflectedFiles(
      [...services, Health, ServerReflection],
      [...aliases, { packageName: REFLECTION, alias: OLD_REFLECTION }],
    ));
  const method = ServerReflection.method.serverReflectionInfo;
  const open = (requests: AsyncIterable<Uint8Array>) => answers(filesNow(), requests);
  return endpointOf(method, { method, takes: 'stream', open }, AUTHENTICATED);
};
