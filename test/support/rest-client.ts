import { type DescMethod, fromBinary, getOption, type JsonObject, type JsonValue, toJson } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import { http } from '../../proto/gen/google/api/annotations_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';

/** The answer to a request, in the words of gRPC where it is an error. */
export type RestAnswer = {
  readonly http: number;
  readonly code: keyof typeof status;
  readonly message: string;
  readonly body: JsonObject;
};

const METHODS = ['get', 'post', 'put', 'delete'] as const;

/** A field of a JSON message by its path in either spelling. */
const at = (message: JsonValue | undefined, path: readonly string[]): JsonValue | undefined => {
  const [name, ...rest] = path;
  if (name === undefined) return message;
  const camel = name.replaceAll(/_(.)/gu, (_, letter: string) => letter.toUpperCase());
  return at((message as JsonObject | undefined)?.[camel], rest);
};

const methodOf = (name: string): DescMethod => {
  const method = AdminService.methods.find((each) => each.name === name);
  if (method === undefined) throw new Error(`AdminService has no ${name}`);
  return method;
};

/** Sends requests of the interface over REST, as JSON made from their bytes. */
export const restClient = (
  base: string,
): {
  readonly raw: (method: string, request: Uint8Array) => Promise<RestAnswer>;
  readonly json: (method: string, path: string, body?: string, headers?: Record<string, string>) => Promise<RestAnswer>;
} => {
  const json = async (
    method: string,
    path: string,
    body?: string,
    headers: Record<string, string> = {},
  ): Promise<RestAnswer> => {
    const response = await fetch(`${base}${path}`, {
      method,
      headers,
      ...(body !== undefined && { body }),
    });
    const text = await response.text();
    const parsed = text === '' ? {} : (JSON.parse(text) as JsonObject);
    const code = response.ok ? status.OK : (parsed['code'] as number);
    const message = typeof parsed['message'] === 'string' ? parsed['message'] : '';
    return { http: response.status, code: status[code] as keyof typeof status, message, body: parsed };
  };
  return {
    json,
    raw: (name, request) => {
      const method = methodOf(name);
      const { pattern } = getOption(method, http);
      const message = toJson(method.input, fromBinary(method.input, request)) as JsonObject;
      const verb = METHODS.find((each) => each === pattern.case);
      if (verb === undefined || pattern.case === 'custom') throw new Error(`${name} has no binding`);
      const path = String(pattern.value).replaceAll(/\{([^}]+)\}/gu, (_, field: string) =>
        encodeURIComponent(String(at(message, field.split('.')))),
      );
      return json(verb.toUpperCase(), path, verb === 'get' ? undefined : JSON.stringify(message));
    },
  };
};
