import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { start } from '../../support/processes/command.js';
import { type ControlPlane, startControlPlane } from '../../support/processes/control-plane.js';
import { FOLDER, isRequired, python } from './interpreter.js';

const LIMIT_MS = 300_000;

/** The outcome of a step, as the program prints it. */
type Outcome = { readonly step: string; readonly ok: boolean; readonly error?: string; readonly trace?: string };

/** The steps of the program, in order. */
const stepsOf = (program: string): readonly string[] =>
  Array.from(program.matchAll(/^@step\("([^"]+)"\)$/gmu), ([, does = '']) => does);

const steps = stepsOf(readFileSync(join(FOLDER, 'client.py'), 'utf8'));

it.skipIf(!isRequired)('the Python SDK is installed, when it is required', () => {
  expect(python, 'run test/integration/python-sdk/environment').toBeDefined();
});

describe.skipIf(python === undefined)('the published Python SDK, against a control plane with an engine', () => {
  let plane: ControlPlane;
  const stop = new AbortController();
  let engine: Promise<unknown>;
  const outcomes = new Map<string, Outcome>();

  beforeAll(async () => {
    plane = await startControlPlane();
    engine = plane.run({ untilIdle: false, gates: 'wait' }, stop.signal);
    const program = start(python!, [join(FOLDER, 'client.py'), plane.server().ready.grpc], {
      cwd: plane.directory,
      env: { PYTHONDONTWRITEBYTECODE: '1' },
    });
    const { code, stdout, stderr } = await program.ended;
    if (code !== 0) throw new Error(`the program ended with ${code}: ${stderr}`);
    for (const line of stdout.split('\n').filter((each) => each.startsWith('{"step"'))) {
      const each = JSON.parse(line) as Outcome;
      outcomes.set(each.step, each);
    }
  }, LIMIT_MS);

  afterAll(async () => {
    stop.abort();
    await engine;
    await plane.close();
  });

  it.for(steps)('%s', (step, { skip }) => {
    const outcome = outcomes.get(step);
    const trace = outcome?.trace ?? '';
    skip(/UNIMPLEMENTED[^]*is not built/u.test(trace), 'the control plane does not serve an RPC of this step');
    expect(outcome?.ok, trace).toBe(true);
  });
});
