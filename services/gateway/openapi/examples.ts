/** Example requests that work with the sample data of the sandbox, by RPC name. */
export const requestExamples: Readonly<Record<string, unknown>> = {
  CreateExecution: {
    project: 'flytesnacks',
    domain: 'development',
    spec: {
      launch_plan: {
        resource_type: 'LAUNCH_PLAN',
        project: 'flytesnacks',
        domain: 'development',
        name: 'hello.hello',
        version: 'v1',
      },
      metadata: { mode: 'MANUAL' },
      labels: { values: { team: 'growth' } },
    },
    inputs: {
      literals: {
        name: { scalar: { primitive: { string_value: 'world' } } },
        times: { scalar: { primitive: { integer: 2 } } },
      },
    },
  },
  RelaunchExecution: { id: { project: 'flytesnacks', domain: 'development', name: 'churn-v1' } },
  TerminateExecution: { cause: 'no longer needed' },
  RegisterProject: { project: { id: 'my-project', name: 'My project', description: 'Where things are tried out' } },
  UpdateLaunchPlan: { state: 'ACTIVE' },
};

/** Example values of path parameters that exist in the sandbox, by parameter name. */
export const parameterExamples: Readonly<Record<string, string>> = {
  project: 'flytesnacks',
  execution_project: 'flytesnacks',
  task_project: 'flytesnacks',
  domain: 'development',
  execution_domain: 'development',
  task_domain: 'development',
};
