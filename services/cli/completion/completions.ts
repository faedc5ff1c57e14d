/** The shells that completion is there for. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;

export type Shell = (typeof SHELLS)[number];

/** The words that may follow the path of a command: its own commands, the choices of its arguments, and its flags. */
export type Completion = { readonly path: string; readonly words: readonly string[] };

/** The words that a shell offers at one place of a command. */
export type Offer =
  | { readonly kind: 'words'; readonly words: readonly string[] }
  /** The names that `flightlog list` prints, such as of `executions`; `isScoped` for those in a project and domain. */
  | { readonly kind: 'names'; readonly list: string; readonly isScoped: boolean }
  /**
   * A column of the lines that a command prints about the argument before: `list tasks` prints the versions of a name,
   * `signal execution` the signals of an execution.
   */
  | { readonly kind: 'of argument'; readonly command: string; readonly column: 1 | 2 };

/** Stands for the first argument in the words before a value. */
export const FIRST_ARGUMENT = '@';

/**
 * The offer for the value that follows some words: a command, `get execution`; a command and one of its flags,
 * `get execution --project` and `get execution -p`; or a command and its first argument, `get workflow @`.
 */
export type Values = { readonly after: readonly string[]; readonly offer: Offer };

/** The completions of a program. */
export type Completions = {
  readonly all: readonly Completion[];
  /** The flags that are followed by a file or a folder. */
  readonly pathFlags: readonly string[];
  /** All flags that are followed by a value, those of `pathFlags` among them. */
  readonly valueFlags: readonly string[];
  readonly values: readonly Values[];
};

/** Flags of the typed line that the script repeats when it asks the server for names: how the server is reached. */
export const SERVER_FLAGS = ['--server', '--profile', '--token-file'] as const;
/** Flags that it repeats as well where the names are those in a project and domain. */
export const SCOPE_FLAGS = ['--project', '-p', '--domain', '-d'] as const;

/** Texts in single quotes. */
export const quoted = (texts: readonly string[], between: string): string =>
  texts.map((text) => `'${text}'`).join(between);

/**
 * Makes one line for each name in a column: lists of definitions have a line for each version, the name and the
 * version. Names with characters that a shell could act on are left out.
 */
export const namesOnly = (column: 1 | 2): string =>
  `-o name 2>/dev/null | cut -d " " -f ${column} | sort -u | grep "^[a-zA-Z0-9._+-]*\\$"`;
