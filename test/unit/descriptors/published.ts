import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { createFileRegistry, type DescFile, fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';

const ROOT = join(import.meta.dirname, '../../../..');
const require = createRequire(import.meta.url);

// The definitions of documentation options that the parser of the published files needs. They are not compared.
const DOCUMENTATION_OPTIONS = `
syntax = "proto3";
package grpc.gateway.protoc_gen_openapiv2.options;
import "google/protobuf/descriptor.proto";
message Response { string description = 1; }
message Operation { string description = 1; map<string, Response> responses = 2; }
extend google.protobuf.MethodOptions { Operation openapiv2_operation = 1042; }
`;

/** Writes a file, and creates the folder that it is in. */
const write = (path: string, text: string): void => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
};

/**
 * Parses files of the published interface, from which clients in the field are generated, by names such as
 * `flyteidl/admin/task.proto`.
 */
export const publishedFiles = (names: readonly string[]): readonly DescFile[] => {
  const dir = mkdtempSync(join(tmpdir(), 'published-'));
  try {
    const source = join(dirname(require.resolve('@flyteorg/flyteidl/package.json')), 'protos/flyteidl');
    for (const folder of ['admin', 'core', 'event', 'service']) {
      cpSync(join(source, folder), join(dir, 'flyteidl', folder), { recursive: true });
    }
    cpSync(join(ROOT, 'proto/google/api'), join(dir, 'google/api'), { recursive: true });
    write(join(dir, 'protoc-gen-openapiv2/options/annotations.proto'), DOCUMENTATION_OPTIONS);
    write(join(dir, 'buf.yaml'), 'version: v2\n');
    execFileSync(join(ROOT, 'node_modules/.bin/buf'), ['build', '--output', 'set.binpb'], { cwd: dir });
    const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(join(dir, 'set.binpb'))));
    return names.map((name) => {
      const file = registry.getFile(name);
      if (!file) throw new Error(`the published interface has no ${name}`);
      return file;
    });
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
};
