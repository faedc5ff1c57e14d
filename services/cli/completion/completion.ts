import type { Command } from 'commander';

/** The shells that completion is there for. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;

export type Shell = (typeof SHELLS)[number];

/** The words that may follow the words of a command: its own commands and its flags. */
export type Completion = { readonly path: string; readonly words: readonly string[] };

const flagsOf = (command: Command): readonly string[] =>
  [...command.options.flatMap(({ long }) => long ?? []), '--help'].sort();

/** The completions of a command and of all below it. */
const completionsOf = (command: Command, path = ''): readonly Completion[] => {
  const commands = command.commands.filter((each) => each.name() !== 'completion' || path === '');
  return [
    { path, words: [...commands.map((each) => each.name()), ...flagsOf(command)] },
    ...commands.flatMap((each) => completionsOf(each, `${path} ${each.name()}`.trimStart())),
  ];
};

/** Finds the words that are commands, and offers what may follow them. */
const bashScript = (completions: readonly Completion[]): string => `_flightlog_words() {
  case "$1" in
${completions.map(({ path, words }) => `    '${path}') echo '${words.join(' ')}' ;;`).join('\n')}
  esac
}
_flightlog() {
  local path='' word next
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    next="\${path:+$path }$word"
    [ -n "$(_flightlog_words "$next")" ] && path="$next"
  done
  COMPREPLY=($(compgen -W "$(_flightlog_words "$path")" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _flightlog flightlog`;

const fishLine = ({ path, words }: Completion): string =>
  `complete -c flightlog -f -n 'test "$(__flightlog_path)" = "${path}"' -a '${words.join(' ')}'`;

const fishScript = (completions: readonly Completion[]): string => `function __flightlog_path
  set -l path ''
  for word in (commandline -opc)[2..]
    set -l next (string trim "$path $word")
    contains -- "$next" ${completions.map(({ path }) => `'${path}'`).join(' ')}; and set path $next
  end
  echo $path
end
${completions.map(fishLine).join('\n')}`;

/** The script that a shell reads to complete the commands of a program. */
export const completionScript = (shell: Shell, program: Command): string => {
  const completions = completionsOf(program);
  if (shell === 'fish') return fishScript(completions);
  const bash = bashScript(completions);
  return shell === 'bash' ? bash : `autoload -U +X bashcompinit && bashcompinit\n${bash}`;
};
