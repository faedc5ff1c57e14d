import { fileDesc as describedByLibrary, type GenFile } from '@bufbuild/protobuf/codegenv2';

export * from '@bufbuild/protobuf/codegenv2';

/** The descriptor of a file without its imports. */
const alone = (file: GenFile): GenFile => Object.create(file, { dependencies: { value: [] } }) as GenFile;

/**
 * Decodes the descriptor of a generated file, as the function of this name in the library does. In the program,
 * generated code calls this one (`build.js`): the library's registers, for each file, the types of all files that it
 * imports directly or indirectly, which was half of the time to load them. The types of direct imports are enough,
 * because no file has `import public`.
 */
export const fileDesc = (encoded: string, imports: GenFile[] = []): GenFile => {
  const file = describedByLibrary(encoded, imports.map(alone));
  return Object.defineProperty(file, 'dependencies', { value: imports, enumerable: true });
};
