import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { Argument, Command, Option } from 'commander';
import { afterAll, describe, expect, it } from 'vitest';

import { completionScript } from '../../../services/cli/completion/completion.js';
import { SHELLS, type Shell } from '../../../services/cli/completion/completions.js';

const program = new Command('flightlog');
const watch = program.command('watch');
watch
  .command('execution')
  .alias('executions')
  .argument('<name>')
  .option('--server <url>')
  .option('-p, --project <id>')
  .option('-d, --domain <id>')
  .option('--phase <phase,...>')
  .option('--json')
  .option('--inputs <file>')
  .addOption(new Option('-o, --output <form>').choices(['table', 'json']));
const get = program.command('get');
get.command('task').alias('tasks').argument('<name>').argument('[version]').option('-p, --project <id>');
program.command('signal').command('execution').argument('<name>').argument('[signal]').option('--value <text>');
program.command('completion').addArgument(new Argument('<shell>').choices(SHELLS));

/** Programs that print the words that a shell offers for the last word of a line; `$SCRIPT` has the completion. */
const PROGRAMS: Readonly<Record<Shell, string>> = {
  bash: `eval "$SCRIPT"
    COMP_LINE="$*"; COMP_POINT=\${#COMP_LINE}; _flightlog; printf '%s\\n' "\${COMPREPLY[@]:-FILES}"`,
  // The functions of the line editor are replaced: `_files` prints FILES, and `compadd` the words that begin like the
  // last.
  zsh: `compdef() {}; _files() { print FILES }
    compadd() { local -a found=("\${(M@)argv[2,-1]:#\${words[CURRENT]}*}"); print -l -- $found; (( $#found )) }
    eval "$SCRIPT"
    words=("$@"); CURRENT=$#; _flightlog`,
  fish: `echo $SCRIPT | source
    complete -C "$argv" | string replace -r '\\t.*' ''`,
};

/**
 * The program that the scripts call for names. It prints one name of the requested kind, and one with characters that a
 * shell would act on. With the server, project and domain of a test it prints another name, and with the server `none`
 * no name. The task `hello` has two versions, and the execution `f4rj8` has a signal.
 */
const NAMES = `#!/bin/sh
case "$*" in
  *'--server http://none:80'*) ;;
  *'--server http://other:80'*'-p two --domain production'*) echo "$2-of-two" ;;
  'list tasks hello '*'-p two'*) echo 'hello of-two' ;;
  'list tasks hello '*) echo 'hello v1+a'; echo 'hello v2'; echo 'hello $(echo' ;;
  'signal execution f4rj8 '*) echo approved ;;
  *) echo "$2-1"; echo "$2-\\$(echo\\tran)" ;;
esac
`;

const folder = mkdtempSync(join(tmpdir(), 'flightlog-completion-'));
writeFileSync(join(folder, 'flightlog'), NAMES, { mode: 0o755 });
afterAll(() => rmSync(folder, { recursive: true }));

const isInstalled = (shell: Shell): boolean => spawnSync(shell, ['-c', 'true']).status === 0;

/** The words that a shell offers for the last of these words, sorted. */
const offered = (shell: Shell, ...words: readonly string[]): readonly string[] => {
  const arguments_ = shell === 'fish' ? [PROGRAMS.fish, words.join(' ')] : [PROGRAMS[shell], shell, ...words];
  const PATH = `${folder}${delimiter}${process.env['PATH'] ?? ''}`;
  const env = { ...process.env, PATH, SCRIPT: completionScript(shell, program) };
  const { stdout, stderr } = spawnSync(shell, ['-c', ...arguments_], { encoding: 'utf8', env, cwd: '/' });
  expect(stderr).toBe('');
  return stdout.trim().split(/\n/u).sort();
};

describe.each(SHELLS.map((shell) => ({ shell })))('completion in $shell', ({ shell }) => {
  it.skipIf(!isInstalled(shell))('offers commands, flags and choices, below the command that is typed', () => {
    expect(offered(shell, 'flightlog', 'wa')).toEqual(['watch']);
    expect(offered(shell, 'flightlog', 'watch', 'execution', 'f4rj8', '--pr')).toEqual(['--project']);
    expect(offered(shell, 'flightlog', 'completion', 'z')).toEqual(['zsh']);
  });

  it.skipIf(!isInstalled(shell))('offers the values of a flag with choices, after its short form too', () => {
    expect(offered(shell, 'flightlog', 'watch', 'execution', '--output', 'j')).toEqual(['json']);
    expect(offered(shell, 'flightlog', 'watch', 'execution', '-o', 't')).toEqual(['table']);
  });

  it.skipIf(!isInstalled(shell))('offers the names that the server knows', () => {
    expect(offered(shell, 'flightlog', 'watch', 'execution', 'executions-')).toEqual(['executions-1']);
    expect(offered(shell, 'flightlog', 'watch', 'executions', 'executions-')).toEqual(['executions-1']);
    expect(offered(shell, 'flightlog', 'watch', 'execution', '-p', 'projects-')).toEqual(['projects-1']);
    expect(offered(shell, 'flightlog', 'watch', 'execution', '--domain', 'd')).toEqual(['domains-1']);
  });

  it.skipIf(!isInstalled(shell))('offers no flag as the value of a flag whose names the server does not give', () => {
    const words = offered(shell, 'flightlog', 'watch', 'execution', '--server', 'http://none:80', '-p', '');
    expect(words).not.toContain('--json');
  });

  it.skipIf(!isInstalled(shell))(
    'offers names after flags, from the server, project and domain on the line, and none after a name',
    () => {
      const line = ['flightlog', 'watch', 'execution', '--server', 'http://other:80', '--json', '-p', 'two'];
      expect(offered(shell, ...line, '--domain', 'production', 'exec')).toEqual(['executions-of-two']);
      expect(offered(shell, 'flightlog', 'watch', 'execution', '--json', 'exec')).toEqual(['executions-1']);
      const after = offered(shell, 'flightlog', 'watch', 'execution', '1', 'exec');
      expect(after).not.toContain('executions-1');
    },
  );

  it.skipIf(!isInstalled(shell))(
    'offers the versions of a definition after its name, and the signals of an execution',
    () => {
      for (const kind of ['task', 'tasks'])
        expect(offered(shell, 'flightlog', 'get', kind, 'hello', 'v')).toEqual(['v1+a', 'v2']);
      expect(offered(shell, 'flightlog', 'get', 'task', '-p', 'two', 'hello', 'o')).toEqual(['of-two']);
      expect(offered(shell, 'flightlog', 'get', 'task', 'hello', '--pr')).toEqual(['--project']);
      expect(offered(shell, 'flightlog', 'get', 'task', 'hello', 'v1', 'v')).not.toContain('v2');
      expect(offered(shell, 'flightlog', 'signal', 'execution', 'f4rj8', 'a')).toEqual(['approved']);
    },
  );

  it.skipIf(!isInstalled(shell))('offers phases', () => {
    const line = ['flightlog', 'watch', 'execution', '--phase'];
    expect(offered(shell, ...line, 'SUCC')).toEqual(['SUCCEEDED', 'SUCCEEDING']);
  });

  it.skipIf(!isInstalled(shell))('offers files after a flag that takes one', () => {
    const files = offered(shell, 'flightlog', 'watch', 'execution', '--inputs', 'et');
    expect(files).toContain(shell === 'fish' ? 'etc/' : 'FILES');
  });
});
