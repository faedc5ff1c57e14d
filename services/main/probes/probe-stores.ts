import { readFileSync } from 'node:fs';
import type { MongoLocation } from '../../../projections/store/mongo/location.js';
import type { Connection } from '../../reactors/export-to-kafka/client.js';
import { eventstoreAddress } from '../../store/eventstore/address.js';
import { http2Greeting, kafkaGreeting, mongoGreeting } from './greetings.js';
import { lacksGrpc } from './grpc-answer.js';
import { type Finding, probeAddresses, type Address } from './probe.js';

const readable = (file: string | null | undefined): Buffer | undefined => {
  if (file === null || file === undefined) return undefined;
  try {
    return readFileSync(file);
  } catch {
    return undefined; // the client that connects reports it
  }
};

const withAuthorities = (authorities: string | Buffer | undefined) =>
  authorities === undefined ? {} : { authorities };

/** Probes the addresses of the event store; `undefined` when one of them answers as an event store may. */
export const probeEventstore = async (url: string): Promise<Finding | undefined> => {
  const address = eventstoreAddress(url);
  if (typeof address === 'string') return undefined;
  const { hosts, tls, authority } = address;
  const places = hosts.map((host): Address => {
    const authorities = withAuthorities(readable(authority));
    return { ...host, ...(tls && { tls: authorities }) };
  });
  const found = await probeAddresses(places, {
    greeting: http2Greeting,
    others: [kafkaGreeting, mongoGreeting],
    advice: {
      spoken: 'take tls=false out of the address',
      'not spoken': 'add ?tls=false to the address',
      'not trusted': 'name its authority with ?tlsCAFile=FILE',
    },
  });
  if (found || !(await Promise.all(places.map(lacksGrpc))).every(Boolean)) return found;
  const shown = places.map(({ host, port }) => `${host}:${port}`).join(', ');
  return { text: `${shown} speaks HTTP/2, but not gRPC`, isFinal: true };
};

const MONGO_PORT = 27_017;
const IS_ON = /^true$/iu;

const mongoAddresses = ({ url }: MongoLocation): readonly Address[] => {
  const [, hosts = '', query = ''] = /^mongodb:\/\/(?:[^@/]*@)?([^@/?]+)[^?]*(?:\?(.*))?$/u.exec(url) ?? [];
  const parameters = new URLSearchParams(query);
  const on = (...names: readonly string[]): boolean => names.some((name) => IS_ON.test(parameters.get(name) ?? ''));
  const tls = {
    ...withAuthorities(readable(parameters.get('tlsCAFile'))),
    isTrusting: on('tlsInsecure', 'tlsAllowInvalidCertificates', 'tlsAllowInvalidHostnames'),
  };
  return hosts.split(',').flatMap((each): Address[] => {
    const [host = '', port = String(MONGO_PORT)] = each.split(':');
    return host === '' ? [] : [{ host, port: Number(port), ...(on('tls', 'ssl') && { tls }) }];
  });
};

/**
 * Probes the addresses of the read store; `undefined` when one of them speaks its protocol, or when the addresses are
 * not in the URL because they have to be looked up by name (`mongodb+srv://`).
 */
export const probeReadStore = (location: MongoLocation): Promise<Finding | undefined> =>
  probeAddresses(mongoAddresses(location), {
    greeting: mongoGreeting,
    others: [http2Greeting, kafkaGreeting],
    advice: {
      spoken: 'add tls=true to the address',
      'not spoken': 'take tls=true out of the address',
      'not trusted': 'name its authority with tlsCAFile=FILE',
    },
  });

/** Probes the addresses of the brokers; `undefined` when one of them speaks Kafka's protocol. */
export const probeBrokers = ({ brokers, tls }: Connection): Promise<Finding | undefined> => {
  const places = brokers.map((broker): Address => {
    const [, host = '', port = ''] = /^(.*):(\d+)$/u.exec(broker) ?? [];
    return { host, port: Number(port), ...(tls && { tls: withAuthorities(tls.authorities) }) };
  });
  return probeAddresses(places, {
    greeting: kafkaGreeting,
    others: [http2Greeting, mongoGreeting],
    advice: {
      spoken: 'set kafka.tls',
      'not spoken': 'leave kafka.tls out',
      'not trusted': 'name its authority with kafka.tls_ca',
    },
  });
};
