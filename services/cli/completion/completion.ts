import type { Command } from 'commander';

/** The shells that completion is there for. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;

export type Shell = (typeof SHELLS)[number];

/** The words that may follow the words of a command: its own commands and its flags. */
export type Completion = { readonly path: string; readonly words: readonly string[] };

const flagsOf = (command: Command): readonly string[] =>
  [...command.options.flatMap(({ long }) => long ?? []), '--help'].sort();

const choicesOf = (command: Command): readonly string[] =>
  command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []);

/** The completions of a command and of all below it. */
const completionsOf = (command: Command, path = ''): readonly Completion[] => [
  { path, words: [...command.commands.map((each) => each.name()), ...choicesOf(command), ...flagsOf(command)] },
  ...command.commands.flatMap((each) => completionsOf(each, `${path} ${each.name()}`.trimStart())),
];

const TAKES_PATH = /<(?:file|directory|folder|path)>/u;

/** The flags that are followed by a file or a folder. */
const pathFlagsOf = (command: Command): readonly string[] => [
  ...new Set([
    ...command.options.flatMap(({ long, flags }) => (long !== undefined && TAKES_PATH.test(flags) ? long : [])),
    ...command.commands.flatMap(pathFlagsOf),
  ]),
];

type Completions = { readonly all: readonly Completion[]; readonly pathFlags: readonly string[] };

/** A function of bash and zsh: the words that may follow a command, none where it is no command. */
const wordsFunction = ({ all }: Completions): string => `_flightlog_words() {
  case "$1" in
${all.map(({ path, words }) => `    '${path}') echo '${words.join(' ')}' ;;`).join('\n')}
  esac
}`;

/** Finds the words that are commands, and offers what may follow them. */
const bashScript = (completions: Completions): string => `${wordsFunction(completions)}
_flightlog() {
  local at='' word next
  COMPREPLY=()
  case "\${COMP_WORDS[COMP_CWORD-1]}" in ${completions.pathFlags.join('|')}) return ;; esac
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    next="\${at:+$at }$word"
    [ -n "$(_flightlog_words "$next")" ] && at="$next"
  done
  COMPREPLY=($(compgen -W "$(_flightlog_words "$at")" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _flightlog flightlog`;

const zshScript = (completions: Completions): string => `${wordsFunction(completions)}
_flightlog() {
  local at='' word next
  case "\${words[CURRENT-1]}" in ${completions.pathFlags.join('|')}) _files; return ;; esac
  for word in "\${(@)words[2,CURRENT-1]}"; do
    next="\${at:+$at }$word"
    [[ -n "$(_flightlog_words "$next")" ]] && at="$next"
  done
  compadd -- \${=$(_flightlog_words "$at")} || _files
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _flightlog flightlog`;

const fishLine = ({ path, words }: Completion): string =>
  `complete -c flightlog -n 'test "$(__flightlog_path)" = "${path}"' -a '${words.join(' ')}'`;

const fishScript = ({ all, pathFlags }: Completions): string => `function __flightlog_path
  set -l path ''
  for word in (commandline -opc)[2..]
    set -l next (string trim "$path $word")
    contains -- "$next" ${all.map(({ path }) => `'${path}'`).join(' ')}; and set path $next
  end
  echo $path
end
complete -c flightlog -f
complete -c flightlog -n 'contains -- (commandline -opc)[-1] ${pathFlags.join(' ')}' -F
${all.map(fishLine).join('\n')}`;

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

/** The script that a shell reads to complete the commands of a program. */
export const completionScript = (shell: Shell, program: Command): string =>
  SCRIPTS[shell]({ all: completionsOf(program), pathFlags: pathFlagsOf(program) });
