import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import type { DescFile } from '@bufbuild/protobuf';
import { beforeAll, describe, expect, it } from 'vitest';

import { addedBindings, addedFields, addedMessages } from './additions.js';
import { publishedFiles } from './published.js';
import { type Statements, statementsOf } from './statements.js';

const GENERATED = join(import.meta.dirname, '../../../proto/gen/platformidl');

/** All generated files of the interface; the log's own events are not part of it. */
const ownFiles = async (): Promise<readonly DescFile[]> => {
  const paths = ['admin', 'core', 'event', 'service'].flatMap((folder) =>
    readdirSync(join(GENERATED, folder))
      .filter((name) => name.endsWith('_pb.js'))
      .map((name) => join(GENERATED, folder, name)),
  );
  const modules = await Promise.all(paths.map((path) => import(pathToFileURL(path).href) as Promise<object>));
  return modules.flatMap((module) =>
    Object.entries(module).flatMap(([name, value]) => (name.startsWith('file_') ? [value as DescFile] : [])),
  );
};

/** The lines without those of the additions. */
const without = (lines: readonly string[], added: readonly string[]): readonly string[] =>
  lines.filter((line) => !added.some((addition) => line === addition || line.startsWith(`${addition},`)));

let ours: Statements;
let published: Statements;
beforeAll(async () => {
  const files = await ownFiles();
  const names = files.map(({ name }) => `${name.replace(/^platformidl\//, 'flyteidl/')}.proto`);
  ours = statementsOf(files);
  published = statementsOf(publishedFiles(names));
}, 60_000);

describe('the interface', () => {
  it('has more than 300 messages and 74 RPCs, which are compared', () => {
    expect(ours.messages.length).toBeGreaterThan(300);
    expect(ours.rpcs.length).toBe(74);
  });

  it('has the messages of the published one, and those added', () => {
    expect(without(ours.messages, addedMessages)).toEqual(published.messages);
  });

  it('has the fields of the published one: number, type, label, oneof, presence and JSON name', () => {
    const isAdded = (line: string) => addedMessages.some((message) => line.startsWith(`${message}.`));
    expect(without(ours.fields, addedFields).filter((line) => !isAdded(line))).toEqual(published.fields);
  });

  it('has the enum values of the published one', () => {
    expect(ours.enums).toEqual(published.enums);
  });

  it('has the RPCs of the published one', () => {
    expect(ours.rpcs).toEqual(published.rpcs);
  });

  it('has the HTTP bindings of the published one, and those added', () => {
    expect(without(ours.bindings, addedBindings)).toEqual(published.bindings);
  });

  it('has every addition that is listed', () => {
    const lines = [...ours.messages, ...ours.fields, ...ours.bindings];
    for (const addition of [...addedMessages, ...addedFields, ...addedBindings]) {
      expect(without(lines, [addition]).length, addition).toBe(lines.length - 1);
    }
  });

  it('adds fields from 1000 on only', () => {
    for (const field of addedFields) expect(Number(field.split(' = ')[1])).toBeGreaterThanOrEqual(1000);
  });
});
