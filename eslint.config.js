import js from '@eslint/js';
import jsdoc from 'eslint-plugin-jsdoc';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

import { plainWords } from './plain-words.js';

const banned = [
  { selector: 'TSEnumDeclaration', message: 'Write a union of string literals.' },
  { selector: 'TSParameterProperty', message: 'Declare the field and assign it.' },
  { selector: 'ExportDefaultDeclaration', message: 'Export by name.' },
];

// Rules that need types are in .oxlintrc.json, and the type check with them: `oxlint` runs both.
export default defineConfig(
  globalIgnores(['dist/', 'proto/gen/', 'test/fixtures/']),
  js.configs.recommended,
  tseslint.configs.strict,
  tseslint.configs.stylistic,
  {
    languageOptions: { parserOptions: { tsconfigRootDir: import.meta.dirname } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      '@typescript-eslint/consistent-type-definitions': 'off', // data is `type`, a port is `interface`
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      complexity: ['error', 10],
      curly: ['error', 'multi-line'],
      eqeqeq: 'error',
      'max-depth': ['error', 3],
      'max-lines': ['error', { max: 250, skipBlankLines: true, skipComments: true }],
      'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }],
      'max-params': ['error', 4],
      'no-console': 'error',
      'no-restricted-syntax': ['error', ...banned],
      'object-shorthand': 'error',
    },
  },
  {
    ignores: ['test/unit/events/samples/**'], // the data of users
    plugins: { plain: plainWords },
    rules: { 'plain/words': 'error' },
  },
  {
    // The pure part knows neither clock nor chance nor environment.
    files: [
      'services/*/{commands,events,state,decider}.ts',
      'services/compiler/**',
      'services/execution/{decide,state,wire}/**',
      'projections/*/projection.ts',
      'services/kernel/**',
      'projections/{runtime,query}/**',
    ],
    rules: {
      'no-restricted-globals': ['error', 'process', 'fetch', 'setTimeout', 'setInterval', 'performance'],
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: 'Time comes in with the command.' },
        { object: 'Math', property: 'random', message: 'Ids come in with the command.' },
      ],
      'no-restricted-imports': [
        'error',
        { patterns: [{ group: ['node:*', '!node:crypto'], message: 'Hashing is pure; nothing else of node is.' }] },
      ],
      'no-restricted-syntax': [
        'error',
        ...banned,
        {
          selector: "NewExpression[callee.name='Date'][arguments.length=0]",
          message: 'Time comes in with the command.',
        },
      ],
    },
  },
  {
    files: ['services/{kernel,store,gateway,streams}/**/*.ts', 'projections/{runtime,query,store}/**/*.ts'],
    plugins: { jsdoc },
    rules: {
      'jsdoc/require-jsdoc': [
        'error',
        {
          publicOnly: true,
          require: { ArrowFunctionExpression: true, ClassDeclaration: true },
          contexts: ['TSInterfaceDeclaration', 'TSTypeAliasDeclaration'],
        },
      ],
      'jsdoc/no-types': 'error',
    },
  },
  {
    // Fields of messages are optional, and each `?.` and `??` counts.
    files: ['console/**', 'interface/**'],
    rules: { complexity: ['error', 25] },
  },
  {
    files: ['test/**', '*.config.*'],
    rules: {
      'no-restricted-syntax': 'off',
      'max-lines': 'off',
      'max-lines-per-function': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/explicit-module-boundary-types': 'off',
    },
  },
  {
    files: ['**/*.{js,cjs,mjs}'],
    languageOptions: {
      globals: {
        module: 'writable',
        process: 'readonly',
        console: 'readonly',
        fetch: 'readonly',
        setTimeout: 'readonly',
        performance: 'readonly',
        URL: 'readonly',
      },
    },
    rules: { '@typescript-eslint/explicit-module-boundary-types': 'off' }, // JavaScript has no place for them
  },
);
