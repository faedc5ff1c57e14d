import { clone, type DescFile, type DescService, type MessageShape, toBinary } from '@bufbuild/protobuf';
import { nestedTypes } from '@bufbuild/protobuf/reflect';
import { type DescriptorProto, type FieldDescriptorProto, FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';

type FileProto = MessageShape<typeof FileDescriptorProtoSchema>;

/** One proto file as the reflection service sends it. */
export type ReflectedFile = {
  readonly name: string;
  readonly dependencies: readonly string[];
  /** An encoded `google.protobuf.FileDescriptorProto`. */
  readonly bytes: Uint8Array;
};

/** The descriptors of everything that a server serves, under every package name that it answers to. */
export interface ReflectedFiles {
  /** Full names of the services, sorted. */
  readonly services: readonly string[];
  byName(file: string): ReflectedFile | undefined;
  /** The file that declares a service, method, message, enum, field or extension. */
  bySymbol(fullName: string): ReflectedFile | undefined;
  /** The file that declares an extension. */
  byExtension(ofMessage: string, number: number): ReflectedFile | undefined;
  /** The numbers of all extensions of a message, each once; `undefined` when its name is unknown. */
  extensionsOf(message: string): readonly number[] | undefined;
}

/** A second name under which a package is served. */
export type Alias = { readonly packageName: string; readonly alias: string };

type Rename = (name: string) => string;

const renaming = ({ packageName, alias }: Alias): { type: Rename; file: Rename } => {
  const path = `${packageName.replaceAll('.', '/')}/`;
  const starts = (name: string, prefix: string) => name === prefix.slice(0, -1) || name.startsWith(prefix);
  return {
    type: (name) => {
      const dot = name.startsWith('.') ? '.' : '';
      return starts(name, `${dot}${packageName}.`)
        ? `${dot}${alias}${name.slice(dot.length + packageName.length)}`
        : name;
    },
    file: (name) => (name.startsWith(path) ? `${alias.replaceAll('.', '/')}/${name.slice(path.length)}` : name),
  };
};

const renameFields = (fields: readonly FieldDescriptorProto[], type: Rename): void => {
  for (const field of fields) {
    // If '' were assigned, it would be sent, and clients that build messages from it would take it for a type name.
    if (field.typeName !== '') field.typeName = type(field.typeName);
    if (field.extendee !== '') field.extendee = type(field.extendee);
  }
};

const renameMessage = (message: DescriptorProto, type: Rename): void => {
  renameFields(message.field, type);
  renameFields(message.extension, type);
  for (const inner of message.nestedType) renameMessage(inner, type);
};

/** Removes the imports that the generated code has left out because nothing in the file uses them. */
const pruned = ({ proto, dependencies }: DescFile): FileProto => {
  const needed = new Set(dependencies.map((file) => file.proto.name));
  if (proto.dependency.every((name) => needed.has(name))) return proto;
  const copy = clone(FileDescriptorProtoSchema, proto);
  const names = (indexes: readonly number[]) => new Set(indexes.map((index) => proto.dependency[index]));
  const isPublic = names(proto.publicDependency);
  copy.dependency = proto.dependency.filter((name) => needed.has(name));
  copy.publicDependency = copy.dependency.flatMap((name, index) => (isPublic.has(name) ? [index] : []));
  copy.weakDependency = [];
  return copy;
};

const renamed = (file: FileProto, alias: Alias): FileProto => {
  const rename = renaming(alias);
  const copy = clone(FileDescriptorProtoSchema, file);
  copy.name = rename.file(copy.name);
  copy.package = rename.type(copy.package);
  copy.dependency = copy.dependency.map(rename.file);
  for (const message of copy.messageType) renameMessage(message, rename.type);
  renameFields(copy.extension, rename.type);
  for (const method of copy.service.flatMap((service) => service.method)) {
    method.inputType = rename.type(method.inputType);
    method.outputType = rename.type(method.outputType);
  }
  return copy;
};

const closureOf = (files: readonly DescFile[]): ReadonlySet<DescFile> => {
  const all = new Set<DescFile>();
  const visit = (file: DescFile): void => {
    if (all.has(file)) return;
    all.add(file);
    file.dependencies.forEach(visit);
  };
  files.forEach(visit);
  return all;
};

const reflected = (proto: FileProto): ReflectedFile => ({
  name: proto.name,
  dependencies: proto.dependency,
  bytes: toBinary(FileDescriptorProtoSchema, proto),
});

const symbolsOf = (file: DescFile): string[] =>
  [...nestedTypes(file)].flatMap((type) => {
    if (type.kind === 'message') return [type.typeName, ...type.fields.map(({ name }) => `${type.typeName}.${name}`)];
    if (type.kind === 'service') return [type.typeName, ...type.methods.map(({ name }) => `${type.typeName}.${name}`)];
    return [type.typeName];
  });

type Extension = { readonly extendee: string; readonly number: number; readonly file: ReflectedFile };

const extensionsIn = (file: DescFile, reflectedFile: ReflectedFile, rename: Rename): Extension[] =>
  [...nestedTypes(file)].flatMap((type) =>
    type.kind === 'extension'
      ? [{ extendee: rename(type.extendee.typeName), number: type.number, file: reflectedFile }]
      : [],
  );

/** Collects the files of services with all their imports, and a renamed copy of each for each alias of its package. */
export const reflectedFiles = (services: readonly DescService[], aliases: readonly Alias[]): ReflectedFiles => {
  const files = new Map<string, ReflectedFile>();
  const symbols = new Map<string, ReflectedFile>();
  const extensions: Extension[] = [];
  const names: string[] = [];

  const add = (file: DescFile, proto: FileProto, rename: Rename): void => {
    const reflectedFile = reflected(proto);
    files.set(reflectedFile.name, reflectedFile);
    for (const symbol of symbolsOf(file)) symbols.set(rename(symbol), reflectedFile);
    extensions.push(...extensionsIn(file, reflectedFile, rename));
    for (const service of services) if (service.file === file) names.push(rename(service.typeName));
  };
  for (const file of closureOf(services.map((service) => service.file))) {
    const proto = pruned(file);
    add(file, proto, (name) => name);
    for (const alias of aliases) {
      if (renaming(alias).type(proto.package) === proto.package) continue;
      add(file, renamed(proto, alias), renaming(alias).type);
    }
  }
  return {
    services: names.sort(),
    byName: (file) => files.get(file),
    bySymbol: (fullName) => symbols.get(fullName),
    byExtension: (ofMessage, number) =>
      extensions.find((each) => each.extendee === ofMessage && each.number === number)?.file,
    extensionsOf: (message) => {
      if (!symbols.has(message)) return undefined;
      // A message outside the renamed packages is extended under both names, by the same extension.
      return [...new Set(extensions.filter(({ extendee }) => extendee === message).map(({ number }) => number))];
    },
  };
};
