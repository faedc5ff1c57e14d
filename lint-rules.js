import { readFileSync } from 'node:fs';

/** The words that comments, messages, test names and documents do not use, each with what they say instead. */
const WORDS = JSON.parse(readFileSync(new URL('plain-words.json', import.meta.url), 'utf8')).map(
  ({ pattern, say }) => ({ pattern: new RegExp(pattern, 'giu'), say }),
);

const RIDDLE = /^\*\s*(?:\*\s*)?(?:What|How|Whether|Where|Who|Which)\b/u;

const findings = (text) =>
  WORDS.flatMap(({ pattern, say }) => [...text.matchAll(pattern)].map(([found]) => ({ found, say })));

/** True for text that people read: names, keys and paths have no space. */
const isProse = (text) => text.includes(' ');

const words = {
  meta: {
    type: 'suggestion',
    schema: [],
    messages: {
      word: '"{{found}}": say {{say}}.',
      riddle: 'A docblock begins with its subject, not with a question word.',
    },
  },
  create: (context) => {
    const check = (node, text) => {
      for (const data of findings(text)) context.report({ ...node, messageId: 'word', data });
    };
    return {
      Program: () => {
        for (const { loc, type, value } of context.sourceCode.getAllComments()) {
          check({ loc }, value);
          if (type === 'Block' && RIDDLE.test(value)) context.report({ loc, messageId: 'riddle' });
        }
      },
      Literal: (node) => {
        if (typeof node.value === 'string' && isProse(node.value)) check({ node }, node.value);
      },
      TemplateElement: (node) => {
        if (isProse(node.value.raw)) check({ node }, node.value.raw);
      },
    };
  },
};

/** The names that variables and parameters do not have, each with what they are called instead. */
const NAMES = new Map(
  JSON.parse(readFileSync(new URL('plain-names.json', import.meta.url), 'utf8')).flatMap(({ names, say }) =>
    names.map((name) => [name, say]),
  ),
);

/**
 * The identifiers that a declaration or a parameter names; not those that are the name of a property, as in `{ own }`.
 */
const namedIn = (node) => {
  switch (node?.type) {
    case 'Identifier':
      return [node];
    case 'AssignmentPattern':
      return namedIn(node.left);
    case 'RestElement':
      return namedIn(node.argument);
    case 'ArrayPattern':
      return node.elements.flatMap(namedIn);
    case 'ObjectPattern':
      return node.properties.flatMap((each) => (each.shorthand ? [] : namedIn(each.value ?? each)));
    default:
      return [];
  }
};

/** Refuses names of variables and parameters that do not say what they hold. */
const names = {
  create: (context) => {
    const check = (node) => {
      for (const { name } of namedIn(node).filter((each) => NAMES.has(each.name)))
        context.report({ node, message: `"${name}" does not say what it holds; say ${NAMES.get(name)}.` });
    };
    const checkParameters = ({ params }) => params.forEach(check);
    return {
      VariableDeclarator: ({ id }) => check(id),
      FunctionDeclaration: checkParameters,
      FunctionExpression: checkParameters,
      ArrowFunctionExpression: checkParameters,
      TSFunctionType: checkParameters,
      TSMethodSignature: checkParameters,
    };
  },
};

const BANNED = {
  TSEnumDeclaration: 'Write a union of string literals.',
  TSParameterProperty: 'Declare the field and assign it.',
  ExportDefaultDeclaration: 'Export by name.',
};

/** Refuses syntax that this project does not use. */
const syntax = {
  create: (context) =>
    Object.fromEntries(
      Object.entries(BANNED).map(([kind, message]) => [kind, (node) => context.report({ node, message })]),
    ),
};

/** Refuses `new Date()`, which reads the clock. */
const noClock = {
  create: (context) => ({
    NewExpression: (node) => {
      if (node.callee.name === 'Date' && node.arguments.length === 0)
        context.report({ node, message: 'Time comes in with the command.' });
    },
  }),
};

/** A plugin of the linter with the rules of this project. */
export default { meta: { name: 'plain' }, rules: { words, names, syntax, 'no-clock': noClock } };
