import {
  type Completion,
  type Completions,
  FIRST_ARGUMENT,
  namesOnly,
  type Offer,
  quoted,
  SCOPE_FLAGS,
  SERVER_FLAGS,
  type Values,
} from './completions.js';

/** The shell command that prints the words of an offer. */
const printed = (offer: Offer): string => {
  if (offer.kind === 'words') return `printf '%s\\n' ${offer.words.join(' ')}`;
  if (offer.kind === 'of argument')
    return `flightlog ${offer.command} "$given" $server $scope ${namesOnly(offer.column)}`;
  return `flightlog list ${offer.list} $server${offer.isScoped ? ' $scope' : ''} ${namesOnly(1)}`;
};

const caseOfValues = ({ after, offer }: Values): string =>
  `    case ${quoted(after, ' ')}\n      set found (${printed(offer)})`;

const caseOfWords = ({ path, words }: Completion): string =>
  `    case '${path}'\n      printf '%s\\n' ${words.join(' ')}`;

/**
 * Makes the script for fish: one function, which reads the words before the one that is typed as those of bash and zsh
 * do, and prints the words that may come next.
 */
export const fishScript = ({ all, pathFlags, valueFlags, values }: Completions): string => `function __flightlog_offers
  set -l at ''
  set -l before ''
  set -l given ''
  set -l more ''
  set -l server
  set -l scope
  set -l found
  for word in (commandline -opc)[2..]
    switch "$before"
      case ${SERVER_FLAGS.join(' ')}
        set -a server $before $word
      case ${SCOPE_FLAGS.join(' ')}
        set -a scope $before $word
    end
    if test -n "$before"
      set before ''
      continue
    end
    switch "$word"
      case ${valueFlags.join(' ')}
        set before $word
      case '-*'
      case '*'
        set -l next (string trim "$at $word")
        if contains -- "$next" ${quoted(
          all.map(({ path }) => path),
          ' ',
        )}
          set at $next
        else if test -z "$given"
          set given $word
        else
          set more yes
        end
    end
  end
  set -l key "$at"
  if test -n "$before"
    set key "$at $before"
  else if test -n "$more"; or string match -q -- '-*' (commandline -ct)
    set key 'none'
  else if test -n "$given"
    set key "$at ${FIRST_ARGUMENT}"
  end
  switch "$key"
${values.map(caseOfValues).join('\n')}
  end
  if test -n "$found" -o -n "$before"
    printf '%s\\n' $found
    return
  end
  switch "$at"
${all.map(caseOfWords).join('\n')}
  end
end
complete -c flightlog -f -a '(__flightlog_offers)'
complete -c flightlog -n 'contains -- (commandline -opc)[-1] ${pathFlags.join(' ')}' -F`;
