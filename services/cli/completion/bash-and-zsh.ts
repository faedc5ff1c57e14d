import {
  type Completions,
  FIRST_ARGUMENT,
  namesOnly,
  type Offer,
  quoted,
  SCOPE_FLAGS,
  SERVER_FLAGS,
} from './completions.js';

/** The shell command that prints the words of an offer. */
const printed = (offer: Offer): string => {
  if (offer.kind === 'words') return `echo ${offer.words.join(' ')}`;
  if (offer.kind === 'of argument')
    return `flightlog ${offer.command} "$given" "\${server[@]}" "\${scope[@]}" ${namesOnly(offer.column)}`;
  const scope = offer.isScoped ? ' "${scope[@]}"' : '';
  return `flightlog list ${offer.list} "\${server[@]}"${scope} ${namesOnly(1)}`;
};

/**
 * Functions of bash and zsh. `_flightlog_parse` reads the words before the one that is typed into variables of its
 * caller: `at` is the command, `before` the flag whose value comes next, `given` the first argument, `more` is set once
 * there was another, and `server` and `scope` are the flags that requests for names repeat. `_flightlog_offers` prints
 * what may come next.
 */
const functions = ({ all, valueFlags, values }: Completions): string => `_flightlog_words() {
  case "$1" in
${all.map(({ path, words }) => `    '${path}') echo '${words.join(' ')}' ;;`).join('\n')}
  esac
}
_flightlog_values() {
  case "$1" in
${values.map(({ after, offer }) => `    ${quoted(after, '|')}) ${printed(offer)} ;;`).join('\n')}
  esac
}
_flightlog_parse() {
  local word next
  for word in "$@"; do
    case "$before" in
      ${SERVER_FLAGS.join('|')}) server+=("$before" "$word") ;;
      ${SCOPE_FLAGS.join('|')}) scope+=("$before" "$word") ;;
    esac
    [ -n "$before" ] && before='' && continue
    case "$word" in
      ${valueFlags.join('|')}) before="$word" ;;
      -*) ;;
      *)
        next="\${at:+$at }$word"
        if [ -n "$(_flightlog_words "$next")" ]; then at="$next"
        elif [ -z "$given" ]; then given="$word"
        else more=1
        fi
        ;;
    esac
  done
}
_flightlog_offers() {
  local found=''
  [ -n "$before" ] && { _flightlog_values "$at $before"; return; }
  [ -z "$more" ] && [ "\${1#-}" = "$1" ] && found="$(_flightlog_values "$at\${given:+ ${FIRST_ARGUMENT}}")"
  echo "\${found:-$(_flightlog_words "$at")}"
}`;

/**
 * Makes the script for bash. It divides the typed line at spaces, because bash divides words at colons, too, such as
 * those of a URL.
 */
export const bashScript = (completions: Completions): string => `${functions(completions)}
_flightlog() {
  local at='' before='' given='' more='' typed words server=() scope=()
  read -ra words <<< "\${COMP_LINE:0:COMP_POINT}."
  typed="\${words[-1]%.}"
  _flightlog_parse "\${words[@]:1:\${#words[@]}-2}"
  COMPREPLY=()
  case "$before" in ${completions.pathFlags.join('|')}) return ;; esac
  COMPREPLY=($(compgen -W "$(_flightlog_offers "$typed")" -- "$typed"))
}
complete -o default -F _flightlog flightlog`;

/** Makes the script for zsh. */
export const zshScript = (completions: Completions): string => `${functions(completions)}
_flightlog() {
  local at='' before='' given='' more='' found
  local -a server scope
  _flightlog_parse "\${(@)words[2,CURRENT-1]}"
  case "$before" in ${completions.pathFlags.join('|')}) _files; return ;; esac
  found="$(_flightlog_offers "\${words[CURRENT]}")"
  compadd -- \${=found} || _files
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _flightlog flightlog`;
