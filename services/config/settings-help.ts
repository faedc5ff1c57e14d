import { isDeepStrictEqual } from 'node:util';
import type { GivenSetting } from './configuration.js';
import { allSettings, type Setting } from './sources.js';

const UNSAID: readonly unknown[] = [undefined, '', false, {}, []];

/** A default as it would be written in the file; empty where it means the same as leaving the setting out. */
const written = (value: unknown): string => {
  if (UNSAID.some((each) => isDeepStrictEqual(each, value))) return '';
  return ` (default ${typeof value === 'string' ? value : JSON.stringify(value)})`;
};

const widthOf = (texts: readonly string[]): number => Math.max(...texts.map(({ length }) => length)) + 2;

const KEY_WIDTH = widthOf(allSettings.map(({ path }) => path.join('.')));
const VARIABLE_WIDTH = widthOf(allSettings.map(({ variable }) => variable));

const line = ({ path, variable, description, byDefault }: Setting, defaults: readonly GivenSetting[]): string => {
  const key = path.join('.');
  const commandDefault = defaults.find((each) => each.path.join('.') === key);
  return `  ${key.padEnd(KEY_WIDTH)}${variable.padEnd(VARIABLE_WIDTH)}${description.replaceAll('`', '')}${written(commandDefault === undefined ? byDefault : commandDefault.value)}`;
};

/** The help text with the table of all settings; `defaults` are those of the command, over the general ones. */
export const settingsHelp = (defaults: readonly GivenSetting[]): string => `
Every setting can stand in the file that --config or FLIGHTLOG_CONFIG names (YAML or JSON), or in the environment;
flags win over the environment, and the environment over the file:

${allSettings.map((setting) => line(setting, defaults)).join('\n')}
`;

/** The help text with the settings of these paths, for a command that has flags for them; it may use others, too. */
export const settingsOfFlags = (paths: readonly (readonly string[])[]): string => {
  const needed = allSettings.filter(({ path }) => paths.some((each) => each.join('.') === path.join('.')));
  const lines = needed.map(({ path, variable }) => `  ${path.join('.').padEnd(KEY_WIDTH)}${variable}`);
  return `
Of the flags above, these settings can also stand in the file that --config or FLIGHTLOG_CONFIG names (YAML or JSON),
or in the environment:

${lines.join('\n')}
`;
};
