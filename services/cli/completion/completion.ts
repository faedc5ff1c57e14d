import type { Command } from 'commander';

/** The shells that completion is there for. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;

export type Shell = (typeof SHELLS)[number];

/** The words that may follow the words of a command: its own commands and its flags. */
export type Completion = { readonly path: string; readonly words: readonly string[] };

/** A command of a shell that prints the words that may follow others, and patterns of those: `get execution`. */
type Values = { readonly patterns: readonly string[]; readonly print: string };

const flagsOf = (command: Command): readonly string[] =>
  [...command.options.flatMap(({ long }) => long ?? []), '--help'].sort();

const choicesOf = (command: Command): readonly string[] =>
  command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []);

/** The completions of a command and of all below it. */
const completionsOf = (command: Command, path = ''): readonly Completion[] => [
  { path, words: [...command.commands.map((each) => each.name()), ...choicesOf(command), ...flagsOf(command)] },
  ...command.commands.flatMap((each) => completionsOf(each, `${path} ${each.name()}`.trimStart())),
];

/** A command below a path of names. */
type Placed = { readonly path: string; readonly command: Command };

const placed = (command: Command, path = ''): readonly Placed[] => [
  { path, command },
  ...command.commands.flatMap((each) => placed(each, `${path} ${each.name()}`.trimStart())),
];

/** The flags with a choice of values: `list tasks --output`. */
const choicesOfFlags = ({ path, command }: Placed): readonly Values[] =>
  command.options.flatMap(({ argChoices, long, short }) =>
    argChoices === undefined
      ? []
      : {
          patterns: [long, short].flatMap((flag) => (flag === undefined ? [] : [`${path} ${flag}`.trimStart()])),
          print: `echo ${argChoices.join(' ')}`,
        },
  );

const FIRST_WORDS = '| cut -d " " -f 1 | sort -u';

/** Commands that print names, by the kind whose commands, such as `get execution`, take one. */
const NAMED: Readonly<Record<string, string>> = {
  execution: 'flightlog list executions -o name 2>/dev/null',
  project: 'flightlog list projects -o name 2>/dev/null',
  workflow: `flightlog list workflows -o name 2>/dev/null ${FIRST_WORDS}`,
  'launch-plan': `flightlog list launch-plans -o name 2>/dev/null ${FIRST_WORDS}`,
  task: `flightlog list tasks -o name 2>/dev/null ${FIRST_WORDS}`,
};

/** The names that the server knows, directly after the command that takes one, and after `--project`. */
const namesOf = (all: readonly Placed[]): readonly Values[] =>
  Object.entries(NAMED).flatMap(([kind, print]) => {
    const takers = all.filter(({ command }) => command.name() === kind && command.registeredArguments.length > 0);
    const flags = all.filter(
      ({ command }) => kind === 'project' && command.options.some(({ long }) => long === '--project'),
    );
    const patterns = [
      ...takers.map(({ path }) => `${path} ${kind}`),
      ...flags.flatMap(({ path }) => [`${path} --project`, `${path} -p`]),
    ];
    return patterns.length === 0 ? [] : { patterns, print };
  });

const TAKES_PATH = /<(?:file|directory|folder|path)>/u;

/** The flags that are followed by a file or a folder. */
const pathFlagsOf = (command: Command): readonly string[] => [
  ...new Set([
    ...command.options.flatMap(({ long, flags }) => (long !== undefined && TAKES_PATH.test(flags) ? long : [])),
    ...command.commands.flatMap(pathFlagsOf),
  ]),
];

type Completions = {
  readonly all: readonly Completion[];
  readonly pathFlags: readonly string[];
  readonly values: readonly Values[];
};

const quoted = (texts: readonly string[], between: string): string => texts.map((text) => `'${text}'`).join(between);

/**
 * Functions of bash and zsh: the words that may follow a command, none where it is no command; and the values that may
 * follow a command and the word before, none where they are not known.
 */
const functions = ({ all, values }: Completions): string => `_flightlog_words() {
  case "$1" in
${all.map(({ path, words }) => `    '${path}') echo '${words.join(' ')}' ;;`).join('\n')}
  esac
}
_flightlog_values() {
  case "$1 $2" in
${values.map(({ patterns, print }) => `    ${quoted(patterns, '|')}) ${print} ;;`).join('\n')}
  esac
}`;

/** Finds the words that are commands, and offers what may follow them. */
const bashScript = (completions: Completions): string => `${functions(completions)}
_flightlog() {
  local at='' word next values=''
  COMPREPLY=()
  case "\${COMP_WORDS[COMP_CWORD-1]}" in ${completions.pathFlags.join('|')}) return ;; esac
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    next="\${at:+$at }$word"
    [ -n "$(_flightlog_words "$next")" ] && at="$next"
  done
  [[ "\${COMP_WORDS[COMP_CWORD]}" == -* ]] || values="$(_flightlog_values "$at" "\${COMP_WORDS[COMP_CWORD-1]}")"
  COMPREPLY=($(compgen -W "\${values:-$(_flightlog_words "$at")}" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _flightlog flightlog`;

const zshScript = (completions: Completions): string => `${functions(completions)}
_flightlog() {
  local at='' word next values=''
  case "\${words[CURRENT-1]}" in ${completions.pathFlags.join('|')}) _files; return ;; esac
  for word in "\${(@)words[2,CURRENT-1]}"; do
    next="\${at:+$at }$word"
    [[ -n "$(_flightlog_words "$next")" ]] && at="$next"
  done
  [[ "\${words[CURRENT]}" == -* ]] || values="$(_flightlog_values "$at" "\${words[CURRENT-1]}")"
  [[ -n "$values" ]] || values="$(_flightlog_words "$at")"
  compadd -- \${=values} || _files
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _flightlog flightlog`;

const fishLine = ({ path, words }: Completion): string =>
  `complete -c flightlog -n 'test "$(__flightlog_path)" = "${path}"' -a '${words.join(' ')}'`;

const fishValues = ({ patterns, print }: Values): string =>
  `complete -c flightlog -n '__flightlog_after ${patterns.map((pattern) => `"${pattern}"`).join(' ')}' -a '(${print} | string split " ")'`;

const fishScript = ({ all, pathFlags, values }: Completions): string => `function __flightlog_path
  set -l path ''
  for word in (commandline -opc)[2..]
    set -l next (string trim "$path $word")
    contains -- "$next" ${all.map(({ path }) => `'${path}'`).join(' ')}; and set path $next
  end
  echo $path
end
function __flightlog_after
  contains -- (string trim "$(__flightlog_path) "(commandline -opc)[-1]) $argv
end
complete -c flightlog -f
complete -c flightlog -n 'contains -- (commandline -opc)[-1] ${pathFlags.join(' ')}' -F
${all.map(fishLine).join('\n')}
${values.map(fishValues).join('\n')}`;

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

/** The script that a shell reads to complete the commands of a program. */
export const completionScript = (shell: Shell, program: Command): string => {
  const commands = placed(program);
  return SCRIPTS[shell]({
    all: completionsOf(program),
    pathFlags: pathFlagsOf(program),
    values: [...commands.flatMap(choicesOfFlags), ...namesOf(commands)],
  });
};
