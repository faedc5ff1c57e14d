/**
 * Import rules between folders (docs/contributing.md). `from` and `to` are regular expressions over paths from the
 * root.
 */
const PLUMBING =
  'agents|auth|kernel|metrics|tracing|compiler|sessions|reference|store|gateway|reactors|streams|event-json|health|config|cli|main';

/** The folders that may import each driver: those of its adapters, and often `services/main`, which wires them. */
const DRIVERS = {
  '@photostructure/sqlite': '^(services|projections)/store/',
  '@eventstore/db-client': '^services/(store|main)/',
  mongodb: '^(projections/store|services/(store|main))/',
  '@kubernetes/client-node': '^engine/bridge/cluster/',
  '@aws-sdk/client-s3': '^services/store/',
  jose: '^services/(auth|store|gateway|main)/',
  'hyparquet(-writer)?': '^services/streams/files/',
  kafkajs: '^services/(reactors/[^/]+|main)/',
  '@grpc/grpc-js': '^(engine|services/(agents|store|streams|cli|main))/',
  fastify: '^services/(gateway|main)/',
  'oidc-provider': '^services/auth/server/',
  'prom-client': '^services/metrics/',
  '@opentelemetry/(sdk-trace-base|resources|exporter-trace-otlp-http)': '^services/tracing/',
};

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    { name: 'no-cycle', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'kernel-knows-nobody',
      severity: 'error',
      comment: "The kernel imports only itself, and the message types of the interface's library.",
      from: { path: '^services/kernel/' },
      to: { pathNot: ['^services/kernel/', '^node_modules/@bufbuild/protobuf/', '^(node:)?crypto$'] },
    },
    {
      name: 'pure-files-stay-pure',
      severity: 'error',
      comment: 'What decides imports the kernel, the messages and its own slice: no driver, nothing of node.',
      from: {
        path: '^services/([^/]+)/((?!rpc)[^/]+\\.ts$|(decide|state|wire)/)',
        pathNot: `^services/(${PLUMBING})/`,
      },
      to: { pathNot: ['^services/kernel/', '^proto/gen/', '^services/$1/', '^node_modules/@bufbuild/protobuf/'] },
    },
    {
      name: 'slices-do-not-meet',
      severity: 'error',
      comment: 'One slice never imports another; what crosses is an event, through a reactor.',
      from: { path: `^services/(?!${PLUMBING})([^/]+)/` },
      to: { path: '^services/(?!kernel|compiler)', pathNot: '^services/$1/' },
    },
    {
      name: 'adapters-know-only-the-kernel',
      severity: 'error',
      comment: 'Folders are created in one way everywhere, because a recursive mkdir of Node may never end.',
      from: { path: '^services/(agents|auth|store|gateway)/' },
      to: {
        path: '^(services|projections)/',
        pathNot: ['^services/kernel/', '^services/$1/', '^services/store/create-folder[.]ts$'],
      },
    },
    {
      name: 'sessions-know-only-the-kernel',
      severity: 'error',
      from: { path: '^services/sessions/' },
      to: { path: '^(services|projections|proto)/', pathNot: ['^services/kernel/', '^services/sessions/'] },
    },
    {
      name: 'reference-knows-only-what-happened',
      severity: 'error',
      from: { path: '^services/reference/' },
      to: {
        path: '^services/',
        pathNot: ['^services/(kernel|reference|schedule/calendar)/', '^services/[^/]+/(events|state)\\.ts$'],
      },
    },
    {
      name: 'event-json-knows-only-events',
      severity: 'error',
      from: { path: '^services/event-json/' },
      to: {
        path: '^services/',
        pathNot: [
          '^services/(kernel|event-json)/',
          '^services/[^/]+/events\\.ts$',
          '^services/reactors/export-to-kafka/cloud-events/cloud-event\\.ts$',
        ],
      },
    },
    {
      name: 'health-knows-only-what-it-judges',
      severity: 'error',
      from: { path: '^services/health/' },
      to: {
        path: '^(services|projections)/',
        pathNot: [
          '^services/(kernel|health)/',
          '^services/(gateway/readiness|store/path-identity)\\.ts$',
          '^projections/(runtime/|store/sqlite/sqlite-read-store\\.ts$)',
        ],
      },
    },
    {
      name: 'the-engine-is-a-client',
      severity: 'error',
      from: { path: '^engine/' },
      to: { path: '^(services|projections)/' },
    },
    {
      name: 'the-console-is-a-client',
      severity: 'error',
      comment: 'The page knows the interface, not the server.',
      from: { path: '^console/' },
      to: { path: '^(services|projections|engine|test|bench)/' },
    },
    {
      name: 'what-clients-have-in-common-knows-the-messages',
      severity: 'error',
      from: { path: '^interface/' },
      to: { pathNot: ['^interface/', '^proto/gen/', '^node_modules/@(bufbuild/protobuf|msgpack/msgpack)/'] },
    },
    {
      name: 'only-clients-have-it-in-common',
      severity: 'error',
      from: { pathNot: '^(interface|console|engine|services/cli|test|bench)/' },
      to: { path: '^interface/' },
    },
    {
      name: 'write-side-knows-no-read-side',
      severity: 'error',
      from: { path: '^services/(?!(main|cli|config|health)/)' },
      to: { path: '^projections/' },
    },
    {
      name: 'read-side-knows-only-events',
      severity: 'error',
      comment: 'From services, a projection takes the kernel and the events.',
      from: { path: '^projections/' },
      to: { path: '^services/', pathNot: ['^services/kernel/', '^services/[^/]+/events\\.ts$'] },
    },
    {
      name: 'read-plumbing-knows-no-read-model',
      severity: 'error',
      from: { path: '^projections/(runtime|query|store)/' },
      to: {
        path: '^(services|projections)/',
        pathNot: ['^services/kernel/', '^projections/(runtime|query)/', '^projections/$1/'],
      },
    },
    {
      name: 'the-runtime-knows-no-queries',
      severity: 'error',
      comment: 'Queries read the views that the runtime writes; writing them needs no query.',
      from: { path: '^projections/runtime/' },
      to: { path: '^projections/(query|store)/' },
    },
    {
      name: 'reactors-know-only-messages-and-deciders',
      severity: 'error',
      from: { path: '^services/(reactors/[^/]+|streams)/' },
      to: {
        path: '^services/',
        pathNot: [
          '^services/kernel/',
          '^services/(reactors/frame|schedule/calendar)/',
          '^services/store/create-folder[.]ts$',
          '^services/[^/]+/(events|commands|decider)\\.ts$',
          '^services/$1/',
        ],
      },
    },
    {
      name: 'name-the-thing',
      severity: 'error',
      comment: 'No folders or files of unrelated things, and no barrels: import the file that has it.',
      from: {},
      to: {
        path: ['/utils?[./]', '/helpers?[./]', '/common[./]', '/shared[./]', '/core[./]', '/lib[./]', '/index[.]ts$'],
        pathNot: '^(node_modules|proto/gen)/',
      },
    },
    {
      name: 'read-models-do-not-meet',
      severity: 'error',
      from: { path: '^projections/(?!runtime|query|store)([^/]+)/' },
      to: { path: '^projections/(?!runtime|query)', pathNot: '^projections/$1/' },
    },
    { name: 'nobody-imports-tests', severity: 'error', from: { pathNot: '^(test|bench)/' }, to: { path: '^test/' } },
    {
      name: 'nobody-imports-main',
      severity: 'error',
      from: { pathNot: '^(services/(main|cli)|test|bench)/' },
      to: { path: '^services/main/' },
    },
    {
      name: 'only-commands-import-commands',
      severity: 'error',
      from: { pathNot: '^(services/cli|test|bench)/' },
      to: { path: '^services/cli/' },
    },
    {
      name: 'settings-know-only-what-they-name',
      severity: 'error',
      comment: 'A setting is read with the rules of the adapter that it configures.',
      from: { path: '^services/config/' },
      to: {
        path: '^(services|projections)/',
        pathNot: [
          '^services/(kernel|config)/',
          '^services/(auth/permissions/(roles|principal-name)|auth/server/browser-client|store/eventstore/address|store/payloads/payload-location|project/rules|compiler/resources/quantity)[.]ts$',
          '^services/reactors/export-to-kafka/(selection|message)[.]ts$',
          '^projections/store/mongo/location[.]ts$',
        ],
      },
    },
    {
      name: 'no-dev-dependency-at-run-time',
      severity: 'error',
      from: { path: '^(services|projections|engine|interface)/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only'] },
    },
    { name: 'no-unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'paths-are-kebab-case',
      severity: 'error',
      from: { path: '^(services|projections|engine|interface|console|test)/.*[A-Z_]' },
      to: {},
    },
    ...Object.entries(DRIVERS).map(([driver, home]) => ({
      name: `${driver}-stays-home`,
      severity: 'error',
      from: { path: '^(services|projections|engine)/', pathNot: home },
      to: { path: `^node_modules/${driver}/` },
    })),
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    preserveSymlinks: true,
    doNotFollow: { path: ['node_modules', '^proto/gen/'] },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'types', 'node', 'default'] },
  },
};
