/** The words that may follow the words of a command: its own commands and its flags. */
export type Completion = { readonly path: string; readonly words: readonly string[] };

/** Words to choose from, or the names of a list of the server, `executions`; those in a project and domain are scoped. */
export type Offer =
  | { readonly kind: 'words'; readonly words: readonly string[] }
  | { readonly kind: 'names'; readonly list: string; readonly isScoped: boolean };

/** The values after a command, `get execution`, or after a command and one of its flags, `get execution --project`. */
export type Values = { readonly patterns: readonly string[]; readonly offer: Offer };

/** The completions of a program. */
export type Completions = {
  readonly all: readonly Completion[];
  /** The flags that are followed by a file or a folder. */
  readonly pathFlags: readonly string[];
  /** The flags that are followed by any value. */
  readonly valueFlags: readonly string[];
  readonly values: readonly Values[];
};

/** The flags on the line that a request for names repeats: the server, and the project and domain. */
export const SERVER_FLAGS = ['--server', '--profile', '--token-file'] as const;
export const SCOPE_FLAGS = ['--project', '-p', '--domain', '-d'] as const;

/** Texts in single quotes. */
export const quoted = (texts: readonly string[], between: string): string =>
  texts.map((text) => `'${text}'`).join(between);

/**
 * Makes one line for each name of a list: lists of definitions have a line for each version. Names with other characters
 * are left out, because a shell would act on them.
 */
export const NAMES_ONLY = `-o name 2>/dev/null | cut -d " " -f 1 | sort -u | grep "^[a-zA-Z0-9._-]*\\$"`;
