import { readFileSync } from 'node:fs';

/** The words that comments, messages, test names and documents do not use, each with what they say instead. */
const words = JSON.parse(readFileSync(new URL('plain-words.json', import.meta.url), 'utf8')).map(
  ({ pattern, say }) => ({ pattern: new RegExp(pattern, 'giu'), say }),
);

const RIDDLE = /^\*\s*(?:\*\s*)?(?:What|How|Whether|Where|Who|Which)\b/u;

const findings = (text) =>
  words.flatMap(({ pattern, say }) => [...text.matchAll(pattern)].map(([found]) => ({ found, say })));

/** True for text that people read: names, keys and paths have no space. */
const isProse = (text) => text.includes(' ');

const rule = {
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

/** An ESLint plugin with one rule: plain words in comments, strings and test names. */
export const plainWords = { rules: { words: rule } };
